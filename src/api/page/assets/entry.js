// Entries of servers: what is wrong with one, what changed of it, how it looks in the file, and the same as a command. Pure.

import { isNumber, write } from "./exact.js";

const NAME = /^(?!.*__)[A-Za-z0-9._-]{1,64}$/;

/** What is wrong with a name, and one that would do. */
export function nameFault(name, taken) {
  if (!name) return { fault: "A name is required: letters, digits, dots, underscores and hyphens" };
  if (taken.includes(name)) return { fault: "A server already has this name" };
  if (NAME.test(name)) return {};
  const better = name.trim().replace(/[^A-Za-z0-9._-]+/g, "-").replace(/__+/g, "_").replace(/^-+|-+$/g, "").slice(0, 64);
  const why = /\s/.test(name) ? "A name cannot contain spaces: use letters, digits, dots, underscores and hyphens." : name.includes("__") ? "A name cannot contain two underscores in a row, which separate server and tool." : name.length > 64 ? "A name can have at most 64 characters." : "Use only letters, digits, dots, underscores and hyphens.";
  return { fault: why, better: NAME.test(better) && !taken.includes(better) ? better : undefined };
}

/** What is wrong with an address. */
export function urlFault(text) {
  if (!text) return "A URL is required, such as https://example.com/mcp";
  if (/\$\{/.test(text)) return "";
  let url;
  try {
    url = new URL(text);
  } catch {
    return /^https?:/i.test(text) ? "The URL’s host is missing or wrong; a correct URL is https://example.com/mcp" : "The URL must begin with https:// or http://";
  }
  if (!["https:", "http:"].includes(url.protocol)) return "The URL must begin with https:// or http://";
  return "";
}

/** What is wrong with the name of a variable or a header. */
export function keyFault(key, isHeader) {
  if (!key) return "A name is missing";
  if (isHeader) return /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(key) ? "" : "A header’s name cannot contain spaces, colons or other special characters";
  return /[=\0]/.test(key) ? "The name of a variable cannot contain =" : "";
}

const DURATION = /^(?:\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)$/;

export const durationFault = (text, words = []) => (!text || words.includes(text) || DURATION.test(text) ? "" : `Enter a duration such as 30s, 2m or 1h30m${words.length ? `, or ${words.join(" or ")}` : ""}`);

/** Whether a value looks like a secret that should not stand in a file. */
export function looksSecret(key, value) {
  if (!value || value.includes("${") || value === "***") return false;
  return /token|secret|passw|api_?-?key|credential|authorization/i.test(key) || /^(?:sk|pk|gh[pousr]|xox[bap]|glpat|wk)[-_]/.test(value) || /^Bearer\s+\S/.test(value);
}

/** Limit: characters of a name that is made of a text. */
const NAMED = 100;

/** A name that a secret can have, as close to the text as can be. */
const nameOf = (text) => Array.from(text, (character) => (/[A-Za-z0-9._-]/.test(character) ? character : "-")).slice(0, NAMED).join("").replace(/^[.-]+|[.-]+$/g, "") || "secret";

/** The name under which a secret of a server is kept, by the rule of the import of clients' files (`own_name` in `secret_names.rs`). */
export function secretName(server, key) {
  const [own, name] = [server || "server", nameOf(key)];
  const isOwn = name.startsWith(own) && /^(?:$|[._-])/.test(name.slice(own.length));
  return isOwn ? name : nameOf(`${own}-${name}`);
}

/** What stands before a secret and is none: it stays in the file. */
export const schemeOf = (value) => /^(?:Bearer|Basic|Token) (?=\S)/i.exec(value)?.[0] ?? "";

/** The name, or the first with a number behind it that is not among the taken, as the import numbers them. */
export function freeName(wanted, taken) {
  let name = wanted;
  for (let n = 2; taken.has(name); n += 1) name = `${wanted}-${n}`;
  return name;
}

export const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !isNumber(value);
export const same = (a, b) => write(a) === write(b);

/** The patch that makes `before` into `now`: maps are merged, null takes out. */
export function patchOf(before, now) {
  const patch = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (same(before[key], now[key])) continue;
    if (!(key in now)) patch[key] = null;
    else if (isMap(before[key]) && isMap(now[key])) patch[key] = patchOf(before[key], now[key]);
    else patch[key] = now[key];
  }
  return patch;
}

