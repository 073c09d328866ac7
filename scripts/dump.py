#!/usr/bin/env python3
"""Make a large dump out of real texts, for measuring what a run takes.

Each document is drawn sentence by sentence from the texts that you name, until
it is about as long as one of them; so lengths, words and scripts are theirs. One
document of ten is a copy of one of the 1,000 before it: half of these as it was,
the others with one sentence of twenty, at least one, left out or exchanged. The
ids are URLs of one of 997 sites. The same seed gives the same bytes.

  scripts/dump.py --bytes 1GB --files 8 --out dump laws.jsonl.gz blogs.jsonl.gz
  scripts/dump.py --bytes 1GB --files 8 --out dump --format parquet texts.jsonl

The texts are JSON lines with a field "text". Files come out as JSONL.gz, JSONL or
Parquet (which needs pyarrow); --bytes counts the text, not what it is packed into.
"""

import argparse
import gzip
import json
import os
import random
import re
import sys
from concurrent.futures import ProcessPoolExecutor

SITES = 997  # a prime, so that sites and files do not go in step
RECENT = 1000
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def size(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]B)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text}: write 500MB or 1GB")
    return int(float(match[1]) * UNITS.get(match[2], 1))


def sentences(paths):
    """Return for each text how many sentences it has, and all sentences."""
    lengths, pool = [], []
    for path in paths:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                parts = [p for p in re.split(r"(?<=[。！？.!?\n])", json.loads(line).get("text") or "") if p.strip()]
                if parts:
                    lengths.append(len(parts))
                    pool.extend(parts)
    if not pool:
        raise SystemExit("dump.py: no line has a text")
    return lengths, pool


def edited(parts, pool, rng):
    parts = list(parts)
    for _ in range(max(1, len(parts) // 20)):
        at = rng.randrange(len(parts))
        if rng.random() < 0.5 and len(parts) > 1:
            del parts[at]
        else:
            parts[at] = rng.choice(pool)
    return parts


def documents(lengths, pool, total, seed):
    rng, recent, made, number = random.Random(seed), [], 0, 0
    while made < total:
        if recent and rng.random() < 0.1:
            parts = rng.choice(recent)
            if rng.random() < 0.5:
                parts = edited(parts, pool, rng)
        else:
            parts = rng.choices(pool, k=rng.choice(lengths))
        if len(recent) < RECENT:
            recent.append(parts)
        else:
            recent[number % RECENT] = parts
        text = "".join(parts)
        made += len(text.encode())
        yield f"https://s{rng.randrange(SITES)}.example/{number}", text
        number += 1


def jsonl(path, rows, form):
    out = gzip.open(path, "wb", compresslevel=6) if form == "jsonl.gz" else open(path, "wb")
    with out:
        for name, text in rows:
            out.write(json.dumps({"id": name, "text": text}, ensure_ascii=False).encode() + b"\n")


def parquet(path, rows, _):
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        batch = []
        for row in rows:
            batch.append(row)
            if len(batch) == 10_000:
                out.write_table(pa.table(list(zip(*batch)), schema=schema))
                batch = []
        if batch:
            out.write_table(pa.table(list(zip(*batch)), schema=schema))


def begin(options):
    """Read the texts, once in each process."""
    global o, lengths, pool
    o = options
    lengths, pool = sentences(o.texts)


def one_file(i):
    # A name of its own for each file: two files share no document.
    rows = ((f"{name}-{i}", text) for name, text in documents(lengths, pool, o.bytes // o.files, f"{o.seed}-{i}"))
    write = parquet if o.format == "parquet" else jsonl
    write(os.path.join(o.out, f"part-{i:05}.{o.format}"), rows, o.format)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("texts", nargs="+", help="JSON lines with a field text")
    flags.add_argument("--bytes", type=size, required=True, help="of text in all, like 500MB or 1GB")
    flags.add_argument("--files", type=int, default=8)
    flags.add_argument("--out", required=True, help="a folder, made if it is not there")
    flags.add_argument("--format", choices=["jsonl.gz", "jsonl", "parquet"], default="jsonl.gz")
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--jobs", type=int, default=1, help="files that are made at the same time")
    o = flags.parse_args()
    os.makedirs(o.out, exist_ok=True)
    with ProcessPoolExecutor(o.jobs, initializer=begin, initargs=(o,)) as jobs:
        for i, _ in enumerate(jobs.map(one_file, range(o.files))):
            print(f"{i + 1} of {o.files} files", file=sys.stderr)


if __name__ == "__main__":
    main()
