#!/usr/bin/env python3
"""Build a wheel around a program: the package of job/python, the program as a script.

usage: scripts/wheel.py SYSTEM/PROCESSOR PROGRAM LICENCES FOLDER

Writes FOLDER/neardup-VERSION-py3-none-PLATFORM.whl. The same files, version and
SOURCE_DATE_EPOCH give the same bytes. Needs Python's standard library alone.
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The static programs need no C library: they run where either of Linux's is.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
}

METADATA = """\
Metadata-Version: 2.4
Name: neardup
Version: {version}
Summary: Near-duplicate documents in crawl dumps: SimHash, verified, at scale
License-Expression: {license}
License-File: LICENSE
Requires-Python: >=3.9
Requires-Dist: pyarrow>=14
Description-Content-Type: text/markdown

{readme}"""


def main(target: str, program: Path, licences: Path, folder: Path) -> Path:
    version = re.search(r'^const Version = "(.*)"$', (ROOT / "job/internal/version/version.go").read_text(), re.M)[1]
    platform = PLATFORMS[target]
    info = f"neardup-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
    files = {f"neardup/{path.name}": (path.read_bytes(), 0o644) for path in sorted((ROOT / "job/python/neardup").iterdir()) if path.is_file()}
    files[f"neardup-{version}.data/scripts/{program.name}"] = (program.read_bytes(), 0o755)
    readme = (ROOT / "job/docs/python.md").read_text()
    files[f"{info}/METADATA"] = (METADATA.format(version=version, license=license(), readme=readme).encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: scripts/wheel.py\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644)
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    for path in sorted(path for path in licences.rglob("*") if path.is_file()):
        files[f"{info}/licenses/licences/{path.relative_to(licences).as_posix()}"] = (path.read_bytes(), 0o644)
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    wheel = folder / f"neardup-{version}-py3-none-{platform}.whl"
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content)
    return wheel


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def license() -> str:
    """The SPDX name of the project's licence, from the first line of its text."""
    first = (ROOT / "LICENSE").read_text().lstrip().splitlines()[0].strip()
    return {"Apache License": "Apache-2.0", "MIT License": "MIT"}[first]


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in PLATFORMS:
        sys.exit(__doc__)
    print(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])))
