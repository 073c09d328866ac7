"""A finished run, by its folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]


class Run:
    """What a run wrote. Tables are read when they are asked for, each time anew."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not (self.path / "_SUCCESS").exists():
            raise FileNotFoundError(f"{self.path} is no finished run: the command that made it finishes it")

    def __repr__(self) -> str:
        return f"neardup.Run({str(self.path)!r})"

    @property
    def summary(self) -> dict[str, Any]:
        """What the run did: summary.json."""
        read: dict[str, Any] = json.loads((self.path / "summary.json").read_text("utf-8"))
        return read

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """A table by its folder's name: fingerprints, matches, clusters, removed, …"""
        parts = sorted((self.path / name).glob("*.parquet"))
        if not parts:
            raise FileNotFoundError(f"{self.path / name} has no Parquet files")
        return pa.concat_tables([pq.read_table(part, columns=columns, partitioning=None) for part in parts])

    @property
    def matches(self) -> pa.Table:
        """Each document's best match."""
        return self.table("matches")

    @property
    def clusters(self) -> pa.Table:
        """Kept documents and those that go for them."""
        return self.table("clusters")

    @property
    def removed(self) -> pa.Table:
        """The documents that the clean dump leaves out, with the evidence of each."""
        return self.table("removed")

    @property
    def against(self) -> pa.Table:
        """Of a run against a reference: what documents have of its texts, and where."""
        return self.table("against")

    def report(self) -> Path:
        """Write the page that shows the run to a person, and return its path."""
        from neardup._program import call

        return Path(call(["report", str(self.path)]))

    def review(self, *, draw: int = 200) -> Path:
        """Draw pairs, write the page on which a person judges them, and return its path."""
        from neardup._program import call

        return Path(call(["review", str(self.path), "--draw", str(draw)]))
