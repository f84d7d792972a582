// The variables and headers of a server, each changed where it stands: a value, a reference, or a move of what is there to the keyring.

import { part, patch, post, put } from "./api.js";
import { h } from "./dom.js";
import { freeName, looksSecret, schemeOf, secretName } from "./entry.js";
import { button, cell, head, row, section, state, table } from "./parts.js";
import { secrets, vault } from "./vault.js";
import { said } from "./words.js";

/** `act(word, doIt, undo)` does it and shows what came of it; the server restarts by itself when its entry changes. */
export function variables(server, frame, act) {
  let open = null;
  // A second click says nothing new.
  const moving = new Set();
  const path = `servers/${part(server)}`;

  const close = () => { open = null; frame.paint(); };

  async function save(list, key, value) {
    const begin = schemeOf(value);
    if (!looksSecret(key, value)) return patch(path, { [list]: { [key]: value } });
    const taken = new Set((await secrets()).map((one) => one.name));
    const name = freeName(secretName(server, key), taken);
    await put(`secrets/${part(name)}`, { value: value.slice(begin.length), new: true });
    return patch(path, { [list]: { [key]: `${begin}\${keyring:${name}}` } });
  }

  function form(list, key) {
    const isNew = key === "";
    const submit = (event) => {
      event.preventDefault();
      const given = isNew ? document.getElementById("var-name").value.trim() : key;
      const field = document.getElementById("var-value");
      if (!given) return document.getElementById("var-name").focus();
      if (!field.value) return field.focus();
      const value = field.value;
      open = null;
      return act("Saving…", () => save(list, given, value));
    };
    return h("form.line", { "aria-label": isNew ? "New variable" : `Change ${key}`, on: { submit } },
      isNew ? h("div.field.thin", h("label", { for: "var-name" }, "Name"), h("input.mono", { type: "text", id: "var-name", "data-kept": "", spellcheck: "false", autocomplete: "off" })) : null,
      h("div.field", h("label", { for: "var-value" }, isNew ? "Value" : ["New value of ", h("code", said(key))]), h("input.mono", { type: "password", id: "var-value", "data-kept": "", autocomplete: "off" })),
      h("button.btn.primary", { type: "submit" }, "Save"), button("Cancel", close));
  }

  const edit = (id) => { open = id; frame.paint(); document.getElementById(id.endsWith(".") ? "var-name" : "var-value")?.focus(); };

  const enter = (key) => button("Enter it", () => document.getElementById("fix-value")?.focus(), "btn small", { "aria-label": `Enter it: ${key}` });
  const absent = (key) => row(`lacks ${key}`, [head("mono", said(key)), cell("full", state("err", "missing")), cell("act", enter(key))]);

  function line(list, key, value, isUnset) {
    const id = `${list}.${key}`;
    const isMasked = value === "***" || /^(?:Bearer|Basic|Token) \*\*\*$/i.test(value);
    const without = () => act("Removing…", () => patch(path, { [list]: { [key]: null } }));
    const move = () => {
      if (moving.has(id)) return;
      moving.add(id);
      act("Moving…", () => post(`${path}/keyring`, { place: id }).finally(() => moving.delete(id)));
    };
    return [
      row(id, [
        head("mono", said(key)),
        cell("full", isMasked ? h("span.dim", "a secret in the file, hidden here") : [h("code", said(String(value))), isUnset ? [" ", state("auth", isUnset.kind === "secret" ? "not stored yet" : "not set")] : null]),
        cell("act", isUnset ? [enter(key), " "] : null, isMasked ? [button(`Move to ${vault()}`, move, "btn small", { "aria-label": `Move to ${vault()}: ${key}` }), " "] : null,
          button("Change", () => edit(id), "btn small", { "aria-label": `Change ${key}` }), " ", button("Remove", without, "btn small", { "aria-label": `Remove ${key}` })),
      ]),
      open === id ? h("tr.open", { role: "row", "data-key": `open ${id}` }, h("td", { role: "cell", colspan: "3" }, form(list, key))) : null,
    ];
  }

  /** With names that the server says it lacks, and places of values that refer to what is not stored. */
  function render(entry, lacking, unset) {
    const list = entry.url === undefined ? "env" : "headers";
    const all = Object.entries(entry[list] ?? {});
    const title = list === "env" ? "Variables" : "Headers";
    return section(title, h("p", all.length ? "secrets are hidden; each change restarts the server" : "none"),
      all.length + lacking.length ? table("fold", [["Name"], ["Value"], ["Action", "", true]], [lacking.map(absent), all.map(([key, value]) => line(list, key, value, unset.find((one) => one.key === `${list}.${key}`)))]) : null,
      open === `${list}.` ? form(list, "") : h("p.acts", button(list === "env" ? "Add a variable" : "Add a header", () => edit(`${list}.`))));
  }

  return { render };
}
