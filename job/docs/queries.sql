-- Questions to the tables of a run in DuckDB, which is started in its folder
-- (neardup run data/sample --out night1 --pairs; cd night1; duckdb). Where a
-- question is about nights, the run had --library. row is a document in all
-- tables of a run, also where ids stand twice.

-- 1. Mirrors: which two sites have most clusters in common?
SELECT a.site, b.site AS other, count(DISTINCT cluster_id) AS clusters
FROM 'clusters/*.parquet' a JOIN 'clusters/*.parquet' b USING (cluster_id)
WHERE a.site < b.site GROUP BY ALL ORDER BY clusters DESC, a.site, other LIMIT 20;

-- 2. What share of a site's documents, by language, are copies that the clean dump leaves out?
SELECT split_part(split_part(f.doc_id, '://', 2), '/', 1) AS site, f.language,
       count(*) AS documents, round(100 * count(r.row) / count(*), 1) AS copies_percent
FROM 'fingerprints/*.parquet' f LEFT JOIN 'removed/*.parquet' r USING (row)
GROUP BY ALL ORDER BY documents DESC LIMIT 20;

-- 3. With a library: what was new in the night, by language?
SELECT night, language, sum(documents) AS documents, round(100 * sum("new") / sum(documents), 1) AS new_percent
FROM 'drift/*.parquet' GROUP BY ALL ORDER BY night, documents DESC;

-- 4. How large are the clusters?
SELECT size, count(DISTINCT cluster_id) AS clusters FROM 'clusters/*.parquet' GROUP BY size ORDER BY size DESC;

-- 5. Who copied whom first, by the documents' dates?
SELECT l.site AS copying, e.site AS copied, count(*) AS documents
FROM (SELECT c.*, f.date FROM 'clusters/*.parquet' c JOIN 'fingerprints/*.parquet' f USING (row)) l
JOIN (SELECT cluster_id, arg_min(c.site, f.date) AS site, min(f.date) AS first
      FROM 'clusters/*.parquet' c JOIN 'fingerprints/*.parquet' f USING (row) GROUP BY cluster_id) e USING (cluster_id)
WHERE l.date > e.first AND l.site <> e.site GROUP BY ALL ORDER BY documents DESC LIMIT 20;

-- 6. What does the crawl, here JSONL, say of the documents that are removed? crawl is its path.
SELECT r.doc_id, r.reason, r.kept_id, p.title, p.date
FROM 'removed/*.parquet' r JOIN read_json(getvariable('crawl'), format = 'newline_delimited', ignore_errors = true) p ON p.id = r.doc_id LIMIT 20;

-- 7. Pairs near the limit, with their texts.
SELECT m.estimate, m.verdict, a.text, b.text AS other
FROM 'pairs/*.parquet' m JOIN read_json(getvariable('crawl'), format = 'newline_delimited', ignore_errors = true) a ON a.id = m.doc_id
JOIN read_json(getvariable('crawl'), format = 'newline_delimited', ignore_errors = true) b ON b.id = m.match_id ORDER BY m.estimate LIMIT 20;

-- 8. The removal list, to be written by COPY (...) TO 'removal.csv'.
SELECT doc_id, reason, kept_id, kept_from, cluster_id, similarity FROM 'removed/*.parquet' ORDER BY site, doc_id;

-- 9. Pairs of different titles. Of pages that are extracted, texts/ has the texts as fingerprints/ has the titles.
SELECT a.title, b.title AS other, m.distance, m.estimate
FROM 'pairs/*.parquet' m JOIN 'fingerprints/*.parquet' a ON a.row = m.row JOIN 'fingerprints/*.parquet' b ON b.row = m.match_row
WHERE a.title <> b.title ORDER BY m.estimate LIMIT 20;

-- 10. Which removed pages stood in how many nights? Many runs are read at once: '../*/removed/*.parquet'.
SELECT doc_id, count(DISTINCT night) AS nights, min(night) AS first FROM 'removed/*.parquet' GROUP BY doc_id ORDER BY nights DESC, doc_id LIMIT 20;

-- 11. The documents whose fingerprints are nearest to one, at any distance. Where
-- integers are signed, as in Spark, the fingerprint is
--   CAST(IF(fingerprint < 9223372036854775808, fingerprint, fingerprint - 18446744073709551616) AS BIGINT)
-- and bit_count(a ^ b) the distance: a second, signed column would add 8 bytes
-- that do not compress to each row.
SELECT b.doc_id, bit_count(xor(a.fingerprint, b.fingerprint)) AS distance
FROM 'fingerprints/*.parquet' a JOIN 'fingerprints/*.parquet' b ON a.row <> b.row AND b.lane = 'normal'
WHERE a.row = (SELECT min(row) FROM 'fingerprints/*.parquet' WHERE lane = 'normal') ORDER BY distance, b.row LIMIT 10;
