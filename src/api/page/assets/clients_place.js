// AI clients: which of them have mcpproxy in their file, and which have come.

import { ask } from "./api.js";
import { clients } from "./clients.js";
import { h } from "./dom.js";
import { copying, section } from "./parts.js";
import { count } from "./words.js";

/** Where clients can connect, and what each address is for. */
const ADDRESSES = [
  ["", "as set in “Tools at /mcp”"],
  ["/call", "search and call: a few tools that find and call all others"],
  ["/all", "every tool in one list"],
  ["/code", "scripts that call tools"],
  ["/proxy", "one tool in front of all others"],
  ["/server/NAME", "one server alone, unchanged"],
  ["/p/PROFILE", "the tools of one profile"],
];

export function clientsPlace(frame) {
  const list = clients(frame);
  let status;

  async function load() {
    [status] = await Promise.all([ask("status"), list.load()]);
  }

  function addresses() {
    if (!status.url) return section("Addresses", null, h("p", "The daemon serves its local socket only; clients start ", h("code", "mcpproxy stdio"), "."));
    const line = ([path, meaning]) => [h("dt", h("code", `${status.url}${path}`), " ", copying("copy", `${status.url}${path}`, "link small")), h("dd", meaning)];
    return section("Addresses", h("p", "the addresses for clients"), h("dl.facts", ADDRESSES.map(line)));
  }

  function render() {
    return [
      h("div.title", h("div", h("h1", "Clients"), h("p.sub", `${count(status.sessions, "session")} open now. Each file is backed up first, and you see the change before it is made.`)), h("div.acts", h("a.btn", { href: "/ui/access" }, "Access"))),
      list.render(),
      addresses(),
    ];
  }

  return { title: "Clients", tab: "clients", waiting: "Looking for clients…", load, refresh: load, render };
}
