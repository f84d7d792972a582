// JSON whose numbers keep their text: a browser's own numbers have 53 bits, and `12345678901234567890` would be another one after it was
// read. Where a number would be written otherwise than it stands there, it is read as a `Literal`. Pure.

/** A number as it is written. Where it is compared it is the nearest that a browser has; as a text, and in what `write` writes, it is itself. */
class Literal {
  #text;

  constructor(text) {
    this.#text = text;
  }

  toString() {
    return this.#text;
  }

  valueOf() {
    return Number(this.#text);
  }

  toJSON() {
    return MARK + this.#text;
  }
}

/** What no text of a stranger begins with, in the place of a literal for as long as the browser's own JSON reads or writes it. */
const MARK = `${Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-")}:`;

const isKept = (literal) => String(Number(literal)) === literal;

const [QUOTE, SLASH] = [0x22, 0x5c];

/** Where the text that begins with the quotation mark at `from` ends. */
function endOfText(text, from) {
  let at = from + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) at += code === SLASH ? 2 : 1;
  return at + 1;
}

/** Tells of each number, text and bracket of sound JSON where it stands, until `told` answers with something. */
function pieces(text, told) {
  const next = /["{}[\]]|-?\d[\d.eE+-]*/g;
  for (let found = next.exec(text); found; found = next.exec(text)) {
    const at = found.index;
    if (found[0] === '"') next.lastIndex = endOfText(text, at);
    const answer = told(at, next.lastIndex);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Reads JSON, and throws where there is none. */
export function read(text) {
  const plain = JSON.parse(text);
  const marked = [];
  let done = 0;
  pieces(text, (at, end) => {
    if (!/[-\d]/.test(text[at])) return;
    const literal = text.slice(at, end);
    if (isKept(literal)) return;
    marked.push(text.slice(done, at), `"${MARK}${literal}"`);
    done = end;
  });
  if (!done) return plain;
  return JSON.parse(marked.join("") + text.slice(done), (_, value) => (typeof value === "string" && value.startsWith(MARK) ? new Literal(value.slice(MARK.length)) : value));
}

/** Writes what was read, with `indent` laid out. */
export function write(value, indent) {
  const text = JSON.stringify(value, null, indent);
  return text?.includes(MARK) ? text.split(`"${MARK}`).map((piece, i) => (i ? piece.replace('"', "") : piece)).join("") : text;
}

/** A name that an object of sound JSON has twice, or undefined. The browser would keep the last one and say nothing. */
function twice(text) {
  const open = [];
  return pieces(text, (at, end) => {
    const piece = text[at];
    if (piece === "{" || piece === "[") open.push(piece === "{" ? new Set() : null);
    else if (piece === "}" || piece === "]") open.pop();
    else if (piece === '"' && isName(text, end)) {
      const name = JSON.parse(text.slice(at, end));
      const names = open[open.length - 1];
      if (names.has(name)) return name;
      names.add(name);
    }
    return undefined;
  });
}

/** Whether a colon follows. */
function isName(text, end) {
  let at = end;
  while (/\s/.test(text.charAt(at))) at += 1;
  return text[at] === ":";
}

/** What somebody wrote as JSON: `{value}`, or `{fault}` if it is none or leaves open what is meant. */
export function written(text) {
  try {
    const value = read(text);
    const name = twice(text);
    return name === undefined ? { value } : { fault: `The key ${JSON.stringify(name)} appears twice in one object.` };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const [, line, column] = /line (\d+) column (\d+)/.exec(error.message) ?? [];
    return { fault: line ? `The text is not valid JSON: see line ${line}, column ${column}.` : "The text is not valid JSON, or is incomplete." };
  }
}

/** A number as somebody types it, where `+4`, `.5` and `007` are meant as numbers, too; or NaN. */
export function typed(text) {
  const found = /^\s*([-+]?)0*(\d*)(?:\.(\d*))?(e[-+]?\d+)?\s*$/i.exec(text);
  if (!found || !/\d/.test(text.replace(/e.*/i, ""))) return Number.NaN;
  const [, sign, whole, part, power = ""] = found;
  const literal = `${sign === "-" ? "-" : ""}${whole || "0"}${part ? `.${part}` : ""}${power}`;
  return isKept(literal) ? Number(literal) : new Literal(literal);
}

export const isNumber = (value) => typeof value === "number" || value instanceof Literal;

/** Whether it is a whole number: `1.0` and `10e-1` are. */
export function isWhole(value) {
  const found = /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(String(value));
  if (!found) return false;
  const [, whole, part = "", power = "0"] = found;
  const zeros = /0*$/.exec(whole + part)[0].length;
  return zeros === whole.length + part.length || part.length - Number(power) - zeros <= 0;
}
