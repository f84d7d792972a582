// What happens when a trusted server changes a tool or lists a new one, in words: for one server, and for all.

import { part, patch } from "./api.js";
import { h } from "./dom.js";
import { section } from "./parts.js";

const CHANGES = [["hold", "Hold changed tools", "until you approve the new definition"], ["allow", "Accept changed tools", "at once, unreviewed"]];
const NEW = [["hold", "Hold new tools", "until you approve them"], ["allow", "Accept new tools", "at once, unless the scanner finds something dangerous"]];

function choice(legend, name, choices, now, choose) {
  const radio = ([value, word, aside]) => h("label.radio", h("input", { type: "radio", name, value, checked: value === now, "data-key": `${name} ${value} ${now}`, on: { change: () => choose(value) } }), h("span", word, " ", h("span.dim", aside)));
  return h("fieldset.field", h("legend.sr", legend), choices.map(radio));
}

/** Of one server. */
export function trust(server, entry, act) {
  const set = (key, value) => act("Saving…", () => patch(`servers/${part(server)}`, { [key]: value }));
  return section("Trust", h("p", "for this server; saved at once"), h("div.cols.even",
    choice("Changed tools", "changed-tools", CHANGES, entry.tool_changes ?? "hold", (value) => set("tool_changes", value === "hold" ? null : value)),
    choice("New tools", "new-tools", [["", "Treat new tools as for all servers", ["(", h("a.u", { href: "/ui/review" }, "set in Review"), ")"]], ...NEW], entry.new_tools ?? "", (value) => set("new_tools", value || null))));
}

/** Of all servers; `settings` are those of the file. */
export function trustOfAll(settings, act) {
  const save = (value) => act("Saving…", () => patch("config", { changes: [{ path: ["new_tools"], value: value === "allow" ? null : value }] }));
  return section("Trust for all servers", h("p", "a server’s own page can override it"),
    choice("New tools from all servers", "all-new-tools", NEW, settings.new_tools ?? "allow", save),
    h("p.hint", "mcpproxy holds changed tools, unless the page of their server says otherwise."));
}
