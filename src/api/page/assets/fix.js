// What ends a failure where it is said: a field for the secret or variable that a server lacks, stored in the keyring, or for the command
// that is not here.

import { ask, part, patch, put, query } from "./api.js";
import { fill, h } from "./dom.js";
import { state } from "./parts.js";
import { vault } from "./vault.js";
import { capital, said } from "./words.js";

/** Lines of the log that are looked at. */
const LINES = 40;

/** A name as environments have them, and the words with which servers say that they lack one. */
const NAME = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/;
const LACKS = /requir|missing|not set|undefined|must be set|must provide|please set|no such env|environment variable/i;

/** What a server's own words name as missing: `{name, line}`. */
export async function complaint(server, entry) {
  const { lines } = await ask(query(`servers/${part(server)}/logs`, { lines: LINES })).catch(() => ({ lines: [] }));
  const texts = lines.map((line) => (typeof line === "string" ? line : line.text ?? ""));
  const line = texts.findLast(lackedIn);
  const name = line && lackedIn(line);
  return name && entry?.env?.[name] === undefined ? { name, line } : null;
}

/** The variable that a text names as missing. */
const lackedIn = (text) => (LACKS.test(text) ? NAME.exec(text)?.[0] : undefined);

/** What a row of the list says that its server lacks: a secret, or a variable. */
export function lacks({ step, reason, transport }) {
  if (["set_secret", "set_variable"].includes(step?.do)) return step.name;
  return step?.do === "read_log" && transport === "stdio" ? lackedIn(reason ?? "") : undefined;
}

/** What is said of the command of an entry that is not here: `{command, reason, closest}`. One that cannot be judged is not. */
export async function absent(entry) {
  const { command, cwd, env } = entry ?? {};
  if (!command || /\*\*\*/.test(`${command} ${env?.PATH}`)) return null;
  const found = await ask(query("commands", { command, cwd, path: env?.PATH })).catch(() => null);
  return found?.judged && !found.found ? { command, ...found } : null;
}

/** The part of an entry at a path of keys, as the file has it. */
const at = (entry, key) => key.split(".").reduce((value, one) => value?.[one], entry);

/** A form for what is lacking, or nothing. `act(word, doIt)` does it and shows what came of it; a changed entry restarts by itself, which
 * `begun` waits for. */
export function fixForm(name, details, { said_, absent: away }, act, { restart, begun }) {
  const missing = details.missing?.[0];
  const one = details.server;
  const isUnreached = one.state === "Error" && one.transport !== "stdio" && one.step?.do === "fix_entry";
  const wanted = missing ? asked(name, details.entry, missing) : away ? inCommand(away, details.entry) : said_ ? inEnv(name, said_.name) : isUnreached ? inUrl(one, details.entry) : null;
  if (!wanted) return null;
  const field = h("input.mono", { type: wanted.secret ? "password" : "text", value: wanted.value ?? "", spellcheck: "false", id: "fix-value", autocomplete: "off", "aria-describedby": "fix-hint", "data-kept": "" });
  // Another command is looked for as soon as it is written.
  if (wanted.check) field.addEventListener("change", async () => {
    const found = await wanted.check(field.value.trim());
    const hint = document.getElementById("fix-hint");
    if (hint) fill(hint, found);
  });
  const submit = (event) => {
    event.preventDefault();
    const given = document.getElementById("fix-value");
    if (!given.value) return given.focus();
    const value = given.value;
    return act("Saving…", async () => {
      if (wanted.secret) await put(`secrets/${part(wanted.secret)}`, { value });
      if (wanted.change) await patch(`servers/${part(name)}`, wanted.secret ? wanted.change : wanted.change(value));
      // One that waits for approval is not started.
      if (!one.quarantined) await (wanted.change ? begun : restart)();
    });
  };
  return h(`form.fix${missing ? ".warn" : ""}`, { "aria-label": wanted.secret ? wanted.title : `Correct the ${wanted.label === "URL" ? "URL" : "command"}`, "data-key": "fix", on: { submit } },
    h("p", missing ? state("auth", wanted.title) : h("b", wanted.title)),
    said_ && !missing && !away ? h("p.said", said(said_.line)) : null,
    h("div.line", h("div.field", h("label.mono", { for: "fix-value" }, said(wanted.label)), field), h("button.btn.primary", { type: "submit" }, one.quarantined ? "Save" : wanted.label === "URL" ? "Save and try again" : "Save and restart")),
    h("p.hint", { id: "fix-hint" }, wanted.hint ?? (wanted.change ? [`Stored in ${vault()} as `, h("code", said(wanted.secret)), "; its entry gets the reference."] : `Stored in ${vault()}; its entry refers to it.`)));
}

function asked(server, entry, { kind, name, key }) {
  if (kind === "secret") return { title: `Needs a secret: ${name}`, label: name, secret: name };
  const written = at(entry, key);
  const reference = new RegExp(`\\$\\{(?:env:)?${name}(?::-[^}]*)?\\}`, "g");
  const [list, member, ...rest] = key.split(".");
  if (typeof written !== "string" || !reference.test(written) || rest.length || !["env", "headers"].includes(list)) return null;
  const secret = `${server}-${name}`;
  return { title: `Needs the variable ${name}`, label: name, secret, change: { [list]: { [member]: written.replace(reference, () => `\${keyring:${secret}}`) } } };
}

function inEnv(server, name) {
  const secret = `${server}-${name}`;
  return { title: "It exited on start and wrote:", label: name, secret, change: { env: { [name]: `\${keyring:${secret}}` } } };
}

function inUrl({ reason }, entry) {
  if (!entry?.url || /\*\*\*/.test(entry.url)) return null;
  return { title: [capital(reason), "."], label: "URL", value: entry.url, hint: "Correct it, or start the server that it names.", change: (value) => ({ url: value.trim() }) };
}

function inCommand({ command, reason, closest }, entry) {
  const hint = closest ? ["The closest that exists is ", h("code", said(closest)), "."] : [capital(reason ?? ""), "."];
  const check = async (value) => {
    const found = await absent({ ...entry, command: value });
    return found ? [capital(found.reason ?? ""), "."] : [h("code", said(value)), " found."];
  };
  return { title: ["There is no program ", h("code", said(command)), " here."], label: "Command", value: closest ?? command, hint, check, change: (value) => ({ command: value.trim() }) };
}