/** The first key whose value is of a kind that no field can show. */
export const misshapen = (entry) => Object.keys(entry).find((key) => (LISTS.includes(key) ? !Array.isArray(entry[key] ?? []) : MAPS.includes(key) && (!isMap(entry[key] ?? {}) || (key !== "oauth" && Object.values(entry[key] ?? {}).some(isMap)))));

const [LISTS, MAPS] = [["args", "enabled_tools", "disabled_tools"], ["env", "headers", "oauth"]];

/** What a patch makes of an entry. */
export function patched(entry, patch) {
  const now = { ...entry };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete now[key];
    else now[key] = isMap(value) ? patched(isMap(now[key]) ? now[key] : {}, value) : value;
  }
  return now;
}

/** The keys that a patch changes, those of maps with the map's name before them: `env.LOG`. */
export const changedKeys = (patch) => Object.entries(patch).flatMap(([key, value]) => (isMap(value) && Object.keys(value).length ? Object.keys(value).map((inner) => `${key}.${inner}`) : [key]));

/** Without what says nothing: empty texts, lists and maps. */
export function tidy(entry) {
  const empty = (value) => value === "" || value === undefined || (Array.isArray(value) && !value.length) || (isMap(value) && !Object.keys(value).length);
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !empty(value)));
}

/** What an edit leaves: keys stay where they are, also those within maps, and new ones come last. */
export function inOrder(before, now) {
  if (!isMap(before) || !isMap(now)) return now;
  const keys = [...Object.keys(before).filter((key) => Object.hasOwn(now, key)), ...Object.keys(now).filter((key) => !Object.hasOwn(before, key))];
  return Object.fromEntries(keys.map((key) => [key, Object.hasOwn(before, key) ? inOrder(before[key], now[key]) : now[key]]));
}

/** An entry as it would stand in the file. */
export const inFile = (name, entry) => `${write(name || "NAME")}: ${write(entry, 2)}`;

/** A word of a command line. */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/** The command that adds it, where the command has an option for all of it. */
export function addCommand(name, entry) {
  const { command, args = [], env = {}, url, headers = {}, quarantined, ...rest } = entry;
  const held = quarantined === true ? " --quarantined" : "";
  const said = Object.keys(rest).length ? ` && mcpproxy upstream patch ${quoted(name || "NAME")} --json ${quoted(write(rest))}` : "";
  const named = (option, map, join) => Object.entries(map).map(([key, value]) => ` ${option} ${quoted(`${key}${join}${value}`)}`).join("");
  const to = quoted(name || "NAME");
  if (url !== undefined) return `mcpproxy upstream add ${to}${held} --url ${quoted(url || "URL")}${named("--header", headers, ": ")}${said}`;
  return `mcpproxy upstream add ${to}${held}${named("--env", env, "=")} -- ${[command || "COMMAND", ...args].map(String).map(quoted).join(" ")}${said}`;
}

/** What entries are shown with although nobody wrote it. */
const DEFAULTS = { enabled: true, quarantined: false, idle_timeout: ["adaptive", "never"], start: "on_demand", tool_changes: "hold", init_timeout: ["1m", "5m"], call_tool_timeout: "2m", session_scope: "auto", type: ["stdio", "http"], changed_by: "person" };

/** An entry without its name and without defaults. */
export function asWritten(entry) {
  const { name: _, ...rest } = entry;
  const isDefault = (key, value) => [DEFAULTS[key]].flat().includes(value) && key in DEFAULTS;
  return tidy(Object.fromEntries(Object.entries(rest).filter(([key, value]) => !isDefault(key, value))));
}

/** The entries of a text, with their names where it has some: a configuration, its list of servers, or an entry alone. */
export function entriesIn(value) {
  const list = ["mcpServers", "servers", "context_servers"].map((key) => value?.[key]).find(isMap);
  const named = Object.entries(list ?? (isMap(value) ? value : {}));
  const isList = named.length && named.every(([, one]) => isMap(one) && ("command" in one || "url" in one));
  return isList ? named : [["", value]];
}
