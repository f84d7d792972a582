// JSON Schema as strangers write it: what type something has, what it must be like, and whether a value is. Pure.

import { isNumber, isWhole, write } from "./exact.js";
import { count, number } from "./words.js";

/** Limit: references that are followed to one schema. */
const REFERENCES = 8;

/** The schema that `$ref` names within `root`, or itself. */
export function resolved(schema, root) {
  let at = schema;
  for (let i = 0; i < REFERENCES && at && typeof at.$ref === "string"; i += 1) {
    if (!at.$ref.startsWith("#/")) return {};
    const steps = at.$ref.slice(2).split("/").map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
    const found = steps.reduce((inside, step) => (inside && Object.hasOwn(inside, step) ? inside[step] : undefined), root);
    const { $ref: _, ...beside } = at;
    at = found && typeof found === "object" ? { ...found, ...beside } : {};
  }
  return at && typeof at === "object" ? optional(at) : {};
}

/** `anyOf` of one thing and null is that thing. */
function optional(schema) {
  const choices = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(choices)) return schema;
  const real = choices.filter((one) => one && one.type !== "null");
  if (real.length !== 1 || choices.length !== 2) return schema;
  const { anyOf: _, oneOf: __, ...rest } = schema;
  return { ...real[0], ...rest, [NULL]: true };
}

/** Marks a schema as one of something or null. */
const NULL = Symbol("null");

/** Whether the value may be null, too. */
export const isNullable = (schema) => schema[NULL] === true || (Array.isArray(schema.type) && schema.type.includes("null"));

/** The one type that a schema is of, or undefined. */
export function typeOf(schema) {
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string")) return "enum";
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== "null");
  if (types.length !== 1) return schema.properties ? "object" : undefined;
  return types[0];
}

/** Limit: lists within lists that are named; a list may be one of itself. */
const LISTS = 3;

/** A type in one word: `string[]`. */
export function typeWord(schema, root, lists = LISTS) {
  const at = resolved(schema, root);
  const type = typeOf(at);
  if (type === "array") return `${at.items && lists > 1 ? typeWord(at.items, root, lists - 1) : "any"}[]`;
  if (type) return type;
  return Array.isArray(at.type) ? at.type.join(" or ") : "any";
}

/** A bound as it is written where a browser would write another one. */
const bound = (n) => (typeof n === "number" ? number(n) : String(n));

/** From one number to another: `1 to 3 items`, `at least 1 item`. */
const range = (least, most, units) => {
  const unit = Number(most ?? least) === 1 ? units.replace(/s$/, "") : units;
  if (least !== undefined && most !== undefined) return `${bound(least)} to ${bound(most)}${unit}`;
  if (least !== undefined) return `at least ${bound(least)}${unit}`;
  return most !== undefined ? `at most ${bound(most)}${unit}` : "";
};

const numeric = (value) => (isNumber(value) ? value : undefined);

/** What a value must be like, in words. */
export function limits(schema) {
  const type = typeOf(schema);
  const words = [];
  if (Array.isArray(schema.enum)) words.push(schema.enum.map((one) => (typeof one === "string" ? one : write(one))).slice(0, 12).join(", "));
  if (type === "string") words.push(range(numeric(schema.minLength), numeric(schema.maxLength), " characters"));
  if (type === "integer" || type === "number") words.push(range(numeric(schema.minimum), numeric(schema.maximum), ""));
  if (type === "array") words.push(range(numeric(schema.minItems), numeric(schema.maxItems), " items"), schema.uniqueItems === true ? "all different" : "");
  if (typeof schema.format === "string") words.push(schema.format);
  if (typeof schema.pattern === "string") words.push(`matches ${schema.pattern}`);
  if (schema.const !== undefined) words.push(`always ${write(schema.const)}`);
  if (schema.default !== undefined) words.push(`default ${write(schema.default)}`);
  return words.filter(Boolean).join("; ");
}

/** What is wrong with a scalar, or nothing: bounds are compared as a browser can, and the server compares them again. A stranger's pattern is not run: it may take forever. */
export function fault(schema, value) {
  const type = typeOf(schema);
  const length = typeof value === "string" ? [...value].length : 0;
  const low = (bound) => numeric(bound) ?? -Infinity;
  const high = (bound) => numeric(bound) ?? Infinity;
  if (type === "string" && (length < low(schema.minLength) || length > high(schema.maxLength))) return `The text has ${count(length, "character")}; it must have ${range(numeric(schema.minLength), numeric(schema.maxLength), "")}`;
  if (type === "integer" && !isWhole(value)) return "Enter a whole number";
  if (type === "number" && Number.isNaN(value)) return "Enter a number";
  if ((type === "integer" || type === "number") && (value < low(schema.minimum) || value > high(schema.maximum))) return `The number must be ${range(numeric(schema.minimum), numeric(schema.maximum), "").replace(/^(?!at )/, "from ")}`;
  return "";
}
