package job_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
)

// asks has an engine make the views of the tables, and prints how many rows it
// finds to each question. It is given the folder of the documentation and the
// crawl.
const asks = `
import re, sys
docs, crawl = sys.argv[1:]

def statements(file):
    text = re.sub("(?m)^--.*\\n", "", open(docs + "/" + file).read())
    return [s for s in map(str.strip, text.split(";\n")) if s]

def ask(engine, count):
    for view in statements(engine + ".sql"):
        count(view)
    for question in statements("queries.sql"):
        print(count("SELECT count(*) FROM (" + question + ")"))
`

// engines are what the questions are asked in, after asks.
var engines = map[string]string{
	"duckdb": `
import duckdb

def count(statement):
    answer = duckdb.sql(statement)
    return answer and answer.fetchall()[0][0]

duckdb.sql("SET VARIABLE crawl = '%s'" % crawl)
ask("duckdb", count)
nights = "FROM read_parquet('../night=*/%s/*.parquet', hive_partitioning = true)"
joined = duckdb.sql("SELECT DISTINCT night::VARCHAR " + nights % "matches" + " JOIN (" + nights % "clusters" + ") USING (night, row)")
assert joined.fetchall() == [("2026-11-20",)], "the folder is no partition"
for table in "FROM '../lib/documents/*/*.parquet'", "FROM read_parquet('../lib/documents/*/*.parquet', union_by_name = true)":
    assert duckdb.sql("SELECT DISTINCT night = DATE '2026-11-20', typeof(night) " + table).fetchall() == [(True, "DATE")], "the library has no partitions"
`,
	"pyspark": `
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")

def count(statement):
    answer = spark.sql(statement)
    return answer.columns and answer.collect()[0][0]

spark.sql("SET crawl = " + crawl)
ask("spark", count)
`,
}

// answers has DuckDB answer the questions of docs/questions.md, and pandas or
// Spark beside it, which must give the same.
const answers = `
import os, re, sys
import duckdb
docs, crawl, beside = sys.argv[1:]
page = open(docs + "/questions.md").read()
questions = re.findall("\x60\x60\x60sql\n(.*?);\n\x60\x60\x60", page, re.S)
load, *programs = re.findall("\x60\x60\x60python\n(.*?)\x60\x60\x60", page, re.S)

def plain(rows):
    return [tuple(None if v is None or v != v else str(v) if isinstance(v, str) else round(float(v), 4) for v in row) for row in rows]

def views(engine):
    text = re.sub("(?m)^--.*\n", "", open(docs + "/" + engine + ".sql").read())
    return [view for view in text.split(";\n") if view.strip()]

duckdb.sql("SET VARIABLE crawl = '%s'" % crawl)
for view in views("duckdb"):
    duckdb.sql(view)
if beside == "pandas":
    space = {}
    exec(load, space)
    skipped = space["skipped"]
    for part in space["glob"]("quarantine/*.jsonl"):  # of a run that skips nothing all are empty
        os.rename(part, part + ".aside")
        open(part, "x").close()
    exec(load, space)
    exec(programs[8], space)
    assert len(space["answer"]) == 0 and len(skipped) > 0
    for part in space["glob"]("quarantine/*.jsonl"):
        os.replace(part + ".aside", part)
    exec(load, space)

    def other(question, program):
        exec(program, space)
        return space["answer"].itertuples(index=False, name=None)
else:
    from pyspark.sql import SparkSession
    spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
             .config("spark.sql.shuffle.partitions", "1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql("SET crawl = " + crawl)
    for view in views("spark"):
        spark.sql(view)

    def other(question, program):
        return spark.sql(question).collect()
for question, program in zip(questions, programs, strict=True):
    theirs, sql = plain(other(question, program)), plain(duckdb.sql(question).fetchall())
    assert theirs == sql, (question, sql[:3], theirs[:3])
    print(len(sql))
`

// TestQueries asks every question of docs/queries.sql about a run over the
// sample, and expects rows.
func TestQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages")
	}
	sample, err := filepath.Abs(filepath.Join("..", "data", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Abs("docs")
	if err != nil {
		t.Fatal(err)
	}
	questions, err := os.ReadFile(filepath.Join(docs, "queries.sql"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Match.AllPairs, cfg.Output.Annotate = true, config.AnnotateTable
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-11-20"} // as the command takes it from the folder's name
	out := filepath.Join(dir, "night=2026-11-20")
	runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{sample}, Out: out, Config: cfg})
	for beside, needs := range map[string]string{"pandas": "duckdb, pandas, pyarrow", "spark": "duckdb, pyspark"} {
		t.Run(beside, func(t *testing.T) {
			python, err := exec.LookPath("python3")
			if err != nil || exec.Command(python, "-c", "import "+needs).Run() != nil {
				t.Skipf("python3 has not all of %s: the answers are not compared", needs)
			}
			cmd := exec.Command(python, "-c", answers, docs, filepath.Join(sample, "pages-*.jsonl*"), beside)
			cmd.Dir, cmd.Stderr = out, t.Output()
			said, err := cmd.Output()
			if rows := strings.Fields(string(said)); err != nil || len(rows) != 10 {
				t.Fatalf("%v: %d answers: %s", err, len(rows), rows)
			}
		})
	}
	for name, script := range engines {
		t.Run(name, func(t *testing.T) {
			if name == "pyspark" && testing.Short() {
				t.Skip("Spark takes a minute: the long tests ask it")
			}
			python, err := exec.LookPath("python3")
			if err != nil || exec.Command(python, "-c", "import "+name).Run() != nil {
				t.Skipf("python3 has no %s: the queries are not asked", name)
			}
			cmd := exec.Command(python, "-c", asks+script, docs, filepath.Join(sample, "pages-*.jsonl*"))
			cmd.Dir, cmd.Stderr = out, t.Output()
			said, err := cmd.Output()
			rows := strings.Fields(string(said))
			if err != nil || len(rows) != strings.Count(string(questions), ";\n") {
				t.Fatalf("%v: %d answers: %s", err, len(rows), rows)
			}
			for i, n := range rows {
				if n == "0" {
					t.Errorf("no row answers question %d", i+1)
				}
			}
		})
	}
}
