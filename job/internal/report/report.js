"use strict";
(() => {
  const $ = id => document.getElementById(id), all = (of, from = document) => [...from.querySelectorAll(of)];
  all(".tools").forEach(t => t.hidden = false);

  // A number in a cell: 1,234 or 12.3 %, or none.
  const number = text => {
    const m = /^[+−-]?[\d,]*\.?\d+(?=\s*%?$)/.exec(text.trim());
    return m ? parseFloat(m[0].replace(/,/g, "").replace("−", "-")) : NaN;
  };
  const cell = (row, at) => row.cells[at] ? row.cells[at].textContent : "";

  // Tables are sorted by the column whose heading is chosen.
  all("table.sorts").forEach(table => all("thead th", table).forEach((th, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...th.childNodes);
    th.append(button);
    button.onclick = () => {
      const down = th.getAttribute("aria-sort") !== "descending", body = table.tBodies[0];
      const sorted = [...body.rows].sort((a, b) => {
        const x = cell(a, at), y = cell(b, at), n = number(x), m = number(y);
        const order = isNaN(n) || isNaN(m) ? isNaN(n) - isNaN(m) || x.localeCompare(y) : n - m;
        return down ? -order : order;
      });
      all("thead th", table).forEach(other => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...sorted);
    };
  }));

  // The search leaves rows of tables and pairs that have all its words; the filter
  // leaves pairs of one verdict.
  const items = all("tbody tr:not(.pair tr), details.pair-of"), said = $("found"), search = $("search"), kind = $("kind");
  const texts = new Map(items.map(i => [i, i.textContent.toLowerCase()]));
  if (kind) {
    const kinds = new Set(all("details.pair-of").map(d => d.dataset.kind));
    kinds.delete("");
    [...kinds].sort().forEach(k => kind.add(new Option(k, k)));
  }
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(w => w), of = kind ? kind.value : "";
    let found = 0;
    items.forEach(i => {
      const is = words.every(w => texts.get(i).includes(w)) && (!of || i.dataset.kind === of);
      i.hidden = !is;
      if (is) found++;
    });
    const some = words.length > 0 || of;
    document.body.classList.toggle("searching", !!some);
    said.textContent = some ? said.dataset.found.replace("%d", found) : "";
  };
  if (search) search.oninput = find;
  if (kind) kind.onchange = find;

  const open = to => all("details").forEach(d => d.open = to);
  if ($("open")) $("open").onclick = () => open(true);
  if ($("close")) $("close").onclick = () => open(false);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    open(true);
  });
  addEventListener("afterprint", () => closed.forEach(d => d.open = false));
})();
