"""Makes news-dev, forums-dev and snippets-dev (NAME.warc.gz, NAME.truth.jsonl.gz), of
which the model of the page's text learns beside wcxb-dev, from the pages of seven projects:

    flairNLP/fundus (MIT)                  18da6e53592f99cf0ac5770dc63d6ba99ba63ae8
    mozilla/readability (Apache-2.0)       ab4027a8b37669745016869a37a504727992b2ba
    postlight/parser (MIT or Apache-2.0)   e8ba7ece291efa4d915d50dd4deeec17d54359f2
    adbar/trafilatura (Apache-2.0)         e90b0ef51ab026fdb905fb6c5b3c84dd3d784fd5
    AndyTheFactory/article-extraction-dataset (Apache-2.0)  cf3e2959ffc4fde13e0714d2b6d50c2bd220ed3b
    dobbersc/fundus-evaluation (MIT)       d43db54b2b393ae10a5114a2bddc512b11bf3227
    fhgr/harvest, WEB-FORUM-52 (Apache-2.0)  f778b0a4112259ad246c8ac57e9d51eb149ab9ef

    python3 news.py FUNDUS.git READABILITY.git POSTLIGHT.git TRAFILATURA.git DATASET.git EVALUATION.git HARVEST.git OUT

The first seven are git directories that have these commits, OUT is the folder
of the other shared pages (data/html). It needs lxml, cssselect and resiliparse.
A page is taken if its truth has 60 words or more, of which 93 % are visible, and
60 % of the paragraphs that stand beside those of the truth are in it. Of
fundus the pages that its tests had before are taken too. Of trafilatura's pages
the truth is lines that the main text has, and lines that it has not; all of
them are taken. Of harvest's threads the truth is each post with its author and
date; they are taken with 85 %.
"""
import subprocess, json, gzip, re, io, os, sys, tarfile, collections
import lxml.html
from resiliparse.parse.encoding import detect_encoding, bytes_to_str
from resiliparse.parse.html import HTMLTree
from resiliparse.extract.html2text import extract_plain_text
FUNDUS, READABILITY, POSTLIGHT, TRAFILATURA, DATASET, EVALUATION, HARVEST, OUT = sys.argv[1:9]
COMMITS = {FUNDUS: "18da6e53592f99cf0ac5770dc63d6ba99ba63ae8", READABILITY: "ab4027a8b37669745016869a37a504727992b2ba", POSTLIGHT: "e8ba7ece291efa4d915d50dd4deeec17d54359f2", TRAFILATURA: "e90b0ef51ab026fdb905fb6c5b3c84dd3d784fd5",
    DATASET: "cf3e2959ffc4fde13e0714d2b6d50c2bd220ed3b", EVALUATION: "d43db54b2b393ae10a5114a2bddc512b11bf3227", HARVEST: "f778b0a4112259ad246c8ac57e9d51eb149ab9ef"}
