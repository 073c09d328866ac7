"use strict";
(() => {
  const root = document.documentElement, $ = id => document.getElementById(id);
  const pairs = [...document.querySelectorAll("article[data-a]")], end = $("end");
  const place = "neardup review " + root.dataset.review;
  const words = { y: "yes", n: "no", "?": "unsure" };
  let state = { verdicts: {}, undo: [], at: 0, who: $("who").value, language: "" };
  let saved = true, failed = false;

  try {
    Object.assign(state, JSON.parse(localStorage.getItem(place) || "{}"));
  } catch { failed = true; }
  const keep = () => {
    try { localStorage.setItem(place, JSON.stringify(state)); } catch { failed = true; }
  };
  const messages = JSON.parse($("messages").textContent);
  const say = (key, ...args) => (messages[root.lang][key]).replace(/%s/g, () => args.shift());

  function show(at, move) {
    state.at = Math.max(0, Math.min(at, pairs.length));
    pairs.forEach((p, i) => p.hidden = i !== state.at);
    end.hidden = state.at !== pairs.length;
    const verdict = state.verdicts[state.at] || {};
    document.querySelectorAll("button[aria-pressed]").forEach(b => b.setAttribute("aria-pressed", words[b.dataset.key] === verdict.verdict));
    $("why").value = verdict.why || "";
    $("why").disabled = state.at === pairs.length;
    const all = Object.values(state.verdicts), n = v => all.filter(x => x.verdict === v).length, read = all.filter(x => x.verdict).length;
    $("progress").value = read;
    $("count").textContent = say("%s of %s judged: %s yes, %s no, %s unsure", read, pairs.length, n("yes"), n("no"), n("unsure"))
      + (failed ? say(". This browser keeps nothing: save before you leave") : "");
    keep();
    if (move) { scrollTo(0, 0); (pairs[state.at] || end).focus({ preventScroll: true }); }
  }

  function judge(verdict) {
    if (state.at === pairs.length) return;
    const was = state.verdicts[state.at] || null;
    state.undo.push([state.at, was]);
    state.verdicts[state.at] = { verdict, when: new Date().toISOString().replace(/\.\d+Z/, "Z"), why: $("why").value };
    saved = false;
    let next = state.at + 1;
    while (next < pairs.length && (state.verdicts[next] || {}).verdict) next++;
    show(next, true);
  }

  function undo() {
    if (!state.undo.length) return;
    const [at, was] = state.undo.pop();
    if (was) state.verdicts[at] = was; else delete state.verdicts[at];
    saved = false;
    show(at, true);
  }

  function save() {
    const field = v => /[",\r\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v;
    const who = $("who").value.trim();
    const lines = [["a", "b", "verdict", "who", "when", "why"]];
    pairs.forEach((p, i) => {
      const v = state.verdicts[i];
      if (v && v.verdict) lines.push([p.dataset.a, p.dataset.b, v.verdict, who, v.when, v.why || ""]);
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map(l => l.map(field).join(",") + "\n").join("")], { type: "text/csv" }));
    link.download = "verdicts" + (who ? "-" + who.replace(/[^\p{L}\p{N}_-]+/gu, "_") : "") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    saved = true;
  }

  function language() {
    root.lang = state.language = root.lang === "zh" ? "en" : "zh";
    show(state.at);
  }

  const keys = {
    y: () => judge("yes"), n: () => judge("no"), "?": () => judge("unsure"), u: undo, s: save, l: language,
    j: () => show(state.at + 1, true), k: () => show(state.at - 1, true),
    ArrowRight: () => show(state.at + 1, true), ArrowLeft: () => show(state.at - 1, true),
    w: () => $("why").focus(),
  };
  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.tagName === "INPUT") {
      if (e.key === "Enter" || e.key === "Escape") { e.target.blur(); e.preventDefault(); }
      return;
    }
    const key = e.key === "？" ? "?" : e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (keys[key]) { e.preventDefault(); keys[key](); }
  });
  document.querySelectorAll("button[data-key]").forEach(b => b.addEventListener("click", () => keys[b.dataset.key]()));
  $("language").addEventListener("click", language);
  $("who").addEventListener("input", () => { state.who = $("who").value; keep(); });
  $("why").addEventListener("input", () => {
    const v = state.verdicts[state.at];
    if (v) { v.why = $("why").value; saved = false; keep(); }
  });
  addEventListener("beforeunload", e => { if (!saved && failed) e.preventDefault(); });
  root.lang = (state.language || root.lang) === "zh" ? "zh" : "en";
  $("who").value = state.who;
  show(state.at);
})();
