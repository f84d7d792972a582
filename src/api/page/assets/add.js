// Adding servers: from what a page of theirs gives to be pasted, from the known ones, or from clients' files. By hand is a place of its own.

import { Failure, ask, part, post, put, query } from "./api.js";
import { blanks, isSecret } from "./blanks.js";
import { h, icon, kept } from "./dom.js";
import { canCome, imports, offers } from "./imports.js";
import { KNOWN, asText } from "./known.js";
import { acting, button, cell, crumbs, failed, head, row, segments, state, table, toast } from "./parts.js";
import { knowVault } from "./vault.js";
import { capital, count, said } from "./words.js";

/** Servers above which what adds them stays in sight. */
const FEW = 5;

/** Limit: bytes of a file that are read; the daemon takes no more. */
const LONGEST = 1_000_000;

/** Milliseconds of silence before what is typed is read. */
const PAUSE = 300;

export function add(frame) {
  const others = imports(frame);
  let text = "";
  /** What the one server is to be called, where somebody says. */
  let called = "";
  let found = null;
  const it = acting(frame);
  let lacking = "";
  let asking = null;
  let timer;
  const offer = offers(frame, () => found);
  const { open, picked, left, boxes } = offer;
  const blank = blanks("v");
  const checks = new Map();

  const file = h("input", { type: "file", hidden: true, "data-kept": "", "aria-label": "File", on: { change: async () => { const [one] = file.files; if (one) await paste(await one.slice(0, LONGEST).text()); file.value = ""; } } });

  /** Secrets that an entry refers to and nobody stored: each is a field that may stay empty. */
  const lacks = (one) => (one.needs ?? []).filter((need) => !need.is_set && need.kind === "secret");
  const asBlank = ({ name }) => ({ place: `secret.${name}`, text: name });

  async function read() {
    asking?.abort();
    const mine = asking = new AbortController();
    [found, it.failure, lacking] = [null, null, ""];
    if (!text.trim()) return frame.paint();
    try {
      const answer = await post("import/pasted", { text, name: called || undefined }, { signal: mine.signal });
      if (asking !== mine) return;
      found = answer;
      frame.paint();
      await check();
    } catch (error) {
      if (mine.signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      it.failure = error;
    }
    frame.paint();
  }

  /** Whether their commands are there; nothing is started. */
  async function check() {
    checks.clear();
    await Promise.all(open().filter((one) => one.command).map(async ({ name, command }) => {
      const answer = await ask(query("commands", { command })).catch(() => null);
      if (answer?.judged) checks.set(name, answer);
    }));
  }

  /** Puts a text into the field, as if it had been pasted. */
  function paste(given) {
    const field = document.getElementById("paste");
    [text, field.value, called] = [given, given, ""];
    left.clear();
    blank.clear();
    return read();
  }

  async function known(one) {
    await paste(asText(one));
    document.getElementById("found-h")?.scrollIntoView({ block: "nearest" });
    (document.querySelector(".set input") ?? document.querySelector("#pasted .primary"))?.focus();
  }

  async function submit(event) {
    event.preventDefault();
    const chosen = picked();
    // The same once more is no other choice.
    if (it.doing || !chosen.length) return;
    lacking = blank.lacking(chosen);
    if (lacking) return frame.paint();
    const secrets = new Map(chosen.flatMap((one) => lacks(one).map((need) => [need.name, blank.valueOf(one, asBlank(need))])));
    await it.act("Adding…", async () => {
      const body = { servers: chosen.map((one) => one.name), pasted: { text, name: called || undefined }, values: blank.given(chosen), keyring: offer.keeps, quarantined: offer.isHeld };
      const answer = await post("import", body, { patience: 90_000 });
      const added = answer.servers.filter((one) => one.imported).map((one) => one.name);
      // Before that their names would have been taken.
      for (const [name, value] of secrets) if (value && added.length) await put(`secrets/${part(name)}`, { value, new: true });
      const wrong = answer.servers.filter((one) => one.error);
      if (added.length) toast(`Added ${added.length === 1 ? added[0] : count(added.length, "server")}`, () => takeBack(added));
      if (!wrong.length) return frame.visit(added.length > 1 ? "/ui/" : offer.isHeld ? `/ui/review/${part(added[0])}` : `/ui/servers/${part(added[0])}`);
      await read();
      for (const one of wrong) {
        const same = found?.servers.find((other) => other.written_name === one.written_name);
        if (same) same.error = one.error;
      }
    });
  }

  async function takeBack(servers) {
    if (servers.some((name) => location.pathname.includes(`/${part(name)}`))) await frame.visit("/ui/add");
    await post("changes", { verb: "remove", servers }, { patience: 90_000 }).catch(() => {});
    frame.soon();
  }

  function checkOf(one) {
    if (one.error) return h("span.bad", capital(one.error));
    if (one.outcome === "same") return h("span.dim", "same as ", said(one.name ?? ""));
    if (!canCome(one)) return h("span.dim", one.outcome === "ourselves" ? "mcpproxy itself" : capital(one.reason ?? "cannot be used"));
    if (!one.command) return one.warning ? [state("err", "Not reached"), h("div.sub", capital(one.warning), "; ", again())] : h("span.dim", "not contacted until you add it");
    const it = checks.get(one.name);
    if (!it) return null;
    if (it.found) return [state("ready", "Found"), it.file === one.command ? null : h("div.sub", h("code", said(it.file)))];
    const closest = it.closest ? ["; the closest command is ", h("code", said(it.closest)), " ", button("Use it", () => paste(text.replaceAll(one.command, it.closest)), "link", { "aria-label": `Use ${it.closest}` })] : null;
    return [state("err", "Not found"), h("div.sub", capital(it.reason ?? ""), closest, "; ", again())];
  }

  const again = () => button("check again", () => read(), "link small");

  function line(one) {
    const can = canCome(one);
    const id = `p-${one.written_name}`.replace(/[^\w-]/g, "_");
    const box = boxes.box(one.name, { id, disabled: !can || Boolean(it.doing), ...(can ? {} : { checked: false }) });
    const fields = can ? [blank.fields(one), lacks(one).map((need) => blank.field(one, asBlank(need)))].flat() : [];
    const needs = (one.needs ?? []).filter((need) => !need.is_set && need.kind !== "secret").map((need) => h("div.sub", "needs a variable: ", h("code", said(need.name))));
    return row(id, [
      cell("tight", box),
      head("grow", h("label", { for: id }, said(can ? one.name : one.written_name)), one.outcome === "renamed" ? h("div.sub", said(one.reason ?? "")) : null),
      cell("full", h("code", said(one.starts)), one.variables ? h("div.sub", "Gets these variables from the daemon: ", h("code", said(one.variables.join(", ")))) : null),
      cell("set full", fields, needs, fields.length || needs.length ? null : h("span.dim", "nothing")),
      cell("full", checkOf(one)),
    ]);
  }

  function results() {
    if (it.failure) return failed(it.failure);
    if (!found) return null;
    const n = picked().length;
    const hasSecret = picked().some((one) => one.literal_secrets?.length || (one.placeholders ?? []).some(isSecret));
    return h("section.sec", { "aria-labelledby": "found-h" },
      h("header", h("h2", { id: "found-h" }, `${count(found.servers.length, "server")} found`), h("p", "nothing has been started yet")),
      table("fold", [["Add", "", true], ["Name"], ["Command or URL"], ["Missing"], ["Check"]], [found.servers.map(line)]),
      found.servers.length === 1 && (called || canCome(found.servers[0])) ? naming(found.servers[0]) : null,
      h(open().length > FEW ? "div.decide" : "div.bar.sec", open().length > 1 && !it.doing ? boxes.all() : null,
        it.doing ? h("span.wait", { role: "status" }, it.doing) : n ? h("button.btn.primary", { type: "submit" }, `Add ${count(n, "server")}`) : null,
        offer.held(), hasSecret ? offer.stored() : null),
      lacking ? h("p.hint.bad", { role: "alert" }, icon("s-err"), h("span", lacking)) : n ? null : h("p.hint", open().length ? "No server is chosen." : "No new server to add."));
  }

  /** Another name for the only one. */
  const naming = (one) => h("div.field.sec", h("label", { for: "paste-name" }, "Name"), h("input.mono", {
    type: "text", id: "paste-name", autocomplete: "off", spellcheck: "false", value: called || one.name, "data-key": "name", on: { change: (event) => { called = event.target.value.trim(); read(); } },
  }));

  function pasting() {
    const field = h("textarea.mono", {
      id: "paste", rows: 10, spellcheck: "false", "data-kept": "", placeholder: "npx -y @acme/tickets-mcp",
      on: { input: (event) => { [text, called] = [event.target.value, ""]; clearTimeout(timer); timer = setTimeout(() => read(), PAUSE); } },
    });
    return h("form", { id: "pasted", novalidate: true, on: { submit } },
      h("div.cols.half",
        h("div.field", h("label", { for: "paste" }, "Configuration, command or URL"), field),
        h("div.takes", h("p.acts", kept(file), button("Open a file", () => file.click(), "btn small"), text ? button("Clear", () => paste(""), "btn small") : null), h("p.small.soft.sec", "You can paste:"),
          h("ul.small.dim",
            h("li", "JSON: a configuration, a part of it, or one entry; or Codex’s TOML"),
            h("li", "a command: ", h("code", "npx -y …"), ", ", h("code", "uvx …"), ", ", h("code", "docker run …")),
            h("li", h("code", "claude mcp add …"), ", ", h("code", "code --add-mcp …")),
            h("li", "a URL, or an install link: Cursor, VS Code, LM Studio, Goose")))),
      h("div.found", { role: "status", "data-key": "found" }, results()));
  }

  const knownServers = () => h("section.sec", { id: "known", "aria-labelledby": "kn-h" },
    h("header", h("h2", { id: "kn-h" }, "Known servers"), h("p", "a list built into mcpproxy; choosing a server downloads nothing")),
    h("ul.known", KNOWN.map((one) => h("li", h("h3", one[0]), button("Choose", () => known(one), "btn small", { "aria-label": `Choose ${one[0]}` }), h("p", `${one[1]}. Needs: ${one[2]}.`)))));

  function render() {
    return [
      h("div.title", h("div", crumbs(["Servers", "/ui/"], "new"), h("h1", "Add a server"), h("p.sub", "Paste text from the server’s README. mcpproxy finds the servers in the text and asks for missing values.")),
      ),
      segments("Ways to add", [{ word: "Paste", href: "/ui/add", current: true }, { word: "Known servers", href: "#known" }, { word: "By hand", href: "/ui/add/form" }, { word: "From your clients", href: "#import" }]),
      pasting(), knownServers(), others.render(),
    ];
  }

  return { title: "Add a server", tab: "servers", waiting: "Reading your clients’ files…", load: () => Promise.all([others.load(), knowVault()]), refresh: others.refresh, render, leave: () => { clearTimeout(timer); asking?.abort(); } };
}
