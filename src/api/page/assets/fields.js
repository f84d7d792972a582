// Fields of a form, made from a JSON Schema: texts, numbers, choices, objects within objects, lists of anything. What no field fits is
// written as JSON. A field is `{node, read, first}`: `read()` gives `{value}` (absent if not sent) or `{fault}` and shows it, `first()`
// focuses what is wrong.

import { fill, h, icon } from "./dom.js";
import { isMap } from "./entry.js";
import { isNumber, typed, write, written } from "./exact.js";
import { checked } from "./leaving.js";
import { button } from "./parts.js";
import { fault, isNullable, limits, resolved, typeOf } from "./schema.js";
import { capital, said } from "./words.js";

/** Limit: objects within objects that have fields; deeper ones are written as JSON. */
const DEEPEST = 5;

/** Limit: properties of one object that have fields, and fields of one form. The others are written as JSON. */
const WIDEST = 100;
const MOST = 300;

/** Fields that the form which is being made may still have. */
let left = MOST;

const LONG = /body|content|description|text|message|query|sql|script|code|prompt/i;

let ids = 0;

/** A control with its label, its hint, and the message for what is wrong with it. */
function labelled(control, { name, required, hint, aside }) {
  ids += 1;
  const id = `f-${ids}`;
  const message = h("p.hint.bad", { id: `${id}-e`, hidden: true });
  const help = hint ? h("p.hint", { id: `${id}-h` }, hint) : null;
  control.id = id;
  control.setAttribute("aria-describedby", help ? `${id}-e ${id}-h` : `${id}-e`);
  if (required) control.setAttribute("aria-required", "true");
  const optional = [required ? "" : "optional", aside].filter(Boolean).join(", ");
  const node = h("div.field", h("label", { for: id }, said(name), optional ? h("span.dim", optional) : null), control, message, help);
  const tell = (text) => {
    message.hidden = !text;
    fill(message, text ? [icon("s-err"), text] : null);
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  return { node, tell };
}

/** A field with one control. `parse` gives `{value}`, `{}` or `{fault}` for its text. */
function single(control, about, parse) {
  const { node, tell } = labelled(control, about);
  const read = () => {
    const said = control.value;
    const got = said === "" ? (about.required ? { fault: `Required${about.limits ? `: ${about.limits}` : ""}` } : {}) : parse(said);
    tell(got.fault ?? "");
    return got;
  };
  checked(control, read);
  return { node, read, first: () => control.getAttribute("aria-invalid") === "true" && (control.focus(), true) };
}

function parsed(text) {
  const { value, fault } = written(text);
  return fault ? { fault: `${fault} Put text in double quotes.` } : { value };
}

const option = (value, word) => h("option", { value }, said(word));

/** A choice of values, each as it is written as JSON unless it is a text. */
function choice(values, about, given) {
  const word = (value) => (typeof value === "string" ? value : write(value));
  const select = h("select.mono", about.required ? option("", "choose") : option("", "not sent"), values.map((value, i) => option(String(i), word(value))));
  const at = values.findIndex((value) => write(value) === write(given));
  if (at >= 0) select.value = String(at);
  return single(select, about, (i) => ({ value: values[i] }));
}

/** The one value that it may have. It does not make an object one that something was filled in. */
function constant(value, about, given) {
  const field = choice([value], about, given ?? (about.required ? value : undefined));
  field.node.querySelector("select").setAttribute("data-constant", "");
  return field;
}

/** `null` can be given in words where it is one of the types, and no text could be meant by them. */
const orNull = (schema) => (isNullable(schema) ? [null] : []);

function scalar(schema, about, given) {
  const type = typeOf(schema);
  if (type === "enum") return choice(schema.enum, about, given);
  if (type === "boolean") return choice([true, false, ...orNull(schema)], about, given);
  const judged = (value) => {
    const wrong = fault(schema, value);
    return wrong ? { fault: wrong } : { value };
  };
  if (type === "integer" || type === "number") {
    const isNull = isNullable(schema);
    const input = h("input.mono", { type: "text", inputmode: isNull ? undefined : type === "integer" ? "numeric" : "decimal", autocomplete: "off" });
    if (given !== undefined) input.value = String(given);
    return single(input, isNull ? { ...about, aside: "or null" } : about, (text) => (isNull && text.trim() === "null" ? { value: null } : judged(typed(text))));
  }
  const isLong = (schema.maxLength ?? 0) > 200 || LONG.test(about.name) || String(given ?? "").includes("\n");
  const input = isLong ? h("textarea", { rows: 3 }) : h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  if (given !== undefined) input.value = String(given);
  return single(input, about, judged);
}

function asJson(about, given) {
  const input = h("textarea.mono", { rows: 2, spellcheck: "false" });
  if (given !== undefined) input.value = write(given, 1);
  return single(input, { ...about, aside: "as JSON" }, parsed);
}

const TEXTS = ["string", "enum"];
const NUMBERS = ["integer", "number"];

function lines(schema, items, about, given) {
  const input = h("textarea.mono", { rows: 2, spellcheck: "false" });
  if (Array.isArray(given)) input.value = given.join("\n");
  return single(input, { ...about, aside: "one per line" }, (text) => {
    const values = text.split("\n").filter((line) => line.trim() !== "").map((line) => (TEXTS.includes(typeOf(items)) ? line : typed(line)));
    const wrong = values.map((value) => fault(items, value)).find(Boolean);
    if (wrong) return { fault: wrong };
    if (typeOf(items) === "enum" && values.some((value) => !items.enum.includes(value))) return { fault: `Each line must be one of ${items.enum.join(", ")}` };
    return { value: values };
  });
}

/** Whether a field has room for exactly this value: what is not shown whole would be sent otherwise than it was given. */
function fits(schema, type, given, root) {
  if (given === undefined) return true;
  if (given === null) return isNullable(schema) && ["boolean", ...NUMBERS].includes(type);
  switch (type) {
    case "enum": return schema.enum.includes(given);
    case "boolean": return typeof given === "boolean";
    case "integer":
    case "number": return isNumber(given);
    case "string": return typeof given === "string" && given !== "" && !given.includes("\r");
    case "object": return isMap(given) && Object.keys(given).length > 0;
    case "array": return Array.isArray(given) && given.length > 0 && (!isPlain(resolved(schema.items, root)) || given.every((one) => isLine(resolved(schema.items, root), one)));
    default: return false;
  }
}

const isPlain = (items) => [...TEXTS, ...NUMBERS].includes(typeOf(items)) && !isNullable(items);

/** Whether it can stand in a line of its own, and is read there as what it is. */
const isLine = (items, value) => (NUMBERS.includes(typeOf(items)) ? isNumber(value) : typeof value === "string" && value.trim() !== "" && !/[\r\n]/.test(value));

/** A list of things that have fields of their own. */
function list(schema, items, about, given, root, depth) {
  const rows = [];
  const box = h("div");
  const message = h("p.hint.bad", { hidden: true });
  const add = (value, focus) => {
    const field = fieldFor(items, { name: `${about.name} ${rows.length + 1}`, required: true }, value, root, depth + 1);
    const row = { field };
    const out = h("button.iconbtn", { type: "button", "aria-label": `Remove ${about.name} ${rows.length + 1}`, on: { click: () => { rows.splice(rows.indexOf(row), 1); row.node.remove(); more.focus(); } } }, icon("x"));
    row.node = h("div.entry", h("div", field.node), out);
    rows.push(row);
    message.hidden = true;
    box.append(row.node);
    if (focus) row.node.querySelector("input, select, textarea, button")?.focus();
  };
  const more = button(`Add ${about.name}`, () => add(undefined, true), "link");
  if (Array.isArray(given)) for (const one of given) add(one, false);
  const node = h("fieldset.field.nested", h("legend", said(about.name), h("span.dim", about.required ? "a list" : "optional, a list")), about.hint ? h("p.hint", about.hint) : null, box, message, h("p.hint", more));
  return {
    node,
    read() {
      const got = rows.map(({ field }) => field.read());
      const wrong = got.some((one) => one.fault);
      const few = about.required && !rows.length && (schema.minItems ?? 0) > 0;
      message.hidden = !few;
      fill(message, few ? [icon("s-err"), `Add at least ${schema.minItems}`] : null);
      if (wrong || few) return { fault: "a list" };
      return rows.length || about.required ? { value: got.map((one) => one.value) } : {};
    },
    first: () => rows.some(({ field }) => field.first()) || (!message.hidden && (more.focus(), true)),
  };
}

/** The fields of an object. An optional one is sent once something stands in it. */
export function objectFields(schema, given, root, depth) {
  if (depth === 0) left = MOST;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const all = Object.keys(schema.properties ?? {});
  const sorted = [...all.filter((name) => required.has(name)), ...all.filter((name) => !required.has(name))];
  const names = sorted.slice(0, Math.max(1, Math.min(WIDEST, left)));
  left -= names.length;
  // What has no field stays as it was given.
  const others = Object.entries(given ?? {}).filter(([name]) => !names.includes(name));
  const without = all.length - names.length;
  const fields = names.map((name) => [name, fieldFor(schema.properties[name], { name, required: required.has(name) }, given?.[name], root, depth)]);
  return {
    nodes: [fields.map(([, field]) => field.node), without > 0 ? h("p.hint.field", `${without.toLocaleString("en-US")} more parameters have no field here. Enter them as JSON.`) : null],
    isEmpty: names.length === 0,
    read() {
      const value = {};
      let wrong = false;
      const put = (name, one) => Object.defineProperty(value, name, { value: one, enumerable: true, configurable: true, writable: true });
      for (const [name, field] of fields) {
        const got = field.read();
        wrong ||= Boolean(got.fault);
        if ("value" in got) put(name, got.value);
      }
      for (const [name, one] of others) put(name, one);
      return wrong ? { fault: "an object", value } : { value };
    },
    first: () => fields.some(([, field]) => field.first()),
  };
}

function object(schema, about, given, root, depth) {
  const inside = objectFields(schema, given, root, depth + 1);
  const node = h("fieldset.field.nested", h("legend", said(about.name), h("span.dim", about.required ? "an object" : "optional, an object")), about.hint ? h("p.hint", about.hint) : null, inside.nodes);
  const isFilled = () => [...node.querySelectorAll("input, textarea, select:not([data-constant][aria-required])")].some((control) => control.value !== "");
  return {
    node,
    read() {
      if (!about.required && !isFilled()) {
        for (const control of node.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
        return {};
      }
      return inside.read();
    },
    first: inside.first,
  };
}

/** A field for what a schema describes. */
export function fieldFor(schema, { name, required }, given, root, depth = 0) {
  const at = resolved(schema, root);
  // Its choices stand in the field.
  const told = limits(typeOf(at) === "enum" ? { ...at, enum: undefined } : at);
  const text = typeof at.description === "string" ? at.description.split("\n")[0] : "";
  const about = { name, required, limits: told, hint: [said(text), text && told ? (/[.!?:;]$/.test(text.trim()) ? " " : ". ") : "", text ? capital(told) : told] };
  if (!text && !told) about.hint = undefined;
  const type = typeOf(at);
  if (at.const !== undefined && (given === undefined || write(given) === write(at.const))) return constant(at.const, about, given);
  if (at.const !== undefined || !fits(at, type, given, root) || depth > DEEPEST || (left <= 0 && ["object", "array"].includes(type))) return asJson(about, given);
  if (type === "object" && at.properties) return object(at, about, given, root, depth);
  if (type === "array" && at.items && typeof at.items === "object" && !Array.isArray(at.items)) {
    const items = resolved(at.items, root);
    return isPlain(items) ? lines(at, items, about, given) : list(at, items, about, given, root, depth);
  }
  if (["boolean", ...TEXTS, ...NUMBERS].includes(type)) return scalar(at, about, given);
  return asJson(about, given);
}
