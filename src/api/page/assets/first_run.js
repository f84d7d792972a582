// What is shown while nothing is configured: three ways to give it servers, how clients connect, and the first call as it comes.

import { post, remove } from "./api.js";
import { clients } from "./clients.js";
import { h, icon } from "./dom.js";
import { imports, titleOf } from "./imports.js";
import { live } from "./live.js";
import { acting, button, command, failed, go, toast } from "./parts.js";
import { asker, thing } from "./records.js";
import { count, said, took } from "./words.js";

export function firstRun(frame, calls) {
  const others = imports(frame);
  const list = clients(frame);
  let isRead = false;
  const it = acting(frame);

  /** Starts the demo server; nothing is written, and one click takes it away again. */
  const demo = () => it.act("Starting the demo…", async () => {
    await post("demo");
    toast("Started the demo", () => remove("servers/demo").then(frame.soon, frame.soon));
  });

  const way = (id, title, text, act, line) => h("section", { "aria-labelledby": id }, h("h3", { id }, title), h("p.soft", text), h("p", act), command(line));

  /** How much there is to take over, and where. */
  function waiting() {
    const per = new Map();
    for (const { client } of others.open) per.set(client, (per.get(client) ?? 0) + 1);
    if (!per.size) return "Import servers from your clients. Their files have no new servers now.";
    const where = [...per].map(([client, n]) => `${n} in ${titleOf(client)}`).join(", ");
    return `Found ${count(others.open.length, "server")} in your clients’ files: ${where}. You choose which to import, and whether they stay in those files.`;
  }

  function firstCall() {
    const [call] = calls.rows();
    if (!call) return h("p.wait", icon("s-work", true), "Waiting for the first call from a client. It will appear here.");
    return h("p", icon("s-ready"), " ", h("a", { href: `/ui/activity/${call.id}` }, h("code", said(thing(call)))), ` by ${asker(call) || "a client"}, ${took(call.duration_us)}`);
  }

  /** What comes after the servers. */
  function steps() {
    const url = live.status?.url;
    return [
      h("section.sec", { "aria-labelledby": "cn-h" },
        h("header", h("h2", { id: "cn-h" }, h("span.n", "2"), "Connect your clients"), h("p", "you see each change to a client’s file before mcpproxy makes it, and mcpproxy keeps a backup of the file")),
        list.render(),
        h("p.hint", "To connect another client, give it ", url ? ["the URL ", h("code", url), " (Streamable HTTP), or "] : null, "the command ", h("code", "mcpproxy stdio"), ".")),
      h("section.sec", { "aria-labelledby": "fc-h", "aria-live": "polite" }, h("header", h("h2", { id: "fc-h" }, h("span.n", "3"), "See the first call")), firstCall()),
    ];
  }

  return {
    /** Files of others are looked at once, and only where it matters. */
    async load(rows) {
      if (isRead || !rows.every((one) => one.demo)) return;
      isRead = true;
      await Promise.all([others.load(), list.load()]);
    },
    render() {
      const n = others.open.length;
      return [
        h("div.hero", h("h1", "mcpproxy is running and has no servers yet"),
          h("p.soft", "Add each server once and connect each client once. Agents then search all tools through one address instead of loading every definition.")),
        h("h2.sec", h("span.n", "1"), "Add servers in one of three ways"),
        h("div.ways",
          way("w1", "Import", waiting(), n ? go(`Choose from ${count(n, "server")}`, "/ui/add#import", "btn primary") : go("Look again", "/ui/add#import"), "mcpproxy import"),
          way("w2", "Add or paste", "Paste text from a README, choose a known server, or fill in a form.", go("Add a server", "/ui/add", n ? "btn" : "btn primary"), "mcpproxy upstream add NAME -- COMMAND"),
          way("w3", "Try the demo", "A bundled server with harmless tools. It downloads nothing, changes none of your files, and ends with the daemon.", it.doing ? h("span.wait", { role: "status" }, it.doing) : button("Start the demo", demo), "mcpproxy serve --demo")),
        it.failure ? failed(it.failure) : null,
        steps(),
      ];
    },
    steps,
  };
}
