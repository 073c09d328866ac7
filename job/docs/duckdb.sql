-- The views that queries.sql asks, for DuckDB, in the run's folder. A run has pairs
-- with --pairs, drift and growth with --library, seen with --annotate: leave out what it has
-- not. The
-- crawl, here JSONL, is named first: SET VARIABLE crawl = 'crawl/*.jsonl.gz';
CREATE VIEW fingerprints AS FROM 'fingerprints/*.parquet';
CREATE VIEW matches AS FROM 'matches/*.parquet';
CREATE VIEW clusters AS FROM 'clusters/*.parquet';
CREATE VIEW removed AS FROM 'removed/*.parquet';
CREATE MACRO bits_apart(a, b) AS bit_count(xor(a, b));
CREATE VIEW crawl AS FROM read_json(getvariable('crawl'), format = 'newline_delimited', ignore_errors = true);
CREATE VIEW pairs AS FROM 'pairs/*.parquet';
CREATE VIEW drift AS FROM 'drift/*.parquet';
CREATE VIEW seen AS FROM 'seen/*.parquet';
CREATE VIEW growth AS FROM 'growth/*.parquet';
CREATE VIEW skipped AS FROM read_json('quarantine/*.jsonl', format = 'newline_delimited', columns = {source: 'VARCHAR', "offset": 'BIGINT', reason: 'VARCHAR', error: 'VARCHAR'});
