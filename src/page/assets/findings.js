// What the scanner found, with the evidence.

import { h, icon } from "./dom.js";
import { capital, escaped, said } from "./words.js";

/** Whether a finding alone would hold what it is about. */
export const isHigh = (finding) => finding.severity === "hold";

/** Findings as a list, the dangerous ones first: `{finding, thing?}`. */
export function findingList(findings) {
  const sorted = [...findings].sort((a, b) => isHigh(b.finding) - isHigh(a.finding));
  return h("ul", sorted.map(({ finding, thing }) => item(finding, thing)));
}

function item(finding, thing) {
  const high = isHigh(finding);
  const place = finding.place.replace(/^\//, "").replace(/\//g, ", ");
  return h("li.finding",
    h(high ? "p.sev.high" : "p.sev.low", icon(high ? "s-err" : "s-off"), high ? "dangerous" : "remark"),
    h("div",
      h("h3", capital(finding.meaning || finding.rule)),
      h("p.where", thing ? [`${thing.kind} `, h("code", said(thing.name)), ", "] : null, said(place), " ", h("span.dim", said(finding.rule))),
      h("p.quote", escaped(finding.excerpt))));
}
