// What is said above the form of an entry that was changed or removed elsewhere while somebody edits it.

import { h } from "./dom.js";
import { changedKeys, patchOf } from "./entry.js";
import { button, go, note } from "./parts.js";
import { capital, said, some } from "./words.js";

/** Keys that are named. */
const NAMED = 6;

/** Its entry is gone. */
export const removed = (name) => note("err", [h("b", "There is no server ", said(name), " any more."), " It was removed meanwhile, so this cannot be saved. What you typed is kept here."], go("Servers", "/ui/", "btn small"));

/** Its entry is there, and cannot be used. */
export const unusable = (row) => note("err", [h("b", "The entry was changed meanwhile, and has a mistake now. "), capital(row.last_error ?? ""), ". What you typed is kept here."]);

/** Its entry is another than `before`: `mine` is what was typed, as a patch of that one; `take` brings the change into the form. */
export function changed(before, now, mine, take) {
  const theirs = changedKeys(patchOf(before, now));
  const both = changedKeys(mine).filter((key) => theirs.includes(key));
  const keys = (list) => h("code", said(some(list, NAMED)));
  return note("warn", [
    h("b", "Something else changed the entry: "), keys(theirs), ". Your input is kept; saving writes only the keys that you changed.",
    both.length ? [" You changed ", keys(both), ", too; saving writes your values."] : null,
  ], button("Show it in the form", take, "btn small"));
}
