// Calling a tool again with the arguments of a record. What was masked there is left empty.

import { part, query } from "./api.js";
import { h } from "./dom.js";
import { go } from "./parts.js";

const MASK = "***";

/** The way from a record to the form of its tool; nothing where there are no arguments to take along. */
export function again(record) {
  if (record.kind !== "call" || !record.server || !record.tool || record.arguments === undefined) return null;
  const to = query(`/ui/tools/${part(`${record.server}:${record.tool}`)}`, { from: record.id });
  return [go("Call again with these arguments", to, "btn small"), record.masked ? h("span.hint", "the form leaves masked values empty") : null];
}

/** The arguments of a record without what was masked or cut; nothing where there are none. */
export async function argumentsOf(id, read) {
  const record = await read(`activity/${part(id)}`).catch(() => null);
  const given = record?.arguments;
  return given && typeof given === "object" && !Array.isArray(given) ? without(given) : undefined;
}

function without(value) {
  if (Array.isArray(value)) return value.map(without).filter((one) => one !== undefined);
  if (value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, without(one)]).filter(([, one]) => one !== undefined));
  }
  return typeof value === "string" && (value.includes(MASK) || value.endsWith("…")) ? undefined : value;
}
