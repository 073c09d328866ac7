-- Questions to the tables of a run, for DuckDB and for Spark 4. First the views of
-- the tables: start in the run's folder (neardup run data/sample --out night1
-- --pairs; cd night1) and read duckdb.sql, or spark.sql, which stand beside
-- this file. crawl is the input. Where a question is about nights, the run had
-- --library. row is a document in all tables of a run, also where ids stand twice.

-- 1. Mirrors: which two sites have most clusters in common?
SELECT a.site, b.site AS other, count(DISTINCT cluster_id) AS clusters
FROM clusters a JOIN clusters b USING (cluster_id)
WHERE a.site < b.site GROUP BY ALL ORDER BY clusters DESC, a.site, other LIMIT 20;

-- 2. What share of a site's documents, by language, are copies that the clean dump leaves out?
SELECT split_part(split_part(f.doc_id, '://', 2), '/', 1) AS site, f.language,
       count(*) AS documents, round(100 * count(r.row) / count(*), 1) AS copies_percent
FROM fingerprints f LEFT JOIN removed r USING (row)
GROUP BY ALL ORDER BY documents DESC LIMIT 20;

-- 3. With a library: what was new in the night, by language?
SELECT night, language, sum(documents) AS documents, round(100 * sum(d.new) / sum(documents), 1) AS new_percent
FROM drift d GROUP BY ALL ORDER BY night, documents DESC;

-- 4. How large are the clusters?
SELECT size, count(DISTINCT cluster_id) AS clusters FROM clusters GROUP BY size ORDER BY size DESC;

-- 5. Who copied whom first, by the documents' dates?
SELECT l.site AS copying, e.site AS copied, count(*) AS documents
FROM (SELECT c.*, f.date FROM clusters c JOIN fingerprints f USING (row)) l
JOIN (SELECT cluster_id, min_by(c.site, f.date) AS site, min(f.date) AS first
      FROM clusters c JOIN fingerprints f USING (row) GROUP BY cluster_id) e USING (cluster_id)
WHERE l.date > e.first AND l.site <> e.site GROUP BY ALL ORDER BY documents DESC LIMIT 20;

-- 6. What does the crawl say of the documents that are removed?
SELECT r.doc_id, r.reason, r.kept_id, p.title, p.date
FROM removed r JOIN crawl p ON p.id = r.doc_id LIMIT 20;

-- 7. Pairs near the limit, with their texts.
SELECT m.estimate, m.verdict, a.text, b.text AS other
FROM pairs m JOIN crawl a ON a.id = m.doc_id JOIN crawl b ON b.id = m.match_id ORDER BY m.estimate LIMIT 20;

-- 8. The removal list.
SELECT doc_id, reason, kept_id, kept_from, verdict, distance, estimate, jaccard, containment FROM removed ORDER BY site, doc_id;

-- 9. Pairs of different titles. Of pages that are extracted, texts/ has the texts as fingerprints/ has the titles.
SELECT a.title, b.title AS other, m.distance, m.estimate
FROM pairs m JOIN fingerprints a ON a.row = m.row JOIN fingerprints b ON b.row = m.match_row
WHERE a.title <> b.title ORDER BY m.estimate LIMIT 20;

-- 10. Which removed pages stood in how many nights? Many runs are read at once: '../*/removed' in the place of the view's folder.
SELECT doc_id, count(DISTINCT night) AS nights, min(night) AS first FROM removed GROUP BY doc_id ORDER BY nights DESC, doc_id LIMIT 20;

-- 11. The documents whose fingerprints are nearest to one, at any distance.
SELECT b.doc_id, bits_apart(a.fingerprint, b.fingerprint) AS distance
FROM fingerprints a JOIN fingerprints b ON a.row <> b.row AND b.length_class = 'normal'
WHERE a.row = (SELECT min(row) FROM fingerprints WHERE length_class = 'normal') ORDER BY distance, b.row LIMIT 10;

-- 12. Which documents that stay were seen most often, on how many sites, since when? Of all nights of a library: '../*/seen'.
SELECT doc_id, sum(copies) AS copies, max(sites) AS sites, min(first_seen) AS first, max(last_seen) AS last, max(nights) AS nights
FROM seen GROUP BY doc_id ORDER BY copies DESC, doc_id LIMIT 20;