def git(repo, *args): return subprocess.run(["git", "--git-dir=" + repo, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
def archive(repo, *paths):
    p = subprocess.run(["git", "--git-dir=" + repo, "archive", COMMITS[repo], *paths], stdout=subprocess.PIPE, check=True).stdout
    t = tarfile.open(fileobj=io.BytesIO(p))
    return {m.name: t.extractfile(m).read() for m in t if m.isfile()}
def toks(s):
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+", s.lower())
def cover(truth, page):
    c = collections.Counter(toks(page)); t = collections.Counter(toks(truth)); n = sum(t.values())
    return sum(min(v, c[w]) for w, v in t.items()) / max(n, 1), n
def visible(html):
    try:
        t = HTMLTree.parse(html)
        return extract_plain_text(t, main_content=False, alt_texts=False)
    except Exception: return ""
def decode(b):
    b = re.sub(rb"[\x00-\x08\x0b\x0e-\x1f]", b"", b)
    try: return b.decode("utf-8")
    except UnicodeDecodeError: return bytes_to_str(b, detect_encoding(b))
stats = collections.Counter()
def beside(truth, html):
    """The share of the paragraphs beside those of the truth that it has: little if it stops midway."""
    norm = lambda text: re.sub(r"\W+", "", text.lower())
    t = norm(truth)
    try: tree = lxml.html.document_fromstring(html.encode(), parser=lxml.html.HTMLParser(encoding="utf-8"))
    except Exception: return 1
    all, have = collections.Counter(), collections.Counter()
    for p in tree.iter("p"):
        text = norm(p.text_content())
        if len(text) < 40: continue
        all[p.getparent()] += len(text)
        if text[:60] in t: have[p.getparent()] += len(text)
    return sum(have.values()) / max(1, sum(all[p] for p in have)) if have else 1
bodies = set()
def emit(out, set_, url, html, title, body, least=.93):
    vis = visible(html)
    cb, n = cover(body, vis)
    stats[set_, "seen"] += 1
    if body in bodies: stats[set_, "again"] += 1; return
    bodies.add(body)
    if n < 60 or cb < least: stats[set_, "uncovered"] += 1; return
    if beside(body, html) < .6: stats[set_, "stops"] += 1; return
    if title and cover(title, vis)[0] == 1 and title.strip() not in body[:len(title) + 50]: body = title.strip() + "\n" + body
    stats[set_, "kept"] += 1
    out.write(json.dumps({"url": url, "set": set_, "text": body, "html": html}, ensure_ascii=False) + "\n")
# fundus
sets = {name: io.StringIO() for name in ("fundus", "postlight", "readability", "articles", "evaluation", "forums")}
def fundus(name, page, truth, version=""):
    m = re.match(r"(.*/)([^/]*?)_(\d{4}_\d\d_\d\d)(_.*)?\.html\.gz$", name)
    if not m or not page or not truth: stats["fundus", "no truth"] += 1; return
    html = decode(gzip.decompress(page))
    vis = visible(html)
    best = (0, None, None)
    for v, d in json.loads(truth).items():
        b = d.get("body")
        if not b: continue
        lines = list(b.get("summary") or [])
        for s in b.get("sections") or []: lines += (s.get("headline") or []) + (s.get("paragraphs") or [])
        body = "\n".join(lines)
        c, n = cover(body, vis)
        if c > best[0]: best = (c, body, d.get("title"))
    if best[1] is None: stats["fundus", "nobody"] += 1; return
    country = m[1].rstrip("/").split("/")[-1]
    emit(sets["fundus"], "fundus-" + country, "fundus/%s/%s/%s" % (country, m[2], m[3] + version), html, best[2], best[1])
def truth_of(name): return re.sub(r"_\d{4}_\d\d_\d\d(_.*)?\.html\.gz$", ".json", name)
tests = "tests/resources/parser/test_data"
fs = archive(FUNDUS, tests)
for name in sorted(fs):
    if name.endswith(".html.gz"): fundus(name, fs[name], fs.get(truth_of(name)))
seen = {name: fs[name] for name in fs}
commit = ""
for line in git(FUNDUS, "log", "--format=commit %H", "--name-only", "--diff-filter=AM", "--no-renames", COMMITS[FUNDUS], "--", tests).decode().split("\n"):
    if line.startswith("commit "): commit = line[7:]
    elif line.endswith(".html.gz"):
        page = git(FUNDUS, "show", commit + ":" + line)
        if page == seen.get(line): continue
        seen[line] = page
        try: fundus(line, page, git(FUNDUS, "show", commit + ":" + truth_of(line)), "-" + commit[:8])
        except Exception: stats["fundus", "unread"] += 1
# articles
for id, r in sorted(json.loads(git(DATASET, "show", COMMITS[DATASET] + ":articles.json")).items()):
    html = git(DATASET, "show", COMMITS[DATASET] + ":html/%s.html" % id) # a copy may lack the largest
    if not html: stats["articles", "nopage"] += 1; continue
    host = re.sub(r"^https?://(www\.)?|/.*", "", r["site"])
    emit(sets["articles"], "articles", "articles/%s/%s" % (host, id), decode(html), r.get("title"), r["articleBody"])
# evaluation
fs = archive(EVALUATION, "dataset")
for name, r in sorted(json.loads(fs["dataset/ground_truth.json"]).items()):
    emit(sets["evaluation"], "evaluation", "evaluation/" + name.removesuffix(".html.gz").replace("_", "/"), decode(gzip.decompress(fs["dataset/html/" + name])), None, "\n".join(r["body"]))
# forums
fs = archive(HARVEST, "corpus/goldDocuments")
for name in sorted(fs):
    if not name.endswith(".json"): continue
    r = json.loads(fs[name])
    said = lambda p, key: (p.get(key) or {}).get("surface_form") or ""
    body = "\n".join(x for p in r["gold_standard_annotation"] for x in (said(p, "user"), said(p, "datetime"), said(p, "post_text")) if x)
    emit(sets["forums"], "forums", "forums/" + re.sub(r"^https?://(www\.)?|/.*", "", r["url"]) + "/" + name.split("/")[-1][:-5], r["html"], None, body, .85)
# readability
def xmlsafe(s): return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", "", s or "")
BLOCK = set("p div li td th tr h1 h2 h3 h4 h5 h6 blockquote pre section article ul ol table figure figcaption br dt dd header footer".split())
def blocktext(t):
    for e in t.iter():
        if not isinstance(e.tag, str): continue
        if e.tag in ("script", "style", "noscript"): e.text = ""
        if e.tag in BLOCK:
            e.text = "\n" + xmlsafe(e.text); e.tail = "\n" + xmlsafe(e.tail)
    return "\n".join(l for l in (re.sub(r"\s+", " ", l).strip() for l in t.text_content().split("\n")) if l)
if out := sets["readability"]:
    fs = archive(READABILITY, "test/test-pages")
    for name in sorted(fs):
        if not name.endswith("/source.html"): continue
        d = name[:-len("source.html")]
        e = blocktext(lxml.html.fromstring(decode(fs[d + "expected.html"])))
        md = json.loads(fs[d + "expected-metadata.json"])
        emit(out, "readability", "readability/" + d.split("/")[-2], decode(fs[name]), md.get("title"), e)
# postlight
if out := sets["postlight"]:
    fs = archive(POSTLIGHT, "fixtures", "src/extractors/custom")
    for name in sorted(fs):
        if not (name.startswith("fixtures/") and name.endswith(".html")): continue
        dom = re.sub(r"(--.*)?\.html$", "", name[9:])
        js = fs.get("src/extractors/custom/%s/index.js" % dom)
        if not js: js = fs.get("src/extractors/custom/www.%s/index.js" % dom)
        if not js: stats["postlight", "nojs"] += 1; continue
        js = js.decode()
        def section(key):
            i = js.find("\n  %s: {" % key)
            if i < 0: return ""
            j = js.find("\n  },", i)
            return js[i:j]
        def lists(text, key):
            i = text.find(key + ": [")
            if i < 0: return []
            depth = 0
            for j in range(i + len(key) + 2, len(text)):
                if text[j] == "[": depth += 1
                if text[j] == "]":
                    depth -= 1
                    if depth == 0: break
            arr = text[i + len(key) + 2:j + 1]
            arr = re.sub(r"//[^\n]*", "", arr)
            arr = re.sub(r",\s*\]", "]", arr)
            def q(m):
                s = m[0][1:-1].replace("\\'", "'")
                return json.dumps(s)
            arr = re.sub(r"'(?:[^'\\]|\\.)*'", q, arr)
            try: return json.loads(arr)
            except Exception: return []
        content = section("content")
        sels, clean = lists(content, "selectors"), lists(content, "clean")
        html = decode(fs[name])
        try: tree = lxml.html.document_fromstring(html.encode(), parser=lxml.html.HTMLParser(encoding="utf-8"))
        except Exception: continue
        body = None
        for s in sels:
            try:
                if isinstance(s, list): els = [x for k in s for x in tree.cssselect(k)]; 
                else: els = tree.cssselect(s)[:1]
            except Exception: continue
            if isinstance(s, list) and any(not tree.cssselect(k) for k in s): continue
            if not els: continue
            for x in els:
                for c in clean:
                    try:
                        for y in x.cssselect(c):
                            if y is not x and y.getparent() is not None: y.drop_tree()
                    except Exception: pass
                for tag in ("script", "style", "noscript", "form", "button", "aside", "iframe", "svg"):
                    for y in x.findall(".//" + tag): y.drop_tree()
            body = "\n".join(blocktext(x) for x in els); break
        if not body: stats["postlight", "nosel"] += 1; continue
        title = None
        for s in lists(section("title"), "selectors"):
            try:
                if isinstance(s, str):
                    t = tree.cssselect(s)
                    if t: title = re.sub(r"\s+", " ", t[0].text_content()).strip(); break
            except Exception: pass
        emit(out, "postlight", "postlight/" + dom + "/" + name[9:], html, title, body)
for k in sorted(stats): print(k, stats[k])
class Set:
    def __init__(self, name):
        self.pages = gzip.open(os.path.join(OUT, name + ".warc.gz"), "wb", 6)
        self.truth = gzip.open(os.path.join(OUT, name + ".truth.jsonl.gz"), "wt", 9, encoding="utf-8")
        self.n = 0
    def add(self, url, html, truth):
        body = html.encode("utf-8", "replace")
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Date: 2026-11-20T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n" % (url, self.n, len(http))
        self.pages.write(head.encode() + http + b"\r\n\r\n")
        self.truth.write(json.dumps({"url": url, **truth}, ensure_ascii=False) + "\n")
        self.n += 1
    def close(self):
        self.pages.close(); self.truth.close(); print(self.n)
for s in sets:
    if s == "fundus": out = Set("news-dev")
    if s == "forums": out.close(); out = Set("forums-dev")
    for line in sets[s].getvalue().removesuffix("\n").split("\n"):
        r = json.loads(line)
        out.add("http://%s.example/%s" % (s, r["url"].split("/", 1)[1]), r["html"], {"set": r["set"], "text": r["text"].encode("utf-8", "replace").decode()})
out.close()
# trafilatura
out = Set("snippets-dev")
fs = archive(TRAFILATURA, "tests/cache", "tests/eval", "tests/evaldata.json")
for url, v in sorted(json.loads(fs["tests/evaldata.json"]).items()):
    html = fs.get("tests/cache/" + v["file"], fs.get("tests/eval/" + v["file"]))
    try: html = html.decode("utf-8")
    except UnicodeDecodeError: html = bytes_to_str(html, detect_encoding(html))
    out.add("http://snippets.example/" + v["file"], html, {"set": "snippets", "with": v.get("with", []), "without": v.get("without", [])})
out.close()
