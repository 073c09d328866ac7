"""From a frame to a frame."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from neardup._program import Progress, Setting, run

Frame = TypeVar("Frame")

# The column that says which row of the frame a document is; the clean dump keeps it.
_ROW = "neardup_row"


class Result(NamedTuple, Generic[Frame]):
    """What dedup found."""

    kept: Frame  # of the kind that was given, its rows in their order
    removed: pa.Table  # the table removed/: doc_id, kept_id, reason, …
    clusters: pa.Table
    matches: pa.Table
    summary: dict[str, Any]


def dedup(
    data: Frame,
    *,
    text: str = "text",
    id: str | None = None,
    preset: str = "balanced",
    distance: int | None = None,
    keep: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Result[Frame]:
    """Remove near-duplicates from a frame.

    data is a pyarrow.Table, a pandas or polars DataFrame, a Hugging Face Dataset, or
    a sequence of strings. text and id name columns; without an id a document's id is
    the number of its row, from 0. Where ids are URLs, what the pages of a site share
    is left out of what is compared. Rows without a text stay. keep says which of the
    copies stays: longest (the default), earliest, rank or first.

    With out the run directory stays there, for Run, review and the next night;
    without it goes with the call. Raises NeardupError with what the program said.
    """
    texts = _column(data, text, "text")
    count = len(texts)
    rows = pa.array(range(count), pa.int64())
    ids = rows.cast(pa.string()) if id is None else _column(data, id, "id").cast(pa.string())
    missing = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(texts), ""), True)
    table = pa.table({"id": ids, "text": texts, _ROW: rows}).filter(pc.invert(missing))
    if table.num_rows == 0:
        raise ValueError(f"no row has a text in column {text!r}")
    with tempfile.TemporaryDirectory(prefix="neardup-") as scratch:
        # Of the folder's name nothing depends but the messages of the program.
        dump = Path(scratch) / "frame.parquet"
        pq.write_table(table, dump, compression="none")  # row groups as to_parquet makes them: the same result
        folder = Path(out) if out is not None else Path(scratch) / "run"
        made = run(dump, folder, preset=preset, text="text", id="id", distance=distance, keep=keep, settings=settings, progress=progress)
        clean = made.table("clean", columns=[_ROW])[_ROW].combine_chunks()
        stays = pa.concat_arrays([clean, rows.filter(missing.combine_chunks())])
        stays = stays.take(pc.array_sort_indices(stays))
        return Result(_take(data, stays), made.removed, made.clusters, made.matches, made.summary)


def _column(data: Any, name: str, role: str) -> pa.ChunkedArray:
    """A column of whatever kind of frame, as Arrow strings."""
    columns: list[str]
    column: Callable[[], Any]
    if isinstance(data, pa.Table):
        columns, column = data.column_names, lambda: data[name]
    elif _kind(data, "pandas"):
        columns, column = list(data.columns), lambda: pa.chunked_array([pa.Array.from_pandas(data[name])])
    elif _kind(data, "polars"):
        columns, column = data.columns, lambda: pa.chunked_array([data[name].to_arrow()])
    elif _kind(data, "datasets"):
        columns, column = data.column_names, lambda: data.with_format("arrow")[:][name]
    elif role == "text" and not isinstance(data, (str, bytes)) and hasattr(data, "__getitem__"):
        columns, column = [name], lambda: pa.chunked_array([pa.array(data, pa.large_string())])
    else:
        raise TypeError(f"{type(data).__name__} has no column {name!r}: give a pyarrow.Table, a DataFrame, a Dataset, or strings without id=")
    if name not in columns:
        raise KeyError(f"no column {name!r} for {role}=: there are {', '.join(map(repr, columns))}")
    found = column()
    if role == "text" and not (pa.types.is_string(found.type) or pa.types.is_large_string(found.type) or pa.types.is_null(found.type)):
        found = found.cast(pa.large_string())  # a view or a dictionary of strings; of anything else an error that says so
    return found if not pa.types.is_null(found.type) else found.cast(pa.string())


def _take(data: Any, rows: pa.Array) -> Any:
    """Those rows of the frame, as the same kind of frame."""
    if isinstance(data, pa.Table):
        return data.take(rows)
    if _kind(data, "pandas"):
        return data.iloc[rows.to_numpy()]
    if _kind(data, "polars"):
        return data[rows.to_numpy()]
    if _kind(data, "datasets"):
        return data.select(rows.to_pylist())
    return [data[i] for i in rows.to_pylist()]


def _kind(data: Any, package: str) -> bool:
    """Whether data is of a class of the package, which is not imported for it."""
    return any(base.__module__.split(".")[0] == package for base in type(data).__mro__)
