"""Finding and running the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Union

from neardup._errors import error
from neardup._run import Run

Setting = Union[str, int, float, bool]
Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]
Progress = Union[bool, Callable[[str], object]]


def program() -> str:
    """The path of the program: $NEARDUP, that of this package's wheel, or of PATH."""
    named = os.environ.get("NEARDUP")
    if named:
        return named
    name = "neardup.exe" if os.name == "nt" else "neardup"
    schemes = {None, "nt_user" if os.name == "nt" else "posix_user"}
    for scheme in schemes:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError("the program neardup is not there: install the wheel again, or name it in $NEARDUP")
    return found


def version() -> dict[str, Any]:
    """What the program says of itself: version, lexicon, extractor, …"""
    said: dict[str, Any] = json.loads(call(["version", "--json"]))
    return said


def call(arguments: Iterable[str], progress: Progress = False) -> str:
    """Run the program and return its standard output.

    Its standard error, a line at a time, goes to progress: True prints it to
    sys.stderr, which a notebook shows. Raises NeardupError with what it said.
    """
    tell: Callable[[str], object] | None
    if callable(progress):
        tell = progress
    else:
        tell = (lambda line: print(line, file=sys.stderr, flush=True)) if progress else None
    said: list[str] = []
    # Standard output is one JSON object or a path: it waits in the pipe meanwhile.
    with subprocess.Popen(
        [program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            for line in process.stderr:
                said.append(line)
                if tell is not None:
                    tell(line.rstrip("\n"))
            out = process.stdout.read()
        except BaseException:  # an interrupt, too: the run directory can be resumed
            process.terminate()
            raise
    if process.returncode != 0:
        raise error(process.returncode, "".join(said))
    return out.strip()


def settings(of: Mapping[str, Setting] | None) -> list[str]:
    """The arguments of settings, as `neardup config --list` names them."""
    arguments: list[str] = []
    for name, value in (of or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ["--set", f"{name}={text}"]
    return arguments


def run(
    inputs: Paths,
    out: str | os.PathLike[str],
    *,
    preset: str = "balanced",
    text: str | None = None,
    id: str | None = None,
    distance: int | None = None,
    keep: str | None = None,
    library: str | os.PathLike[str] | None = None,
    night: str | None = None,
    against: Paths | None = None,
    strict: bool = False,
    settings: Mapping[str, Setting] | None = None,
    progress: Progress = False,
) -> Run:
    """Run `neardup run` on files, folders or globs, and return the finished run.

    With against the documents are not compared among themselves, but searched for the
    texts of those files and folders: Run.against says what was found, and the clean
    dump lacks it (settings={"against.action": "cut"} takes out only what was found).

    The same call again goes on with what an interrupted one left in out.
    """
    arguments = ["run", *_paths(inputs), "--out", os.fspath(out), "--preset", preset]
    optional = {
        "--text-column": text,
        "--id-column": id,
        "--distance": distance,
        "--keep": keep,
        "--library": None if library is None else os.fspath(library),
        "--night": night,
    }
    for flag, value in optional.items():
        if value is not None:
            arguments += [flag, str(value)]
    for path in _paths(against or []):
        arguments += ["--against", path]
    if strict:
        arguments.append("--strict")
    call([*arguments, *_settings(settings)], progress)
    return Run(Path(out))


def _paths(of: Paths) -> list[str]:
    return [os.fspath(path) for path in ([of] if isinstance(of, (str, os.PathLike)) else of)]


_settings = settings  # the parameter of run has its name
