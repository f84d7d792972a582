// What waits for a person: quarantined servers, and definitions that are held. What is approved is what was shown: `seen` of the inspection
// goes back with the approval, and what changed meanwhile is not shown in its place but announced.

import { ask, part, post, remove as take, undoChanges } from "./api.js";
import { h, icon } from "./dom.js";
import { decidedList, decisions } from "./decided.js";
import { diffTable, told } from "./diff.js";
import { findingList, isHigh } from "./findings.js";
import { acting, button, confirm, empty, facts, failed, go, noServer, note, section, serverState, state, toast, variant } from "./parts.js";
import { changed, contacts, definition, entryFacts, found, headingOf, isHeld, isReadable, keyOf, locked, print, risk } from "./review_parts.js";
import { offerTools } from "./tool_switch.js";
import { trust, trustOfAll } from "./trust.js";
import { at, capital, count, said, sentence, when } from "./words.js";

/** Limit: things of one kind that are listed at first. */
const FEW = 200;

/** Seconds that a server may take to be inspected. */
const INSPECT = 90;

export function review(wanted, frame) {
  let waiting = [];
  let name = null;
  let shown = null;
  let decided = [];
  /** What the file says; nothing where it cannot be used. */
  let settings = null;
  let isStale = false;
  const it = acting(frame);
  let asked = null;
  let approved = null;
  // What was approved here: it keeps its place, so that nothing else comes under the pointer that approved it.
  let done = [];
  const opened = new Set();
  const unfolded = new Set();

  const waits = (one) => one.enabled && (one.quarantined || one.held);

  /** Reads what waits, and what was decided. */
  async function look() {
    const [{ servers }, of, file] = await Promise.all([ask("servers"), decisions(), ask("config").catch(() => null)]);
    settings = file?.settings;
    // Of a server that is held as a whole more depends.
    waiting = servers.filter((one) => waits(one) || (one.quarantined && !one.enabled)).sort((a, b) => Number(b.quarantined) - Number(a.quarantined));
    decided = of;
  }

  async function load() {
    await look();
    name = wanted ?? waiting[0]?.name ?? null;
    shown = name === null ? null : await ask(`servers/${part(name)}/inspect`);
    isStale = false;
    [done, approved] = [[], null];
  }

  /** Whether there is something to decide. */
  const isOpen = (one) => one.server.quarantined || one.things.some(isHeld);

  /** What is shown stays as it is while somebody reads it. */
  async function refresh() {
    if (it.doing) return;
    await look();
    if (name === null) {
      if (waiting.length) await load();
      return;
    }
    const now = await ask(`servers/${part(name)}/inspect`);
    // Nothing was shown that could have been read: its list has come.
    if (!shown.inspected && now.inspected) shown = now;
    if (!isOpen(shown) && !isOpen(now)) shown = now;
    isStale = now.seen !== shown.seen;
    if (!isStale) shown = { ...shown, server: now.server, things: now.things };
  }

  function act(word, doIt) {
    asked = null;
    return it.act(word, doIt);
  }

  /** Leaves what is held as it is, and goes on to what waits after it. */
  const next = () => waiting[waiting.findIndex((one) => one.name === name) + 1];
  const goOn = () => frame.visit(next() ? `/ui/review/${part(next().name)}` : "/ui/");
  /** It settles the matter: nothing of it is offered, and it leaves the review. */
  const disable = () => act("Disabling…", async () => {
    await post(`servers/${part(name)}/disable`);
    toast(`Disabled ${name}`, () => post(`servers/${part(name)}/enable`));
    await goOn();
  });

  /** The same of one tool. */
  const disableTool = ({ name: tool }) => act("Disabling…", async () => {
    const undo = await offerTools(new Map([[name, [tool]]]), false);
    toast(`Disabled ${tool}`, () => undo().then(frame.soon, frame.soon));
    await look();
    shown = await ask(`servers/${part(name)}/inspect`);
    if (!isOpen(shown)) await goOn();
  });

  function keepBlocked(thing) {
    const held = thing ? inPlace().filter((one) => !one.isApproved).map((one) => one.thing) : [];
    const below = held[held.findIndex((other) => keyOf(other) === (thing && keyOf(thing))) + 1];
    toast(thing ? `${thing.name} stays held` : `${name} stays quarantined`);
    const heading = below && document.getElementById(headingOf(below));
    if (heading) {
      heading.focus({ preventScroll: true });
      heading.scrollIntoView({ block: "start" });
      return;
    }
    goOn();
  }

  /** Approves what was shown. It stays there, with a way to the next one: whoever presses twice has looked at nothing else. */
  async function approve(body, what, thing) {
    const { seen } = shown;
    await act("Approving…", async () => {
      const { id } = await post(`servers/${part(name)}/approve`, { seen, ...body });
      toast(`Approved ${what}`, id ? () => undo(id, what) : undefined);
      if (thing) done.push({ thing, place: inPlace().findIndex((one) => keyOf(one.thing) === keyOf(thing)) });
      [wanted, approved] = [name, what];
      frame.rename(`/ui/review/${part(name)}`);
      await look();
      shown = await ask(`servers/${part(name)}/inspect`);
    });
    if (!it.failure) document.querySelector("[data-approved]")?.focus();
  }

  /** What was approved is held again. */
  const undo = (id, what) => act("Undoing…", async () => {
    await undoChanges([id]);
    await load();
    toast(`${what} is ${waiting.some((one) => one.name === what && one.quarantined) ? "quarantined" : "held"} again`);
  });

  /** What is held, and in its old place what was and is approved. */
  function inPlace() {
    const rows = shown.things.filter(isHeld).map((thing) => ({ thing }));
    const held = new Set(rows.map(({ thing }) => keyOf(thing)));
    const gone = done.filter(({ thing }) => !held.has(keyOf(thing))).sort((a, b) => a.place - b.place);
    for (const { thing, place } of gone) rows.splice(place, 0, { thing, isApproved: true });
    return rows;
  }

  function render() {
    const n = waiting.length;
    const title = h("div.title", h("div", h("h1", n === 0 ? "Nothing awaits your approval" : `${count(n, "server awaits", "servers await")} your approval`),
      h("p.sub", "Agents cannot see or use quarantined servers and held tools until you approve them.")));
    if (!shown) return [title, it.failure ? failed(it.failure) : null, empty("Nothing is held.", "This page lists what awaits your approval, such as servers that an agent added or changed, changed tools, and definitions that look dangerous.", go("Servers", "/ui/")), ofAll(), decidedList(decided, undo)];
    return [title, h("div.cols.left", list(), h("div", article(), shown.entry && !shown.server.quarantined && !shown.server.demo ? trust(name, shown.entry, act) : null, ofAll()), decidedList(decided, undo))];
  }

  const ofAll = () => (settings ? trustOfAll(settings, act) : null);

  function list() {
    const rows = waiting.some((one) => one.name === name) ? waiting : [shown.server, ...waiting];
    const line = (one) => h("li", { "data-row": "", "data-key": one.name }, h("a", { href: `/ui/review/${part(one.name)}`, "aria-current": one.name === name ? "true" : undefined },
      h("b", said(one.name)), one.quarantined ? state("held", "quarantined") : one.held ? state("held", `${one.held} held`) : state("ready", "nothing held"),
      h("span.small", one.quarantined ? `${one.transport ?? "broken"}, ${one.tools ? count(one.tools, "tool") : "no tools known"}` : "trusted server")));
    return h("nav", { "aria-label": "Waiting" }, h("ul.waiting", { "data-rows": "" }, rows.map(line)));
  }

  function article() {
    const rows = inPlace();
    return h("article", { tabindex: "-1", "data-focus": "", "aria-labelledby": "srv-h", "data-key": name },
      isStale ? note("warn", [h("b", "The server’s list has changed."), " This page shows the older list, which you cannot approve any more."], button("Show the current list", () => act("Reading…", load), "btn small")) : null,
      it.failure ? failed(it.failure, button("Show the current list", () => act("Reading…", load), "btn small")) : null,
      h("header.title", h("div", h("h2", { id: "srv-h" }, h("a.u", { href: `/ui/servers/${part(name)}` }, said(name))), h("p.tags", serverState(shown.server)))),
      it.doing ? h("p.wait", { role: "status" }, icon("s-work", true), it.doing) : null,
      locked(shown),
      approved === null || it.doing ? null : wasApproved(),
      shown.server.quarantined ? whole() : [rows.length ? rows.map(({ thing, isApproved }) => one(thing, isApproved)) : h("p.soft", "Nothing is held."), listing(shown.things.filter((thing) => !isHeld(thing)))]);
  }

  /** That it is done, and the way to what waits then. */
  function wasApproved() {
    const left = shown.things.filter(isHeld).length;
    const next = waiting.find((one) => one.name !== name);
    const rest = left ? ` ${left} more ${left === 1 ? "awaits" : "await"} your approval.` : next ? "" : " Nothing else awaits your approval.";
    return h("div", { "data-key": "approved", "data-approved": "", tabindex: "-1", role: "status" },
      note("done", [h("b", "Approved ", said(approved), "."), rest], !left && next ? go(["Review ", said(next.name)], `/ui/review/${part(next.name)}`, "btn small") : null));
  }

  /** A server that is held as a whole. */
  function whole() {
    const tools = shown.things.filter((thing) => thing.kind === "tool" && isReadable(thing));
    const findings = [...shown.entry_findings.map((finding) => ({ finding })), ...shown.things.flatMap((thing) => thing.findings.map((finding) => ({ finding, thing })))];
    return [
      facts(entryFacts(shown.entry, shown.things)),
      changed(shown.entry_review),
      contact(),
      findings.length ? section(count(findings.length, "finding"), h("p", "invisible characters are shown as ", h("span.esc", "U+200B"), ", markup as text"), findingList(findings)) : shown.inspected ? h("p.soft.sec", "No dangerous findings.") : null,
      shown.inspected ? listing(shown.things, true) : null,
      decideWhole(findings.filter(({ finding }) => isHigh(finding)).length, tools.length),
    ];
  }

  function contact() {
    if (!shown.unseen) return null;
    if (isStarting()) return h("p.wait", { role: "status" }, icon("s-work", true), `mcpproxy ${contacts(shown.server)} the server to list its tools, and calls none of them.`);
    const once = `“List its tools” ${contacts(shown.server)} the server once, and calls no tool.`;
    const why = shown.inspected ? once
      : shown.contact_error ? "mcpproxy tried to list them and failed. Try again with “List its tools”."
      : shown.awaits_contact && shown.entry_review && !shown.entry_review.is_new
      ? `An agent changed the entry, so mcpproxy stopped the server. “List its tools” ${contacts(shown.server)} the server once with the new entry, and calls no tool.`
      : shown.awaits_contact ? `An agent wrote the entry, so mcpproxy has neither started nor contacted the server. ${once}`
      : `mcpproxy has not listed them yet. ${once}`;
    return [note("held", [h("b", shown.inspected ? "The server lists nothing to review. " : `mcpproxy does not know the server’s ${shown.server.tools ? "current " : ""}tools. `), why], button("List its tools", inspect, "btn small")), shown.contact_error ? note("err", capital(shown.server.reason ?? shown.contact_error), go(`Open ${name}`, `/ui/servers/${part(name)}`, "btn small"), shown.entry ? go("Edit", `/ui/servers/${part(name)}/edit`, "btn small") : null) : null];
  }

  const isStarting = () => shown.server.state === "Connecting";

  const inspect = () => act("Listing its tools…", async () => {
    shown = await ask(`servers/${part(name)}/inspect?wait=${INSPECT}`, { method: "POST", patience: (INSPECT + 10) * 1000 });
  });

  /** What was tried and is not wanted. */
  const removeIt = () => act("Removing…", async () => {
    await take(`servers/${part(name)}`);
    toast(`Removed ${name}`);
    await frame.visit("/ui/review");
  });

  function decideWhole(dangerous, tools) {
    if (shown.lock_file || it.doing || (!shown.inspected && isStarting())) return null;
    if (asked === "remove") {
      const back = () => { asked = null; frame.paint(); document.querySelector("[data-remove]")?.focus(); };
      return h("div.sec", confirm(`Remove ${name}?`, "Deletes its entry, its log and its login.", `Remove ${name}`, removeIt, back));
    }
    const keep = [button("Remove", () => { asked = "remove"; frame.paint(); }, "btn", { "data-remove": "" }), button(`Disable ${name}`, () => disable()), button("Decide later", () => keepBlocked())];
    const starts = `Once you approve it, ${risk(shown.server)}, and clients can use ${shown.unseen ? "all tools that it lists" : `its ${count(tools, "tool")}`}.`;
    const mustAsk = dangerous || shown.unseen;
    if (asked === "all") {
      const spite = [dangerous && ` in spite of ${count(dangerous, "dangerous finding")}`, shown.unseen && " without knowing its tools"].filter(Boolean).join(",");
      return h("div.sec", h("div.confirm.danger", { role: "group", "aria-label": `Approve ${name}${spite}?` }, h("div", h("b", `Approve ${name}${spite}?`), h("br"), h("span.soft", starts)), button("Decide later", () => { asked = null; keepBlocked(); }), button(`Disable ${name}`, () => disable()), button("Approve anyway", () => approve({ unseen: shown.unseen }, name), "btn danger")));
    }
    return h(mustAsk ? "div.confirm" : "div.decide", h("p.small.dim", starts, shown.entry?.tool_changes === "allow" ? "" : " mcpproxy then holds every change to its tools and instructions, and changes to its prompts and resources that look dangerous."), keep, button(`Approve ${name}`, mustAsk ? () => { asked = "all"; frame.paint(); } : () => approve({}, name), mustAsk ? "btn danger" : "btn primary"));
  }

  /** One definition that is held of a server that is trusted. */
  function one(thing, isApproved) {
    const key = keyOf(thing);
    const word = { tool: "", prompt: "prompt", resource: "resource", template: "resource template", instructions: "the server’s instructions" }[thing.kind] ?? thing.kind;
    const title = thing.kind === "instructions" ? "instructions" : thing.name;
    const dangerous = thing.findings.filter(isHigh).length;
    return h("section.held-thing", { "data-key": key, "aria-label": title },
      h("header.title", h("div", h("h3.big", { id: headingOf(thing), tabindex: "-1" }, h("span.mono", said(title)), " ", h("span.dim", [isApproved ? "approved" : ["changed", "new"].includes(thing.reason) ? thing.reason : "held", word].filter(Boolean).join(" "))),
        isApproved ? null : h("p.soft", capital(thing.explanation ?? "mcpproxy holds it"), thing.held_since ? [". Held since ", at(thing.held_since)] : null, thing.approved_at ? ["; approved ", when(thing.approved_at), thing.approved_by ? [" by ", said(thing.approved_by)] : null] : null, "."))),
      thing.what_matters ? note("held", [h("b", "What matters: "), sentence(thing.what_matters.sentence)]) : null,
      thing.findings.length ? findingList(thing.findings.map((finding) => ({ finding, description: thing.description }))) : null,
      thing.diff ? diffTable(told(thing.diff), ["Approved ", thing.approved_at ? when(thing.approved_at) : ""], ["Offered now ", h("span.dim.mono", print(thing))], "Definition before and after") : null,
      thing.diff ? folded(thing) : definition(thing),
      isApproved ? null : decideOne(thing, key, title, dangerous));
  }

  function decideOne(thing, key, title, dangerous) {
    if (shown.lock_file || it.doing) return null;
    const body = thing.kind === "instructions" ? { instructions: true } : { names: [thing.name] };
    const yes = () => approve(body, title, thing);
    const off = thing.kind === "tool" && shown.entry && !shown.server.demo ? button("Disable this tool", () => disableTool(thing)) : null;
    if (asked === key) {
      return [confirm(`Approve ${title} in spite of ${count(dangerous, "dangerous finding")}?`, "Clients then get it at once, and models read its text.", "Approve anyway", yes, () => { asked = null; frame.paint(); keepBlocked(thing); }, "Decide later"), off ? h("p.acts", off) : null];
    }
    const press = dangerous ? () => { asked = key; frame.paint(); } : yes;
    return h("div.decide", h("p.small.dim", thing.fingerprint ? ["You approve the definition with the fingerprint ", h("code", print(thing)), ". mcpproxy will hold the next change, too."] : "mcpproxy will hold the next change, too."),
      off, button("Decide later", () => keepBlocked(thing)), button("Approve this definition", press, dangerous ? "btn danger" : "btn primary"));
  }

  /** All that it lists and says, with what was found in it unless that stands above. */
  function listing(things, isSaid = false) {
    const of = (kind) => things.filter((thing) => thing.kind === kind);
    const [says] = of("instructions");
    return [
      says ? section("Its instructions", h("p", "text for agents"), instructions(says, isSaid)) : null,
      offers("Tools", h("p", "as the server describes them, with invisible characters made visible"), of("tool"), isSaid),
      offers("Prompts", null, of("prompt"), isSaid),
      offers("Resources", null, of("resource"), isSaid),
      offers("Resource templates", null, of("template"), isSaid),
    ];
  }

  function instructions(thing, isSaid) {
    return [
      thing.findings.length && !isSaid ? findingList(thing.findings.map((finding) => ({ finding, description: thing.description }))) : null,
      definition(thing),
    ];
  }

  function offers(title, aside, things, isSaid) {
    if (!things.length) return null;
    const detail = (thing) => h("details.offer", { "data-key": keyOf(thing), open: thing.findings.some(isHigh), on: unfolding(keyOf(thing)) },
      h("summary", h("code", said(thing.name)), " ", variant(thing.call_with), isReadable(thing) ? null : h("span.dim", said(thing.explanation ?? "")), thing.findings.length ? [" ", found(thing.findings)] : null, thing.changed_since ? h("span.dim", " changed since it was first seen ", when(thing.changed_since)) : null),
      thing.findings.length && !isSaid ? findingList(thing.findings.map((finding) => ({ finding, description: thing.description }))) : null,
      (thing.kind === "tool" && isReadable(thing)) || thing.description ? h("pre.code", { tabindex: "0", role: "region", "aria-label": `Description of ${thing.name}` }, said(thing.description ?? "")) : null,
      thing.parameters?.length ? facts(thing.parameters.map((one) => [h("code", said(one.name)), [said(one.kind ?? ""), one.required ? ", required" : "", one.description ? [": ", said(one.description)] : null]])) : null,
      opened.has(keyOf(thing)) ? definition(thing) : null);
    const shownOf = unfolded.has(title) ? things : things.slice(0, FEW);
    const more = things.length - shownOf.length;
    return section(title, aside, shownOf.map(detail), more ? h("p.acts", button(`Show ${more.toLocaleString("en-US")} more`, () => { unfolded.add(title); frame.paint(); }, "btn small")) : null);
  }

  /** What is long is there once somebody opens it: a server may list thousands of things. */
  function unfolding(key) {
    const toggle = ({ currentTarget: { open, isConnected } }) => {
      if (!isConnected || opened.has(key) === open) return;
      if (open) opened.add(key);
      else opened.delete(key);
      frame.paint();
    };
    return { toggle };
  }

  const ways = (error) => noServer(error, (other) => `/ui/review/${part(other)}`, go("Review", "/ui/review"));

  /** The same below what changed, for those who want it. */
  function folded(thing) {
    const key = `whole ${keyOf(thing)}`;
    return h("details.offer", { "data-key": key, on: unfolding(key) }, h("summary", "Whole definition now"), opened.has(key) ? definition(thing) : null);
  }

  return { title: "Review", tab: "review", filters: [], waiting: "Reading what awaits approval…", load, refresh, render, ways };
}
