// What is shown while nothing is configured: three ways to give it servers, how clients connect, and the first call as it comes.

import { h, icon } from "./dom.js";
import { live } from "./live.js";
import { command, go } from "./parts.js";
import { asker, thing } from "./records.js";
import { said, took } from "./words.js";

const CLIENTS = [["Claude Code", "claude-code"], ["Cursor", "cursor"], ["VS Code", "vscode"], ["Codex", "codex"], ["Gemini CLI", "gemini-cli"]];

export function firstRun(frame, calls) {
  const way = (id, title, text, act, line) => h("section", { "aria-labelledby": id }, h("h3", { id }, title), h("p.soft", text), h("p", act), command(line));

  function firstCall() {
    const [call] = calls.rows();
    if (!call) return h("p.wait", icon("s-work", true), "Waiting for a client to ask for tools. This line becomes the call.");
    return h("p", icon("s-ready"), " ", h("a", { href: `/ui/activity/${call.id}` }, h("code", said(thing(call)))), ` by ${asker(call) || "a client"}, ${took(call.duration_us)}`);
  }

  return {
    async load() {},
    render() {
      const url = live.status?.url;
      return [
        h("div.hero", h("h1", "mcpproxy is running and has no servers yet"),
          h("p.soft", "Give it servers once, connect each client once. Agents then search all tools through one address instead of loading every definition.")),
        h("h2.sec", h("span.n", "1"), "Give it servers, in one of three ways"),
        h("div.ways",
          way("w1", "Import", "Takes what your clients have already. You choose; their files stay as they are.", go("How to import", "/ui/add#import"), "mcpproxy import"),
          way("w2", "Add by hand", "A command on this machine or a URL. You see the JSON entry before it is written.", go("Add a server", "/ui/add", "btn primary"), "mcpproxy upstream add NAME -- COMMAND"),
          way("w3", "Try the demo", "A built-in server with harmless tools. Nothing is downloaded; it goes when the daemon is started without it.", h("span.dim", "Start the daemon like this:"), "mcpproxy serve --demo")),
        h("section.sec", { "aria-labelledby": "cn-h" },
          h("header", h("h2", { id: "cn-h" }, h("span.n", "2"), "Connect your clients"), h("p", "each file is backed up first, and --dry-run shows the change")),
          h("table.rows.fold", { role: "table" },
            h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, "Client"), h("th", { role: "columnheader", scope: "col" }, "Command"))),
            h("tbody", { role: "rowgroup" }, CLIENTS.map(([name, id]) => h("tr", { role: "row" }, h("th.grow", { role: "rowheader", scope: "row" }, name), h("td.full", { role: "cell" }, h("code", `mcpproxy connect ${id}`)))))),
          h("p.hint", "Any other client: ", url ? ["Streamable HTTP at ", h("code", url), ", or "] : null, h("code", "mcpproxy stdio"), " as its command.")),
        h("section.sec", { "aria-labelledby": "fc-h", "aria-live": "polite" }, h("header", h("h2", { id: "fc-h" }, h("span.n", "3"), "See the first call")), firstCall()),
      ];
    },
  };
}
