// What is said above the form of an entry that was changed or removed elsewhere while somebody edits it.

import { h } from "./dom.js";
import { changedKeys, patchOf } from "./entry.js";
import { button, go, note } from "./parts.js";
import { capital, said, some } from "./words.js";

/** Keys that are named. */
const NAMED = 6;

/** Its entry is gone. */
export const removed = (name) => note("err", [h("b", "The server ", said(name), " was removed while you edited it."), " You cannot save the entry any more. This page keeps what you typed."], go("Servers", "/ui/", "btn small"));

/** Its entry is there, and cannot be used. */
export const unusable = (row) => note("err", [h("b", "The entry was changed elsewhere and now has a mistake. "), capital(row.last_error ?? ""), ". This page keeps what you typed."]);

/** Its entry is another than `before`: `mine` is what was typed, as a patch of that one; `take` brings the change into the form. */
export function changed(before, now, mine, take) {
  const theirs = changedKeys(patchOf(before, now));
  const both = changedKeys(mine).filter((key) => theirs.includes(key));
  const keys = (list) => h("code", said(some(list, NAMED)));
  return note("warn", [
    h("b", "The entry was changed elsewhere: "), keys(theirs), ". This page keeps what you typed; saving writes only the keys that you changed.",
    both.length ? [" You changed ", keys(both), ", too; saving writes your values."] : null,
  ], button("Update the form", take, "btn small"));
}
