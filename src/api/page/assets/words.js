// Numbers, times and strangers' texts, in the words of the page.

import { h } from "./dom.js";

export const number = (n) => n.toLocaleString("en-US");

export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** Microseconds, with a unit. */
export function took(us) {
  if (us === undefined || us === null) return "–";
  if (us < 999.5) return `${Math.round(us)} µs`;
  const ms = us / 1000;
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return span(ms / 1000);
}

/** Seconds, in the two largest units. */
export function span(seconds) {
  const units = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
  const whole = Math.max(0, Math.floor(seconds));
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  const [unit, size] = units[first];
  const next = units[first + 1];
  const rest = next && unit !== "min" ? Math.floor((whole % size) / next[1]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${next[0]}` : ""}`;
}

/** A time as the file and the daemon write it, `1m29s` or a number of seconds, with units as above. */
export const spelt = (text) => (typeof text === "number" ? `${text} s` : String(text ?? "")).replace(/\b(?:\d+(?:ms|[smhd]))+\b/g, (time) => time.replace(/(\d+)(ms|[smhd])/g, (_, n, unit) => `${n} ${unit === "m" ? "min" : unit} `).trim());

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1_000_000 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1_000_000).toFixed(1)} MB`;
}

/** About how many tokens so many characters are. */
export const tokens = (characters) => Math.round(characters / 4);

export const short = (n) => (n < 1000 ? String(n) : n < 10_000 ? `${(n / 1000).toFixed(1)}k` : `${Math.round(n / 1000)}k`);

const two = (n) => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
const day = (date) => `${date.getDate()} ${MONTHS[date.getMonth()]}`;
const isToday = (date) => date.toDateString() === new Date().toDateString();

export const exact = (date) => `${day(date)} ${date.getFullYear()}, ${clock(date)}`;

const element = (date, shown) => h("time", { datetime: date.toISOString(), title: exact(date) }, shown);

/** The time of day; of other days the day, too. */
export function at(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return said(text);
  return element(date, isToday(date) ? clock(date) : `${day(date)}, ${clock(date)}`);
}

/** A line of a server's log: when it was read, where that is written, and what the server wrote. */
export const logLine = (line) => /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (.*)$/s.exec(line)?.slice(1) ?? [undefined, line];

/** The time of day alone, to the millisecond. */
export function atMillis(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? said(text) : element(date, `${clock(date)}${text.slice(19, -1)}`);
}

/** The same within a sentence: `at 15:12:44`, `on 3 May, 15:12:44`. */
export function when(text) {
  const date = new Date(text);
  return [Number.isNaN(date.getTime()) || !isToday(date) ? "on " : "at ", at(text)];
}

/** How long ago. */
export function ago(text) {
  const date = new Date(text);
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (seconds < 60) return element(date, `${Math.max(0, Math.floor(seconds))} s`);
  if (seconds < 3600) return element(date, `${Math.floor(seconds / 60)} min`);
  if (seconds < 86_400) return element(date, `${Math.floor(seconds / 3600)} h`);
  return element(date, day(date));
}

/** As much of a text as there is room for. */
export const beginning = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

export const timeOf = (date) => element(date, clock(date));

// What cannot be seen, or makes the text be seen otherwise than it is read. Line ends and tabs are seen.
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;

/** Limit: escapes of one text that stand for themselves; more are counted. */
const ESCAPES = 200;

const codeOf = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const escape = (character) => h("span.esc", codeOf(character));

/** The same where there can be nothing but characters, as in the options of a choice. */
export const plain = (text) => String(text ?? "").replace(UNSEEN, codeOf);

/** A stranger's text, as text; what cannot be seen in it is named. */
export function said(text) {
  const whole = String(text ?? "").replace(/\r\n/g, "\n");
  const nodes = [];
  let [at, escapes] = [0, 0];
  for (const found of whole.matchAll(UNSEEN)) {
    escapes += 1;
    if (escapes > ESCAPES) break;
    nodes.push(whole.slice(at, found.index), escape(found[0]));
    at = found.index + found[0].length;
  }
  if (escapes <= ESCAPES) return nodes.length ? [...nodes, whole.slice(at)] : [whole];
  const rest = whole.slice(at);
  return [...nodes, rest.replace(UNSEEN, ""), h("span.esc", `${rest.match(UNSEEN).length} more invisible characters are left out`)];
}

/** An excerpt in which the daemon escaped what cannot be seen as `\u{200B}`. Marks that can be seen are shown as they are. */
export function escaped(text) {
  return String(text).split(/(\\u\{[0-9A-Fa-f]{1,6}\})/u).map((piece) => {
    const found = /^\\u\{([0-9A-Fa-f]+)\}$/.exec(piece);
    if (!found) return piece;
    const code = Number.parseInt(found[1], 16);
    return code === 0x3c || code === 0x3e || code === 0x26 ? String.fromCodePoint(code) : h("span.esc", `U+${found[1].toUpperCase().padStart(4, "0")}`);
  });
}

/** A sentence of the daemon: what stands between backticks is code. */
export const sentence = (text) => String(text ?? "").split("`").map((piece, i) => (i % 2 ? h("code", said(piece)) : said(piece)));

/** The same, beginning with a capital letter, unless it begins with a name: what has more than letters in it, or a colon after it. */
export function capital(text) {
  const whole = String(text ?? "");
  return sentence(/^(?!mcpproxy\b)[a-z]+(?:['’-][a-z]+)*(?:[\s,;]|[.!?](?:\s|$)|$)/.test(whole) ? whole[0].toUpperCase() + whole.slice(1) : whole);
}

/** What a record says of definitions, without fingerprints. */
export const brief = (detail) => detail.replace(/ [0-9a-f]{16,}(?=$|,| \()/g, "");

/** A list in words: `a, b and 3 more`. */
export function some(names, most) {
  const shown = names.slice(0, most);
  const more = names.length - shown.length;
  return more ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** The name that differs least from a word, if by little. */
export function closest(word, names) {
  const [best] = names.map((name) => ({ name, far: distance(word.toLowerCase(), name) })).sort((a, b) => a.far - b.far);
  return best?.far <= Math.min(2, word.length / 3) ? best.name : null;
}

/** How many letters are to be changed, added or removed. */
function distance(a, b) {
  let before = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const now = [i];
    for (let j = 1; j <= b.length; j += 1) now[j] = Math.min(before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    before = now;
  }
  return before[b.length];
}
