// Calls as a short list: when, how they ended, what, how long, and why where they did not end well.

import { h, icon } from "./dom.js";
import { outcomeKind } from "./parts.js";
import { detail, isTheirs, thing } from "./records.js";
import { at, said, sentence, took } from "./words.js";

const LOOKS = { ready: "", err: "failed", held: "stopped" };

export const feed = (records) => h("ul.feed", records.map(fed));

function fed(record) {
  const kind = outcomeKind(record);
  const looks = LOOKS[kind] ?? "other";
  const word = record.outcome.replace("_", " ");
  const why = looks ? [word, detail(record)].filter(Boolean).join(": ") : record.server ? "" : detail(record);
  return h("li", { class: looks, "data-key": `r${record.id}` },
    at(record.time),
    icon(`s-${kind}`),
    h("a.cut", { href: `/ui/activity/${record.id}` }, said(thing(record)), h("span.sr", `, ${word}`)),
    h("span.ms", took(record.duration_us)),
    why ? h("span.why", isTheirs(record) ? said(why) : sentence(why)) : null);
}
