"""Near-duplicate documents, found by the neardup program that this package holds.

    import neardup
    result = neardup.dedup(frame, text="body", id="url")
    result.kept      # what you gave, without the copies
    result.removed   # pyarrow.Table: doc_id, kept_id, reason, jaccard, …
    result.clusters  # pyarrow.Table: doc_id, cluster_id, size, …

The work is done by one process of the program; documents go to it as a Parquet
file and never as Python strings. `run` gives it files that are there already.
Tables have the columns that job/docs/formats.md describes.
"""

from __future__ import annotations

from neardup._errors import ConfigurationError, IncompleteError, NeardupError, SkippedError, UsageError
from neardup._frames import Result, dedup
from neardup._program import program, run, version
from neardup._run import Run

__all__ = [
    "ConfigurationError",
    "IncompleteError",
    "NeardupError",
    "Result",
    "Run",
    "SkippedError",
    "UsageError",
    "dedup",
    "program",
    "run",
    "version",
]
