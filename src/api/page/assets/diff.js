// Two texts side by side, line by line, with the words that changed marked. Pure, but for the table.

import { h } from "./dom.js";
import { button, copy, save } from "./parts.js";
import { count, said } from "./words.js";

/** Limit: lines of a text that is compared; more are shown as removed and added. */
const LINES = 1500;

/** Limit: words of a line that are compared. */
const WORDS = 400;

/** Limit: rows of a table; a browser takes long over more. All of it can be had as text. */
const ROWS = 1000;

/** Unchanged lines that are shown around a change. */
const AROUND = 3;

/** The longest common subsequence, as pairs of positions. */
function common(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

/** Changes of one list into another: `{same}`, or `{gone, come}`. */
function changes(a, b, most) {
  if (a.length > most || b.length > most) return [{ gone: a, come: b }];
  const steps = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...common(a, b), [a.length, b.length]]) {
    if (x > i || y > j) steps.push({ gone: a.slice(i, x), come: b.slice(j, y) });
    if (x < a.length && y < b.length) steps.push({ same: a[x] });
    [i, j] = [x + 1, y + 1];
  }
  return steps;
}

/** Changes between two texts. */
export const between = (before, now) => changes(before.split("\n"), now.split("\n"), LINES);

/** Changes as the daemon tells them: lines that begin with `-`, `+` or a blank. */
export function told(text) {
  const steps = [];
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    const last = steps[steps.length - 1];
    if (line.startsWith("-")) {
      if (last?.gone && !last.come.length) last.gone.push(rest);
      else steps.push({ gone: [rest], come: [] });
    } else if (line.startsWith("+")) {
      if (last?.gone) last.come.push(rest);
      else steps.push({ gone: [], come: [rest] });
    } else {
      steps.push({ same: rest });
    }
  }
  return steps;
}

export const isChange = (step) => step.gone !== undefined;

/** A line that was replaced and its replacement, with the words that differ. Long ones have marks of the daemon. */
function marked(before, now) {
  if (/\[-.*-\]|\{\+.*\+\}/s.test(before + now)) return [marks(before, /\[-(.*?)-\]/s, "del"), marks(now, /\{\+(.*?)\+\}/s, "ins")];
  const [a, b] = [before, now].map((line) => line.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  const steps = changes(a, b, WORDS);
  const side = (key, tag) => steps.map((step) => (isChange(step) ? (step[key].length ? h(tag, said(step[key].join(""))) : null) : said(step.same)));
  return [side("gone", "del"), side("come", "ins")];
}

const marks = (line, pattern, tag) => line.split(pattern).map((piece, i) => (i % 2 ? h(tag, said(piece)) : said(piece)));

const NOTHING = () => [h("td.ln.none", { role: "cell" }), h("td.none", { role: "cell" })];

function side(kind, number, content) {
  if (content === null) return NOTHING();
  return [h("td.ln", { role: "cell" }, number), h(`td.${kind}`, { role: "cell" }, h("span.sr", kind === "del" ? "removed: " : "added: "), content)];
}

/** The table. `before` and `now` are what stands above the sides. */
export function diffTable(steps, before, now, label) {
  let [left, right] = [0, 0];
  const rows = [];
  let at = 0;
  for (; at < steps.length && rows.length < ROWS; at += 1) {
    const step = steps[at];
    if (!isChange(step)) {
      const run = runOf(steps, at);
      if (run > 2 * AROUND + 2) {
        const [head, tail] = [at === 0 ? 0 : AROUND, at + run === steps.length ? 0 : AROUND];
        for (let i = 0; i < head; i += 1) rows.push(sameRow(steps[at + i].same, (left += 1), (right += 1)));
        const folded = run - head - tail;
        [left, right] = [left + folded, right + folded];
        rows.push(h("tr.fold", { role: "row" }, h("td", { role: "cell", colspan: "4" }, `${folded} lines unchanged`)));
        for (let i = run - tail; i < run; i += 1) rows.push(sameRow(steps[at + i].same, (left += 1), (right += 1)));
        at += run - 1;
      } else {
        rows.push(sameRow(step.same, (left += 1), (right += 1)));
      }
      continue;
    }
    const most = Math.max(step.gone.length, step.come.length);
    for (let i = 0; i < most && rows.length < ROWS; i += 1) {
      const [gone, come] = [step.gone[i], step.come[i]];
      const both = gone !== undefined && come !== undefined;
      const [old, fresh] = both ? marked(gone, come) : [gone === undefined ? null : h("del", said(gone)), come === undefined ? null : h("ins", said(come))];
      rows.push(h("tr", { role: "row" }, side("del", gone === undefined ? "" : (left += 1), old), side("add", come === undefined ? "" : (right += 1), fresh)));
    }
  }
  const table = h("table.diff", { role: "table", "aria-label": label },
    h("colgroup", h("col.ln"), h("col"), h("col.ln"), h("col")),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col", colspan: "2" }, before), h("th", { role: "columnheader", scope: "col", colspan: "2" }, now))),
    h("tbody", { role: "rowgroup" }, rows));
  const whole = steps.reduce((sum, step) => sum + (isChange(step) ? Math.max(step.gone.length, step.come.length) : 0), 0);
  if (rows.length < ROWS) return table;
  return [table, h("p.hint", `${count(whole, "line")} changed; the first ${ROWS.toLocaleString("en-US")} rows are shown. `, button("Copy all", () => copy(asText(steps), "the changes"), "link"), " ", button("Save all", () => save(asText(steps), "change.diff"), "link"))];
}

/** All of it, one line for each. */
const asText = (steps) => steps.flatMap((step) => (isChange(step) ? [...step.gone.map((line) => `-${line}`), ...step.come.map((line) => `+${line}`)] : [` ${step.same}`])).join("\n");

function runOf(steps, from) {
  let length = 0;
  while (from + length < steps.length && !isChange(steps[from + length])) length += 1;
  return length;
}

function sameRow(text, left, right) {
  const one = (number) => [h("td.ln", { role: "cell" }, number), h("td", { role: "cell" }, said(text))];
  return h("tr.same", { role: "row" }, one(left), one(right));
}
