// The fields of an entry. `entryForm` gives `{node, read, first}`: `read(isStrict)` gives the entry and what is to be corrected.

import { addressCheck, commandCheck } from "./command_check.js";
import { fill, h, icon } from "./dom.js";
import { durationFault, freeName, keyFault, looksSecret, nameFault, schemeOf, secretName, urlFault } from "./entry.js";
import { checked } from "./leaving.js";
import { button } from "./parts.js";
import { vault } from "./vault.js";
import { said } from "./words.js";

let ids = 0;

/** A control with label and message. */
function field(label, control, { aside, hint, check = () => "" } = {}) {
  ids += 1;
  const id = `e-${ids}`;
  const message = h("p.hint.bad", { id: `${id}-e`, hidden: true });
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-e`);
  const tell = (wrong) => {
    const text = typeof wrong === "string" ? wrong : wrong.fault ?? "";
    message.hidden = !text;
    fill(message, text ? [icon("s-err"), h("span", text, wrong.mend ? [" ", wrong.mend] : null)] : null);
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
    return text;
  };
  checked(control, () => tell(check(control.value)));
  return {
    node: h("div.field", h("label", { for: id }, label, aside ? h("span.dim", aside) : null), control, message, hint ? (hint instanceof Node ? hint : h("p.hint", hint)) : null),
    control,
    label,
    fault: () => check(control.value),
    check: () => tell(check(control.value)),
  };
}

const text = (value, attributes = {}) => {
  const input = h("input.mono", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
  input.value = value ?? "";
  return input;
};

const area = (value, rows) => {
  const input = h("textarea.mono", { rows, spellcheck: "false" });
  input.value = value ?? "";
  return input;
};

const choice = (value, options) => h("select.mono", options.map(([key, word]) => h("option", { value: key, selected: key === (value ?? "") }, word)));

const linesOf = (value) => value.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line !== "");

/** Variables or headers: name and value, as many as there are. */
function pairs(legend, given, { isHeader, serverName, takenSecrets, changed }) {
  const rows = [];
  const box = h("div");
  const secret = h("div", { role: "status" });
  const word = isHeader ? "header" : "variable";
  function add(key = "", value = "", focus = false) {
    const row = { key: text(key, { "aria-label": `Name of ${word} ${rows.length + 1}` }), value: text(value, { "aria-label": `Value of ${key || `${word} ${rows.length + 1}`}` }) };
    const out = h("button.iconbtn", { type: "button", "aria-label": `Remove ${key || word}`, on: { click: () => { rows.splice(rows.indexOf(row), 1); row.node.remove(); more.focus(); changed(); } } }, icon("x"));
    row.message = h("p.hint.bad", { hidden: true });
    row.node = h("div", h("div.env", row.key, row.value, out), row.message);
    row.key.addEventListener("input", () => row.value.setAttribute("aria-label", `Value of ${row.key.value || word}`));
    rows.push(row);
    box.append(row.node);
    if (focus) row.key.focus();
  }
  const more = button(`Add a ${word}`, () => add("", "", true), "link");
  for (const [key, value] of Object.entries(given ?? {})) add(key, String(value));
  const isKept = (row) => !row.isPlain && looksSecret(row.key.value, row.value.value);
  /** What goes into the keyring, each under a name of its own: nothing is stored over another secret, nor over one of this form. */
  function kept() {
    const names = new Set(takenSecrets);
    return new Map(rows.filter(isKept).map((row) => {
      const name = freeName(secretName(serverName(), row.key.value), names);
      names.add(name);
      return [row, name];
    }));
  }
  /** What looks like a secret goes into the keyring, unless that is not wanted. */
  function advise() {
    const found = rows.filter((row) => looksSecret(row.key.value, row.value.value));
    fill(secret, found.map((row) => {
      const turn = () => { row.isPlain = !row.isPlain; changed(); };
      return storing(`${row.key.value} looks like a secret`, row.isPlain, turn);
    }));
  }
  return {
    node: h("fieldset.field", h("legend", legend), box, secret, h("p.hint", more)),
    advise,
    read() {
      const names = kept();
      return Object.fromEntries(rows.filter((row) => row.key.value || row.value.value).map((row) => [row.key.value, names.has(row) ? `${schemeOf(row.value.value)}\${keyring:${names.get(row)}}` : row.value.value]));
    },
    secrets: () => [...kept()].map(([row, name]) => ({ name, value: row.value.value.slice(schemeOf(row.value.value).length) })),
    check() {
      let first = null;
      const seen = new Set();
      for (const row of rows.filter((one) => one.key.value || one.value.value)) {
        const wrong = keyFault(row.key.value, isHeader) || (seen.has(row.key.value) ? "Another row has the same name" : "");
        seen.add(row.key.value);
        row.message.hidden = !wrong;
        fill(row.message, wrong ? [icon("s-err"), wrong] : null);
        if (wrong) row.key.setAttribute("aria-invalid", "true");
        else row.key.removeAttribute("aria-invalid");
        if (wrong) first ??= row.key;
      }
      return first;
    },
  };
}

/** What becomes of a value that goes into the keyring, or would, and the way to the other. */
function storing(what, isPlain, turn) {
  return isPlain
    ? h("p.hint", `${what}; saving writes it into the entry in plain text. `, button(`Store it in ${vault()}`, turn, "link"))
    : h("p.hint", `${what}; saving stores it in ${vault()} and writes a reference into the entry. `, button("Keep it in the entry", turn, "link"));
}

/** The secret of an OAuth client, which is one whatever it looks like. */
function clientSecret(given, { serverName, takenSecrets, headers, changed }) {
  let isPlain = false;
  const told = h("div", { role: "status" });
  const one = field("Client secret", text(given), { aside: "or a reference: ${keyring:NAME}", hint: told });
  const typed = () => one.control.value.trim();
  const isSecret = () => typed() !== "" && typed() !== "***" && !typed().includes("${");
  const isKept = () => isSecret() && !isPlain;
  const name = () => freeName(secretName(serverName(), "client_secret"), new Set([...takenSecrets, ...headers.secrets().map((other) => other.name)]));
  return {
    field: one,
    read: () => (isKept() ? `\${keyring:${name()}}` : typed()),
    secrets: () => (isKept() ? [{ name: name(), value: typed() }] : []),
    advise: () => fill(told, isSecret() ? storing("This is a secret", isPlain, () => { isPlain = !isPlain; changed(); }) : null),
  };
}

const MORE = [
  ["idle_timeout", "Sleeps when unused for", ["adaptive", "never"]],
  ["init_timeout", "Connection timeout", []],
  ["call_tool_timeout", "Call timeout without progress", []],
];

/** `name` is that of the entry that is edited, or null; `takenSecrets` are names of secrets that are stored or referred to; `changed` hears of every change. */
export function entryForm({ name, entry, taken, takenSecrets, changed }) {
  const isNew = name === null;
  const known = new Set(["command", "args", "env", "cwd", "url", "headers", "type", "oauth", "quarantined", "start", "session_scope", "tool_changes", "new_tools", "enabled_tools", "disabled_tools", ...MORE.map(([key]) => key)]);
  let isRemote = entry.url !== undefined;
  const nameField = field("Name", text(name ?? entry.name), {
    check(value) {
      const { fault, better } = nameFault(value, taken);
      if (!fault) return "";
      return { fault, mend: better && button(`Use ${better}`, () => { nameField.control.value = better; nameField.check(); changed(); }, "link") };
    },
  });
  const commandText = text(entry.command);
  const there = commandCheck(commandText, () => (isRemote || command.fault() ? null : { command: commandText.value.trim(), cwd: cwd.control.value.trim(), path: env.read().PATH }));
  const command = field("Command", commandText, {
    hint: there.node,
    check(value) {
      const line = value.trim();
      if (!line) return "A command is required, such as npx or uvx";
      // A path of a program may have blanks.
      return /^[^\s\\/]+\s/.test(line) ? { fault: "Enter only the command here, and its arguments below, one per line", mend: button("Split it", () => split(line), "link") } : "";
    },
  });
  /** A command line as people type it: the program, and its arguments before those that are there. */
  function split(line) {
    const [program, ...rest] = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
    commandText.value = program;
    args.control.value = [...rest, ...linesOf(args.control.value)].join("\n");
    command.check();
    there.look();
    changed();
  }
  const args = field("Arguments", area((entry.args ?? []).join("\n"), 3), { aside: "one per line, never split by a shell" });
  const env = pairs("Environment", entry.env, { isHeader: false, serverName: () => nameField.control.value, takenSecrets, changed });
  const cwd = field("Working folder", text(entry.cwd), { aside: "the home folder if empty" });
  const urlText = text(entry.url);
  const url = field("URL", urlText, { hint: addressCheck(urlText).node, check: urlFault });
  const kind = field("Transport", choice(["sse", "auto"].includes(entry.type) ? entry.type : "", [["", "Streamable HTTP"], ["auto", "detected automatically"], ["sse", "HTTP+SSE, the older transport"]]));
  const headers = pairs("Headers", entry.headers, { isHeader: true, serverName: () => nameField.control.value, takenSecrets, changed });
  const oauth = entry.oauth ?? {};
  const own = clientSecret(oauth.client_secret, { serverName: () => nameField.control.value, takenSecrets, headers, changed });
  const oauthFields = [
    ["client_id", field("Client id", text(oauth.client_id), { aside: "registered automatically if empty" })],
    ["client_secret", own.field],
    ["scopes", field("Scopes", text([oauth.scopes ?? []].flat().join(" ")), { aside: "separated by spaces" })],
    ["redirect_uri", field("Redirect URL", text(oauth.redirect_uri), { aside: "only if the server needs a fixed one", check: (value) => (value ? urlFault(value) : "") })],
  ];
  const more = MORE.map(([key, label, words]) => [key, field(label, text(entry[key]), { aside: words.length ? words.join(", ") : "such as 30s or 2m", check: (value) => durationFault(value.trim(), words) })]);
  const start = field("Started", choice(entry.start, [["", "when it is needed"], ["eager", "with the daemon, and stays connected"]]));
  const scope = field("Shared by", choice(entry.session_scope, [["", "all clients, unless it asks them questions"], ["shared", "all clients, always"], ["client", "no clients: each has its own instance"], ["workspace", "clients with the same folders"]]));
  const changes = field("Changed tools", choice(entry.tool_changes, [["", "are held until you approve them"], ["allow", "are accepted unreviewed"]]));
  const fresh = field("New tools", choice(entry.new_tools, [["", "as for all servers"], ["hold", "are held until you approve them"], ["allow", "are usable at once"]]));
  const only = field("Only these tools", area((entry.enabled_tools ?? []).join("\n"), 2), { aside: "one per line, * for any characters; all if empty" });
  const not = field("All but these tools", area((entry.disabled_tools ?? []).join("\n"), 2), { aside: "one per line" });
  const trust = ["start", "hold"].map((value) => h("input", { type: "radio", name: "trust", value, checked: value === "start" }));

  const stdioPart = h("div", args.node, env.node);
  const remotePart = h("div", kind.node, headers.node, h("details.field", { open: Object.keys(oauth).length > 0 }, h("summary", "Login ", h("span.dim", "rarely needed: most servers say where to log in")), h("div", oauthFields.map(([, one]) => one.node))));
  const kindOf = (value, word) => h("label", h("input", { type: "radio", name: "kind", value, checked: (value === "url") === isRemote, on: { change: () => { isRemote = value === "url"; turn(); changed(); } } }), word);
  function turn() {
    stdioPart.hidden = isRemote;
    cwd.node.hidden = isRemote;
    remotePart.hidden = !isRemote;
    command.node.hidden = isRemote;
    url.node.hidden = !isRemote;
  }
  turn();

  const node = h("div",
    h("fieldset.field", h("legend", "Kind"), h("span.seg", kindOf("stdio", "a command on this machine"), kindOf("url", "a URL"))),
    h("div.pair", isNew ? nameField.node : h("div.field", h("span.label", "Name"), h("p.mono.fixed", said(name))), command.node, url.node),
    stdioPart, remotePart,
    isNew ? h("fieldset.field", h("legend", "When added"),
      h("label.radio", trust[0], h("span", "Offer its tools at once ", h("span.dim", "if you trust the server"))),
      h("label.radio", trust[1], h("span", "Quarantine it ", h("span.dim", "agents cannot use it until you approve it")))) : null,
    h("details.field", h("summary", "Timing, working folder, sharing, tools ", h("span.dim", isNew ? "all at their defaults" : "")), h("div", cwd.node, h("div.pair", more.map(([, one]) => one.node), start.node, scope.node, changes.node, fresh.node), only.node, not.node)));
  node.addEventListener("input", changed);
  // What else says where it is looked for.
  cwd.control.addEventListener("change", there.look);
  env.node.addEventListener("change", there.look);

  /** The entry as the fields say it, with what they do not know of kept. */
  function read() {
    const kept = Object.fromEntries(Object.entries(entry).filter(([key]) => !known.has(key) && key !== "name"));
    const now = isRemote ? remote() : { command: command.control.value.trim(), args: linesOf(args.control.value), env: env.read(), cwd: cwd.control.value.trim() };
    for (const [key, one] of more) now[key] = one.control.value.trim();
    Object.assign(now, { start: start.control.value, session_scope: scope.control.value, tool_changes: changes.control.value, new_tools: fresh.control.value, enabled_tools: linesOf(only.control.value), disabled_tools: linesOf(not.control.value) });
    if (isNew && trust[1].checked) now.quarantined = true;
    if (!isNew && entry.quarantined !== undefined) now.quarantined = entry.quarantined;
    return { ...now, ...kept };
  }

  function remote() {
    const arranged = {};
    for (const [key, one] of oauthFields) {
      const value = one.control.value.trim();
      if (value) arranged[key] = key === "scopes" ? value.split(/[\s,]+/) : key === "client_secret" ? own.read() : value;
    }
    for (const [key, value] of Object.entries(oauth)) if (!oauthFields.some(([one]) => one === key)) arranged[key] = value;
    return { url: url.control.value.trim(), type: kind.control.value, headers: headers.read(), oauth: arranged };
  }

  return {
    node,
    name: () => (isNew ? nameField.control.value.trim() : name),
    read,
    /** What goes into the keyring: `{name, value}`. */
    secrets: () => (isRemote ? [...headers.secrets(), ...own.secrets()] : env.secrets()),
    advise() {
      env.advise();
      headers.advise();
      own.advise();
    },
    /** What is to be corrected, by label; the first of it gets the focus. */
    check() {
      const fields = [isNew ? nameField : null, isRemote ? url : command, ...more.map(([, one]) => one), ...(isRemote ? oauthFields.map(([, one]) => one) : [])].filter(Boolean);
      const wrong = fields.filter((one) => one.check());
      const pair = isRemote ? headers.check() : env.check();
      const first = wrong[0]?.control ?? pair;
      first?.closest("details")?.setAttribute("open", "");
      first?.focus();
      return [...wrong.map((one) => one.label), ...(pair ? [isRemote ? "Headers" : "Environment"] : [])];
    },
  };
}
