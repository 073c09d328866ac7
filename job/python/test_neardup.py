"""Tests of the Python package, with the program that its wheel holds.

    python job/python/test_neardup.py

Kinds of frames whose package is not installed are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import neardup


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def texts(count: int) -> list[str]:
    """Pages of 200 words of their own; every tenth is the page before it with one word more."""
    draw = random.Random(1)
    pages: list[str] = []
    for i in range(count):
        if i % 10 == 9:
            pages.append(pages[-1] + " again")
        else:
            pages.append(" ".join(f"{draw.choice('bcdfgklmnprst')}{draw.choice('aeiou')}{draw.randrange(5000):x}" for _ in range(200)))
    return pages


class Frames(unittest.TestCase):
    """What is kept of 60 pages, given in whatever way."""

    pages = texts(60)
    # Of a page and its copy the longer stays, which is the copy.
    kept = [i for i in range(60) if i % 10 != 8]

    def table(self) -> pa.Table:
        urls = [f"https://example.org/{i}" for i in range(60)]
        return pa.table({"url": urls, "body": self.pages, "rank": list(range(60))})

    def check(self, result: neardup.Result[Any]) -> None:
        self.assertEqual(result.removed.num_rows, 6)
        self.assertEqual(set(result.removed["reason"].to_pylist()), {"copy"})
        self.assertEqual(result.summary["documents"], 60)
        self.assertEqual(result.clusters.num_rows, 12)
        self.assertGreaterEqual(result.matches.num_rows, 12)

    def test_arrow(self) -> None:
        result = neardup.dedup(self.table(), text="body", id="url")
        self.check(result)
        self.assertEqual(result.kept["rank"].to_pylist(), self.kept)
        self.assertIn("https://example.org/8", result.removed["doc_id"].to_pylist())

    def test_strings(self) -> None:
        result = neardup.dedup(self.pages)
        self.check(result)
        self.assertEqual(result.kept, [self.pages[i] for i in self.kept])
        self.assertEqual(result.removed.filter(pc.equal(result.removed["doc_id"], "8"))["kept_id"].to_pylist(), ["9"])

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas(self) -> None:
        frame = self.table().to_pandas().set_index("rank", drop=False)
        result = neardup.dedup(frame, text="body", id="url")
        self.check(result)
        self.assertEqual(list(result.kept.index), self.kept)
        self.assertEqual(list(result.kept.columns), ["url", "body", "rank"])

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars(self) -> None:
        import polars

        result = neardup.dedup(polars.from_arrow(self.table()), text="body")
        self.check(result)
        self.assertEqual(result.kept["rank"].to_list(), self.kept)

    @unittest.skipUnless(has("datasets"), "datasets is not installed")
    def test_datasets(self) -> None:
        import datasets

        result = neardup.dedup(datasets.Dataset(self.table()), text="body", id="url")
        self.check(result)
        self.assertEqual(result.kept["rank"][:], self.kept)

    def test_rows_without_a_text_stay(self) -> None:
        pages: list[str | None] = [None, *self.pages, "", " \n"]
        result = neardup.dedup(pa.table({"text": pa.array(pages)}))
        self.assertEqual(result.kept.num_rows, 57)
        self.assertEqual(result.kept["text"][0].as_py(), None)

    def test_chinese(self) -> None:
        page = "昨天夜里抓取的网页有许多近似重复的文档，每天早上都要清理一遍，再交给搜索和数据团队使用。" * 4
        result = neardup.dedup([page, page + "完。", "今天的天气很好，我们一起去公园散步，看见了很多人在湖边放风筝、拍照片。" * 4])
        self.assertEqual(len(result.kept), 2)

    def test_run_directory_stays(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "night1"
            neardup.dedup(self.pages, out=out, settings={"execution.workers": 1, "clusters.keep": "first"})
            run = neardup.Run(out)
            self.assertEqual(run.removed.num_rows, 6)
            self.assertIn("9", run.removed["doc_id"].to_pylist())
            self.assertEqual(run.table("fingerprints", ["doc_id"]).num_rows, 60)
            page = run.review(draw=10)
            self.assertIn("<html", page.read_text("utf-8"))

    def test_against(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            dump, questions = Path(folder) / "dump.jsonl", Path(folder) / "questions.jsonl"
            question = "Which is true? A bird that weighs less than a letter crosses the Sahara twice a year."
            pages = [self.pages[0] + "\n" + question + "\n" + self.pages[1], self.pages[2]]
            dump.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(pages)), "utf-8")
            questions.write_text(json.dumps({"id": "birds", "question": question}) + "\n", "utf-8")
            run = neardup.run(dump, Path(folder) / "out", against=questions, settings={"against.action": "cut"})
            self.assertEqual(run.against.select(["doc_id", "ref_id", "verdict"]).to_pylist(), [{"doc_id": "0", "ref_id": "birds", "verdict": "carries"}])
            self.assertEqual(run.summary["against"]["cut"], 1)
            clean = "".join(path.read_text("utf-8") for path in sorted((run.path / "clean").iterdir()))
            self.assertNotIn("Sahara", clean)
            self.assertEqual(len(clean.splitlines()), 2)
            self.assertIn("Sahara", run.report().read_text("utf-8"))


class Errors(unittest.TestCase):
    def test_the_words_of_the_program(self) -> None:
        with self.assertRaises(neardup.UsageError) as caught:
            neardup.dedup(["a b c"], preset="quick")
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("quick", str(caught.exception))

    def test_no_such_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(neardup.NeardupError) as caught:
            neardup.run(Path(folder) / "none.jsonl", Path(folder) / "out")
        self.assertIn("none.jsonl", str(caught.exception))

    def test_another_configuration(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            dump = Path(folder) / "dump.jsonl"
            dump.write_text("".join(f'{{"id":"{i}","text":"{text}"}}\n' for i, text in enumerate(texts(5))), "utf-8")
            neardup.run(dump, Path(folder) / "out")
            with self.assertRaises(neardup.ConfigurationError):
                neardup.run(dump, Path(folder) / "out", preset="thorough")

    def test_columns(self) -> None:
        with self.assertRaisesRegex(KeyError, "'body'.*'text'"):
            neardup.dedup(pa.table({"text": ["a"]}), text="body")
        with self.assertRaisesRegex(TypeError, "int"):
            neardup.dedup(3)
        with self.assertRaisesRegex(ValueError, "no row has a text"):
            neardup.dedup(["", None])

    def test_an_unfinished_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(FileNotFoundError, "no finished run"):
            neardup.Run(folder)


class Progress(unittest.TestCase):
    def test_lines(self) -> None:
        lines: list[str] = []
        neardup.dedup(texts(20), settings={"input.max_bad": 0}, progress=lines.append)
        self.assertTrue(all("\n" not in line for line in lines))

    def test_version(self) -> None:
        self.assertRegex(neardup.version()["version"], r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
