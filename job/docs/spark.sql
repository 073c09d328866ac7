-- The views that queries.sql asks, for Spark 4, in the run's folder. A run has pairs
-- with --pairs, drift and growth with --library, seen with --annotate: leave out what it has
-- not. The
-- crawl, here JSONL, is named first: SET crawl = crawl/*.jsonl.gz;
-- Spark takes an unsigned integer for a decimal, which has no bits: the
-- fingerprint becomes a signed number, of the same ones.
CREATE TEMPORARY VIEW fingerprints AS
SELECT * EXCEPT (fingerprint),
       CAST(IF(fingerprint < 9223372036854775808, fingerprint, fingerprint - 18446744073709551616) AS BIGINT) AS fingerprint
FROM parquet.`fingerprints`;
CREATE TEMPORARY VIEW matches AS SELECT * FROM parquet.`matches`;
CREATE TEMPORARY VIEW clusters AS SELECT * FROM parquet.`clusters`;
CREATE TEMPORARY VIEW removed AS SELECT * FROM parquet.`removed`;
CREATE TEMPORARY FUNCTION bits_apart(a BIGINT, b BIGINT) RETURNS INT RETURN bit_count(a ^ b);
CREATE TEMPORARY VIEW crawl AS SELECT * FROM json.`${crawl}`;
CREATE TEMPORARY VIEW pairs AS SELECT * FROM parquet.`pairs`;
CREATE TEMPORARY VIEW drift AS SELECT * FROM parquet.`drift`;
CREATE TEMPORARY VIEW seen AS SELECT * FROM parquet.`seen`;
CREATE TEMPORARY VIEW growth AS SELECT * FROM parquet.`growth`;
CREATE TEMPORARY VIEW skipped (source STRING, offset BIGINT, reason STRING, error STRING) USING json OPTIONS (path 'quarantine');
