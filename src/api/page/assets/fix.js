// What ends a failure where it is said: a field for the secret or variable that a server lacks, stored in the keyring, or for the command
// that is not here.

import { ask, part, patch, put, query } from "./api.js";
import { commandCheck } from "./command_check.js";
import { h } from "./dom.js";
import { hasFailed, state } from "./parts.js";
import { vault } from "./vault.js";
import { capital, logLine, said } from "./words.js";

/** Lines of the log that are looked at. */
const LINES = 40;

/** A name as environments have them, and the words with which servers say that they lack one. */
const NAME = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/;
const LACKS = /requir|missing|not set|undefined|must be set|must provide|please set|no such env|(?:set|provide|define|need).*environment variable/i;

/** What a server's own words name as missing: `{name, line}`. */
export async function complaint(server, entry) {
  const { lines } = await ask(query(`servers/${part(server)}/logs`, { lines: LINES })).catch(() => ({ lines: [] }));
  const texts = lines.map((line) => logLine(line)[1]);
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

/** A form for what is lacking, or nothing. `act(word, doIt)` does it and shows what came of it, and `doing` what is under way; a changed entry
 * restarts by itself, which `begun` waits for. */
export function fixForm(name, details, { said_, absent: away }, act, { doing, restart, begun }) {
  const missing = details.missing?.[0];
  const { server: one, entry } = details;
  const isFailed = hasFailed(one) && !one.unusable && entry;
  const isUnreached = isFailed && one.transport !== "stdio" && one.step?.do === "fix_entry";
  const hasRun = isFailed && one.transport === "stdio" && RAN.includes(one.step?.do);
  const wanted = missing ? asked(name, entry, missing, one.reason, details.missing) : away ? inCommand(entry, away) : said_ ? inEnv(name, said_) : isUnreached ? inUrl(one, entry) : hasRun ? inCommand(entry, null, one) : null;
  if (!wanted) return null;
  const box = (id, kind, value, more = {}) => h(`${kind}.mono`, { id, spellcheck: "false", autocomplete: "off", "data-kept": "", value, ...more });
  const field = box("fix-value", "input", wanted.value ?? "", { type: wanted.secret ? "password" : "text", "aria-describedby": "fix-hint", on: { input: ({ target }) => target.setCustomValidity("") } });
  const args = wanted.args ? box("fix-args", "textarea", undefined, { rows: Math.min(6, Math.max(2, wanted.args.length)) }) : null;
  if (args) args.value = wanted.args.join("\n");
  const submit = (event) => {
    event.preventDefault();
    const [given, lines, isPlain] = ["fix-value", "fix-args", "fix-plain"].map((id) => document.getElementById(id));
    const value = wanted.secret ? given.value : given.value.trim();
    if (!value.trim()) {
      given.setCustomValidity("Nothing was saved: enter a value.");
      return given.reportValidity();
    }
    return act("Saving…", async () => {
      const isKept = wanted.secret && !isPlain?.checked;
      if (isKept) await put(`secrets/${part(wanted.secret)}`, { value });
      const change = wanted.change?.(isKept ? `\${keyring:${wanted.secret}}` : value, lines?.value.split("\n").filter((line) => line.trim()));
      if (change) await patch(`servers/${part(name)}`, change);
      // One that waits for approval or for another value is not started.
      if (!waits) await (change ? begun : restart)();
    });
  };
  const shown = wanted.secret ? h("label", h("input", { type: "checkbox", id: "fix-plain", "data-kept": "" }), " This is not a secret: write it into the entry") : null;
  const waits = one.quarantined || details.missing?.length > 1;
  const verb = waits ? "Save" : wanted.label === "URL" ? "Save and try again" : missing ? "Save and start" : "Save and restart";
  return h(`form.fix${doing ? ".work" : missing ? ".warn" : ""}`, { "aria-label": wanted.secret ? wanted.name : `Correct the ${wanted.label === "URL" ? "URL" : "command"}`, "data-key": `fix ${wanted.label}`, on: { submit } },
    h("p", { role: "status" }, doing ? state("work", doing) : missing ? state("auth", wanted.title) : h("b", wanted.title)),
    wanted.said && !doing ? h("p.said", said(wanted.said)) : null,
    h("div.line", h("div.field", h("label.mono", { for: "fix-value" }, said(wanted.label)), field),
      args ? h("div.field", h("label", { for: "fix-args" }, "Arguments ", h("span.dim", "one per line")), args) : null,
      doing ? null : h("button.btn.primary", { type: "submit" }, verb)),
    wanted.secret && wanted.change ? shown : null,
    // Another command is looked for when its field is left.
    args ? h("div", { "data-kept": "", id: "fix-there" }, commandCheck(field, () => ({ command: field.value.trim(), cwd: entry.cwd, path: entry.env?.PATH })).node) : null,
    h("p.hint", { id: "fix-hint" }, wanted.hint ?? (wanted.change ? [`mcpproxy stores it in ${vault()} as `, h("code", said(wanted.secret)), " and writes a reference into the entry."] : `mcpproxy stores it in ${vault()}. The entry already has a reference to it.`)));
}

/** Steps after which a program was there, ran, and ended. */
const RAN = ["read_log", "run_by_hand"];

function asked(server, entry, { kind, name, key }, reason, all) {
  if (kind === "secret") return { name: `Needs a secret: ${name}`, title: [capital(reason ?? `Needs a secret: ${name}`)], label: name, secret: name };
  const written = key.split(".").reduce((value, each) => value?.[each], entry);
  const reference = new RegExp(`\\$\\{(?:env:)?${name}(?::-[^}]*)?\\}`, "g");
  const [list, member, ...rest] = key.split(".");
  if (typeof written !== "string" || !reference.test(written) || rest.length || !["env", "headers"].includes(list)) return null;
  const title = `Needs ${all.map((each) => `the ${each.kind} ${each.name}`).join(" and ")}`;
  return { name: title, title, label: name, secret: `${server}-${name}`, change: (value) => ({ [list]: { [member]: written.replace(reference, () => value) } }) };
}

const EXITED = "The server exited on start and wrote:";

const inEnv = (server, { name, line }) => ({ name: EXITED, title: EXITED, said: line, label: name, secret: `${server}-${name}`, change: (value) => ({ env: { [name]: value } }) });

function inUrl({ reason, step: { how } }, entry) {
  if (!entry.url || /\*\*\*/.test(entry.url)) return null;
  return { title: [capital(reason), "."], label: "URL", value: entry.url, hint: how ? [capital(how), "."] : "Correct the URL.", change: (value) => ({ url: value }) };
}

/** The command that is not here, or that ran and ended: then its arguments may be what is wrong. */
function inCommand(entry, away, ran) {
  const { command, args = [] } = entry;
  const hint = ran ? [ran.step.do === "run_by_hand" ? "The server wrote no log. Correct" : [h("a.u", { href: "#log" }, "Read its log"), " below, then correct"], " the command or its arguments."] : away.closest ? ["The closest command on this machine is ", h("code", said(away.closest)), "."] : "Correct the command, or install it.";
  const same = (lines) => lines.join("\n") === args.join("\n");
  return { title: [capital(ran?.reason ?? away.reason ?? `\`${command}\` not found`), "."], label: "Command", value: away?.closest ?? command, args, hint, change: (value, lines) => (value === command && same(lines) ? null : { command: value, ...(same(lines) ? {} : { args: lines }) }) };
}
