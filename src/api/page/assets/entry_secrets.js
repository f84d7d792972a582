// Secrets that are typed into the form of an entry: which names are taken, that each is there before what refers to it, and that none is
// left behind. What is typed stays in this page until it is stored.

import { Failure, part, put, remove } from "./api.js";
import { h } from "./dom.js";
import { isMap } from "./entry.js";
import { secrets as listed } from "./vault.js";
import { said } from "./words.js";

export function entrySecrets() {
  // Names of secrets that are stored or referred to: a new one gets another.
  const taken = new Set();
  // Values by the name that stands for them where the entry is written as JSON.
  const typed = new Map();
  // What was stored for an entry of which nobody knows whether it is written.
  let left = [];

  /** Which names are taken. A keyring that cannot be asked says so when something is stored in it. */
  async function know() {
    try {
      for (const { name } of await listed()) taken.add(name);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
    }
  }

  /** Saves an entry: values that it refers to are there before it is, and are taken out again where it was refused. */
  async function store(secrets, save) {
    const stored = [];
    left = [];
    try {
      for (const { name, value } of secrets) {
        await put(`secrets/${part(name)}`, { value, new: true });
        stored.push(name);
      }
      await save();
    } catch (failure) {
      // Where no answer came the entry may yet be written, and refers to them.
      const isGone = !(failure instanceof Failure) || failure.isGone;
      left = isGone || !(await takeOut(stored)) ? stored : [];
      // Somebody took a name meanwhile: the next attempt has another.
      await know();
      throw failure;
    }
  }

  /** Takes secrets out again that nothing refers to. Whether that could be done: why the entry was refused is told first. */
  async function takeOut(names) {
    try {
      const known = names.length ? await listed() : [];
      for (const { name, used_by } of known) if (names.includes(name) && !used_by.length) await remove(`secrets/${part(name)}`);
      return true;
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      return false;
    }
  }

  const reference = (name) => `\${keyring:${name}}`;

  /** Keeps what was typed, for references stand in its place from now on. */
  function remember(secrets) {
    for (const { name, value } of secrets) typed.set(name, value);
  }

  /** An entry with what was typed in the place of references to what is not stored yet. */
  function restored(entry) {
    const whole = (value) => [...typed].reduce((text, [name, secret]) => text.replace(reference(name), () => secret), value);
    const values = (map) => Object.fromEntries(Object.entries(map).map(([key, value]) => [key, typeof value === "string" ? whole(value) : value]));
    const maps = ["env", "headers", "oauth"].filter((list) => isMap(entry[list])).map((list) => [list, values(entry[list])]);
    return { ...entry, ...Object.fromEntries(maps) };
  }

  /** What of it an entry refers to that is written as JSON. */
  function among(entry) {
    const text = JSON.stringify(entry);
    return [...typed].filter(([name]) => text.includes(reference(name))).map(([name, value]) => ({ name, value }));
  }

  /** What may be in the keyring although nothing refers to it. */
  const leftOver = () => (left.length ? h("p.hint", "Secrets of this entry may still be stored: ", h("code", said(left.join(", "))), ". ", h("code", "mcpproxy secret remove NAME"), " removes one.") : null);

  return { taken, know, store, remember, restored, among, leftOver };
}
