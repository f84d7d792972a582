// AI clients: which of them have mcpproxy in their file, and which have come.

import { ask, part } from "./api.js";
import { clients } from "./clients.js";
import { h } from "./dom.js";
import { copying, section } from "./parts.js";
import { count } from "./words.js";

/** Where clients can connect, and what each address is for. */
const ADDRESSES = [
  ["", "the tools chosen by the setting “Tools at /mcp”"],
  ["/call", "a few tools that find and call all others"],
  ["/all", "every tool in one list"],
  ["/code", "a tool that runs scripts, which call the others"],
  ["/proxy", "one tool that lists and calls all others"],
  ["/server/NAME", "one server alone, with its own tool names"],
  ["/p/PROFILE", "the tools of one profile"],
];

export function clientsPlace(frame) {
  const list = clients(frame);
  let status, names = [], profiles = [];

  async function load() {
    const [now, rows, callers] = await Promise.all([ask("status"), ask("servers"), ask("access/callers"), list.load()]);
    [status, names, profiles] = [now, rows.servers.map((one) => one.name), callers.profiles];
  }

  /** The address of each server alone, and of each profile. */
  function servers() {
    const all = [...names.map((name) => `/server/${part(name)}`), ...profiles.map((name) => `/p/${part(name)}`)];
    if (!all.length) return null;
    return h("details.sec", h("summary", `Each server and profile: ${count(all.length, "address", "addresses")}`), h("ul", all.map((path) => h("li", h("code", `${status.url}${path}`), " ", copying("copy", `${status.url}${path}`, "link small")))));
  }

  function addresses() {
    if (!status.url) return section("Addresses", null, h("p", "The daemon has no HTTP address. Clients connect through the command ", h("code", "mcpproxy stdio"), "."));
    const line = ([path, meaning]) => [h("dt", h("code", `${status.url}${path}`), " ", copying("copy", `${status.url}${path}`, "link small")), h("dd", meaning)];
    return section("Addresses", h("p", "the URLs that clients can connect to"), h("dl.facts", ADDRESSES.map(line)), servers());
  }

  function render() {
    return [
      h("div.title", h("div", h("h1", list.summary()), h("p.sub", `${count(status.sessions, "session is", "sessions are")} open. You see each change to a client’s file before mcpproxy makes it. mcpproxy keeps a backup of the file.`)), h("div.acts", h("a.btn", { href: "/ui/access" }, "Access"))),
      list.render(),
      addresses(),
    ];
  }

  return { title: "Clients", tab: "clients", filters: [], waiting: "Looking for clients…", load, refresh: load, render };
}
