// The form to call a tool: fields or JSON, the call itself, and the same as a command.

import { Failure, askCall } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { isMap, quoted } from "./entry.js";
import { write, written } from "./exact.js";
import { objectFields } from "./fields.js";
import { button, confirm, copy } from "./parts.js";
import { resultSection } from "./result.js";
import { resolved } from "./schema.js";
import { number, said as strange, some, span } from "./words.js";

/** Milliseconds that a call may take here. */
const CALL = 600_000;

/** `about` is `{name, variant, schema, given}`, the last for arguments to begin with; `called` is told after each call. */
export function tryIt({ name, variant, schema, given: first }, called) {
  const root = schema && typeof schema === "object" ? schema : {};
  const form = h("form", { novalidate: true, "aria-labelledby": "try-h", on: { submit } });
  const results = h("div.results", { "data-kept": "" });
  let isJson = false;
  let fields = objectFields(resolved(root, root), undefined, root, 0);
  let area = null;
  let message = null;

  function show(given) {
    const tab = (word, json) => h("button", { type: "button", "aria-pressed": String(isJson === json), on: { click: () => turn(json) } }, word);
    message = h("p.hint.bad", { hidden: true, id: "try-e" });
    if (isJson) area = h("textarea.mono", { rows: 12, spellcheck: "false", "aria-label": "Arguments as JSON", "aria-describedby": "try-e" });
    else fields = objectFields(resolved(root, root), given, root, 0);
    if (isJson) area.value = write(given ?? {}, 2);
    fill(form,
      h("header.bar", h("h2", { id: "try-h" }, "Try it"), h("span.end.seg", { role: "group", "aria-label": "Arguments as" }, tab("Form", false), tab("JSON", true))),
      isJson ? h("div.field", area) : fields.isEmpty ? h("p.dim.field", "The tool takes no arguments.") : fields.nodes,
      message,
      h("div.acts", { "data-calls": "" }, submitting(), button("Copy as command", copyCommand)),
      h("p.hint", effect(), " mcpproxy checks and records it like an agent’s call."));
  }

  const submitting = () => h(`button.btn${variant === "destructive" ? ".danger" : ".primary"}`, { type: "submit" }, `Call as ${variant}`);
  const effect = () => ({ read: "This sends a real call to the server.", write: "This call may change something.", destructive: "This call may change or delete something." })[variant] ?? "";

  function tell(text) {
    message.hidden = !text;
    fill(message, text ? [icon("s-err"), text] : null);
    if (isJson && text) area.setAttribute("aria-invalid", "true");
    else if (isJson) area.removeAttribute("aria-invalid");
  }

  /** The arguments, or nothing if something is wrong, which is shown then. */
  function read() {
    tell("");
    if (!isJson) {
      const got = fields.read();
      if (!got.fault) return got.value;
      fields.first();
      const wrong = [...form.querySelectorAll("[aria-invalid='true']")].map((one) => form.querySelector(`label[for="${one.id}"]`)?.firstChild?.textContent).filter(Boolean);
      tell(wrong.length ? `Nothing ran. Correct ${some(wrong, 3)}.` : "Nothing ran. Correct the fields in red.");
      return undefined;
    }
    const { value, fault } = written(area.value);
    if (!fault && isMap(value)) return value;
    tell(fault ?? "Nothing ran. The arguments must be a JSON object: {…}");
    area.focus();
    return undefined;
  }

  /** From fields to JSON and back, with what was filled in. */
  function turn(json) {
    if (json === isJson) return;
    let given;
    if (isJson) {
      given = read();
      if (given === undefined) return;
    } else {
      given = fields.read().value;
    }
    isJson = json;
    show(given);
    form.querySelector(`[aria-pressed="true"]`).focus();
  }

  function submit(event) {
    event.preventDefault();
    const args = read();
    if (args === undefined) return;
    if (variant !== "destructive") return make(args);
    const acts = form.querySelector("[data-calls]");
    const back = () => fill(acts, submitting(), button("Copy as command", copyCommand));
    fill(acts, confirm(`Call ${name}?`, "The call may change or delete something, and you may not be able to undo it.", "Call as destructive", () => { back(); make(args); }, back, "Do not call"));
  }

  /** Makes the call, shows how far it is, and withdraws it where that is asked for. */
  async function make(args) {
    const began = new Date();
    const from = performance.now();
    const stop = new AbortController();
    const said = h("span", "Calling…");
    const passed = h("span.num.dim", { "aria-hidden": "true" });
    const ticking = setInterval(() => fill(passed, span((performance.now() - from) / 1000)), 1000);
    fill(results, h("div.wait.sec", icon("s-work", true), h("span", { role: "status" }, said), passed, button("Cancel", () => stop.abort(), "btn small")));
    const of = { began };
    try {
      const { text, value } = await askCall({ name, variant, arguments: args }, { told: (line) => fill(said, howFar(line) ?? [...said.childNodes]), signal: stop.signal, patience: CALL });
      Object.assign(of, { text, answer: value });
    } catch (failure) {
      if (stop.signal.aborted) of.isWithdrawn = true;
      else if (failure instanceof Failure) of.failure = failure;
      else throw failure;
    } finally {
      clearInterval(ticking);
    }
    of.ms = performance.now() - from;
    fill(results, resultSection(of));
    called();
  }

  function copyCommand() {
    const args = read();
    if (args === undefined) return;
    copy(`mcpproxy call ${variant} ${quoted(name)} --args ${quoted(write(args))}`, "the command");
  }

  show(first);
  return h("aside.rail", { "data-kept": "" }, form, results);
}

/** What a server says of its progress, or in a log line, in words. */
function howFar({ method, params }) {
  if (method === "notifications/progress" && typeof params?.progress === "number") {
    const of = typeof params.total === "number" ? ` of ${number(params.total)}` : "";
    return [`${number(params.progress)}${of} done`, typeof params.message === "string" ? [": ", strange(params.message)] : null];
  }
  if (method === "notifications/message" && typeof params?.data === "string") return strange(params.data.slice(0, 200));
  return undefined;
}
