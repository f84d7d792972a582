// What the scanner found, with the evidence.

import { h, icon } from "./dom.js";
import { capital, escaped, said } from "./words.js";

/** Whether a finding alone would hold what it is about. */
export const isHigh = (finding) => finding.severity === "hold";

/** Findings as a list, the dangerous ones first: `{finding, thing?, description?}`, where the last is the text that some stand in. */
export function findingList(findings) {
  const sorted = [...findings].sort((a, b) => isHigh(b.finding) - isHigh(a.finding));
  return h("ul", sorted.map(({ finding, thing, description }) => item(finding, thing, description ?? thing?.description)));
}

function item(finding, thing, description) {
  const high = isHigh(finding);
  const place = finding.place_in_words || finding.place.replace(/^\//, "").replace(/\//g, ", ");
  return h("li.finding",
    h(high ? "p.sev.high" : "p.sev.low", icon(high ? "s-err" : "s-off"), high ? "dangerous" : "minor"),
    h("div",
      h("h3", capital(finding.meaning || finding.rule)),
      h("p.where", thing ? [`${thing.kind} `, h("code", said(thing.name)), ", "] : "in ", h("span", { title: finding.place }, said(place)), position(finding, description), " ", h("span.dim", said(finding.rule))),
      h("p.quote", quotation(finding)),
      finding.like ? h("p", "Agents may confuse it with ", h("code", said(finding.like)), ".") : null,
      finding.why ? h("p.soft", said(finding.why)) : null));
}

/** The excerpt, with what the rule objects to marked in it. Both are escaped by the daemon, and no escape is cut in two. */
function quotation({ excerpt, marked }) {
  if (!marked) return escaped(excerpt);
  const characters = [...excerpt];
  const piece = (from, to) => escaped(characters.slice(from, to).join(""));
  return [piece(0, marked.start), h("mark.hitspan", piece(marked.start, marked.end)), piece(marked.end)];
}

const ESCAPES = { n: "\n", r: "\r", t: "\t", "\\": "\\" };

/** What stands for an escaped text. */
const plain = (text) => text.replace(/\\(?:u\{([0-9A-F]+)\}|([nrt\\]))/gu, (_, code, letter) => (code ? String.fromCodePoint(Number.parseInt(code, 16)) : ESCAPES[letter]));

/** Which characters of a description the rule objects to, where the quotation stands there once. */
function position({ place, excerpt, marked }, description) {
  if (place !== "/description" || typeof description !== "string") return "";
  const quoted = plain(excerpt.replace(/^…|…$/gu, ""));
  const at = description.indexOf(quoted);
  if (!quoted || at < 0 || description.indexOf(quoted, at + 1) >= 0) return "";
  const characters = [...excerpt];
  const long = (from, to) => [...plain(characters.slice(from, to).join("").replace(/^…|…$/gu, ""))].length;
  const [before, length] = marked ? [long(0, marked.start), long(marked.start, marked.end)] : [0, long(0)];
  const first = [...description.slice(0, at)].length + before + 1;
  return length === 1 ? `, character ${first}` : `, characters ${first} to ${first + length - 1}`;
}
