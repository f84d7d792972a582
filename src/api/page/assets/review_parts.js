// What the review of a server says of it as a whole: its entry, what an agent changed, how much was found, and what of a diff counts.

import { diffTable } from "./diff.js";
import { h } from "./dom.js";
import { isHigh } from "./findings.js";
import { json, note, section, state, textBox } from "./parts.js";
import { capital, count, said } from "./words.js";

/** How much was found, and how bad it is: a minor one holds nothing. */
export function found(findings) {
  const dangerous = findings.filter(isHigh).length;
  return dangerous ? state("err", count(dangerous, "dangerous finding")) : state("off", count(findings.length, "minor finding"));
}

/** Whether mcpproxy can read its definition: of others nothing can be approved or used. */
export const isReadable = (thing) => thing.reason !== "unreadable";

/** `3 prompts, 1 resource`, of what is no tool. */
function others(things) {
  const of = (kind, word) => [things.filter((thing) => thing.kind === kind && isReadable(thing)).length, word];
  const counted = [of("prompt", "prompt"), of("resource", "resource"), of("template", "resource template")].filter(([n]) => n).map(([n, word]) => count(n, word));
  return [...counted, things.some((thing) => thing.kind === "instructions") ? "instructions" : ""].filter(Boolean).join(", ");
}

/** The entry, and how much its server offers. */
export function entryFacts(entry, things) {
  if (!entry) return [];
  const tools = things.filter((thing) => thing.kind === "tool" && isReadable(thing));
  const beside = others(things);
  const line = entry.url ?? [entry.command, entry.args ?? []].flat().join(" ");
  const named = (map) => Object.entries(map ?? {}).map(([key, value]) => `${key}=${value}`).join(", ");
  return [
    [entry.url ? "Reaches" : "Runs", h("code", said(line))],
    ["Folder", entry.cwd ? h("code", said(entry.cwd)) : undefined],
    ["Environment", entry.url ? undefined : named(entry.env) ? h("code", said(named(entry.env))) : "no variables added"],
    ["Headers", entry.url && named(entry.headers) ? h("code", said(named(entry.headers))) : undefined],
    ["Offers", tools.length ? [`${count(tools.length, "tool")}: `, tools.map((tool, i) => [i ? ", " : "", h("code", said(tool.name))])] : undefined],
    [tools.length ? "Also" : "Offers", beside || undefined],
  ];
}

const isRemote = ({ transport }) => Boolean(transport && transport !== "stdio");

/** What is done to a server to list its tools: of one at an address nothing is started. */
export const contacts = (server) => (isRemote(server) ? "connects to" : "starts");

/** What approving a server lets it have, within a sentence. */
export const risk = (server) => (isRemote(server) ? "call arguments are sent to its URL, with its headers" : "the server runs with the rights of your user");

/** What a person can do where a lock file says what is accepted, as the command line says it. */
export function locked({ lock_file: file, lock_step: step, server }) {
  if (!file) return null;
  return note("held", [h("b", "You cannot approve anything here. "), capital(step ?? ""), ".", server.quarantined ? [" To end the quarantine, set ", h("code", "\"quarantined\": false"), " in its entry."] : null]);
}

/** What agents changed of an entry, and what it is held for. */
export function changed(review) {
  if (!review) return null;
  if (review.is_new) return h("div.sec", note("held", [h("b", "An agent added this server. "), "The whole entry is new."]));
  const line = (place, value) => (value === undefined || value === null ? [] : `${place}: ${value}`.split("\n"));
  const steps = review.changes.map(({ place, was, is }) => ({ gone: line(place, was), come: line(place, is) }));
  const why = ["quarantined because of ", h("code", said(review.held_for.join(", ")))];
  return section("Changes by an agent", h("p", why), diffTable(steps, "Before the changes", "Now", "The entry before and after an agent changed it"));
}

export const print = (thing) => (thing.fingerprint ?? "").slice(0, 8).replace(/(.{4})(?=.)/, "$1 ");

/** Whether it waits: what the entry disables is settled. */
export const isHeld = (thing) => thing.held && !thing.disabled;

export const headingOf = (thing) => `held-${keyOf(thing).replace(/\s/g, "-")}`;

/** What tells a thing from the others of its server. */
export const keyOf = (thing) => `${thing.kind} ${thing.name}`;

/** Everything that a definition says. */
export function definition(thing) {
  if (thing.definition === undefined) return null;
  if (thing.kind === "instructions") return textBox(thing.description ?? thing.definition, "Instructions");
  return [h("p.hint", "Whole definition"), json(thing.definition, `Whole definition of ${thing.name}`)];
}
