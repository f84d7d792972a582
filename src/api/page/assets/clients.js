// AI clients of this person, and our entry in their files: what would change is shown before it is written, and can be taken back.

import { Failure, ask, part, post, remove, undoChanges } from "./api.js";
import { blanks } from "./blanks.js";
import { h } from "./dom.js";
import { acting, button, cell, failed, go, head, labelled, row, state, table, toast, undoneWords } from "./parts.js";
import { ago, at, count, number, said, sentence, some } from "./words.js";

/** A name by which a program and its client in the list are compared. */
const plainName = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** How a client's messages come, in words; and the sessions of one client that are listed. */
const WAYS = { http: "HTTP", sse: "HTTP+SSE", stdio: "mcpproxy stdio" };
const SHOWN = 10;

/** Whether a token was issued to a client by its name. */
const isOwnToken = (client, name) => name === client || (name.startsWith(`${client}-`) && /^\d+$/.test(name.slice(client.length + 1)));

export function clients(frame) {
  let list = null;
  /** What programs called, by their names for themselves; tokens with their last use; and whether who shows none is refused. */
  let programs = [];
  let uses = [];
  let isRequired = false;
  /** The sessions that are open, each with its program's name for itself. */
  let sessions = [];
  const it = acting(frame);
  const { act } = it;
  /** The client whose change is looked at: `{client, verb, change}`. */
  let looking = null;
  let isAll = false;
  const blank = blanks("m");
  /** Servers that a client starts itself and that can be moved here, by client. Files are looked at once for each visit. */
  let own = null;

  async function load() {
    try {
      let use, tokens, open;
      [list, use, tokens, open] = await Promise.all([ask("clients"), ask("usage").catch(() => null), ask("tokens").catch(() => null), ask("sessions").catch(() => null), own ?? readOwn()]);
      isRequired = tokens?.required ?? false;
      uses = tokens?.tokens ?? [];
      sessions = open?.sessions ?? [];
      const called = (use?.clients ?? []).map((one) => ({ ...one, plain: plainName(one.name) }));
      const silent = Map.groupBy(sessions.filter((one) => one.client && !called.some((program) => isOf(program, one))), (one) => one.client.replace(/ \S*\d\S*$/, ""));
      programs = [...called, ...[...silent.keys()].map((name) => ({ name, plain: plainName(name), versions: [], calls: 0 }))];
    } catch (error) {
      if (error.isSignedOut || error.isGone) throw error;
      it.failure = error;
    }
  }

  async function readOwn() {
    const { servers } = await ask("import").catch(() => ({ servers: [] }));
    const movable = servers.filter((one) => ["new", "renamed"].includes(one.outcome) || (one.outcome === "same" && !one.differing?.length));
    own = Map.groupBy(movable, (one) => one.client);
  }

  const ownOf = (one) => own?.get(one.client) ?? [];

  /** Those of them that are here, too. */
  const twiceOf = (one) => ownOf(one).filter((server) => server.outcome === "same");

  /** Those that can leave its file: of one with a placeholder that shows once its value is there. */
  const movable = (one) => ownOf(one).filter((server) => !server.stays || server.placeholders?.length);

  /** Its servers are started here alone from then on. */
  const move = (one) => act(one.client, async () => {
    const { id, moved = [], servers } = await post(`clients/${part(one.client)}/move`, { values: blank.given(movable(one)) }, { patience: 90_000 });
    looking = null;
    blank.clear();
    await Promise.all([readOwn(), load()]);
    const wrong = [...moved, ...servers].find((row) => row.error);
    const names = moved.filter((row) => !row.error).flatMap((row) => row.servers);
    const stay = servers.filter((row) => row.stays).map((row) => row.written_name);
    if (names.length) toast(`Moved ${count(names.length, "server")} to mcpproxy. Restart ${one.title}.${stay.length ? ` Not moved: ${some(stay, 3)}.` : ""}`, () => act(one.client, async () => {
      const back = id ? await undoChanges([id]) : (await remove(`clients/${part(one.client)}/move`)).put_back;
      await Promise.all([readOwn(), load()]);
      toast(undoneWords("Undone", back));
    }));
    if (wrong) throw new Failure(200, { error: `Not moved: ${wrong.error}`, code: "client_unchanged", step: wrong.step });
  });

  const send = (client, verb, body) => post(`clients/${part(client)}/${verb}`, body);

  const look = (one, verb) => act(one.client, async () => {
    looking = null;
    const change = await send(one.client, verb, { dry_run: true });
    looking = { client: one.client, title: one.title, verb, change, showsToken: one.connected && one.shows_token };
    requestAnimationFrame(() => document.querySelector("[data-write]")?.focus());
  });

  /** Whoever showed a token of its own shows another one once it is connected again. */
  const write = (title, client, verb, showsToken) => act(client, async () => {
    const { outcome } = await send(client, verb, {});
    if (verb === "connect" && showsToken) await send(client, "token", {});
    looking = null;
    await load();
    const back = verb === "connect" ? "disconnect" : "connect";
    toast(verb === "connect" ? `Connected. Restart ${title}.` : outcome === "put_back" ? `Restored the earlier entry of ${title}` : `Disconnected ${title}`, () => write(title, client, back, showsToken));
  });

  const short = (path) => (path.startsWith(`${list.home}/`) ? `~${path.slice(list.home.length)}` : path);

  /** The programs that are this client, by the name that they give themselves. */
  function programsOf(one) {
    const its = plainName(one.client);
    return programs.filter(({ plain }) => plain.startsWith(its) || its.startsWith(plain));
  }

  /** Whether a session is a program's. */
  const isOf = (program, session) => session.client === program.name || session.client?.startsWith(`${program.name} `);

  const sessionsOf = (its) => sessions.filter((session) => its.some((program) => isOf(program, session)));

  /** Its versions, and the sessions that it has open: how they come, and since when. */
  function present(its) {
    const versions = [...new Set(its.flatMap((program) => program.versions ?? []))];
    const open = sessionsOf(its);
    if (!versions.length && !open.length) return null;
    const line = (one) => h("li", h("code", said(one.endpoint)), ` over ${WAYS[one.transport] ?? one.transport}, MCP ${one.revision}, `, one.client ? [said(one.client), ", "] : null, one.caller === "anonymous" ? null : [said(one.caller), ", "], "since ", at(one.opened), ", last message ", ago(one.last_seen), " ago");
    return h("div.sub", versions.length ? [versions.length === 1 ? "Version " : "Versions ", said(versions.join(", "))] : null,
      open.length ? h("details", h("summary", `${count(open.length, "session")} open`), h("ul.small", open.slice(0, SHOWN).map(line), open.length > SHOWN ? h("li", `and ${open.length - SHOWN} more`) : null)) : null);
  }

  /** When it called last, by its name or by its own token. */
  function lastCall(one) {
    const shown = uses.filter(({ name }) => isOwnToken(one.client, name)).map((token) => token.last_used);
    return [...programsOf(one).map((program) => program.last), ...shown].filter(Boolean).sort().at(-1);
  }

  const isOpen = (its) => sessionsOf(its).length > 0;

  /** Whether one of those clients is there: some end without ending their sessions. */
  const isThere = (its) => sessionsOf(its).some((session) => !session.silent);

  const isSeen = (one) => Boolean(lastCall(one)) || isOpen(programsOf(one));

  /** Whether its file names mcpproxy, which refuses it only because it sends no token. */
  const isRefused = (one) => !one.connected && isRequired && Boolean(one.name) && one.shows_token === false;

  const isNamed = (one) => one.connected || isRefused(one);

  const isHere = (one) => isNamed(one) || isThere(programsOf(one));

  /** How programs stand whose file is not known to name mcpproxy. */
  function session(its) {
    if (isThere(its)) return state("ready", "Connected");
    const last = sessionsOf(its).map((one) => one.last_seen).sort().at(-1);
    return last ? state("off", ["Last seen ", ago(last), " ago"]) : state("off", "No open session");
  }

  /** How it stands, why, and what comes next. */
  function standing(one) {
    const next = (...words) => h("div.sub", "Next: ", words);
    if (isRefused(one)) return [state("err", "Refused"), ["The client’s file has no token.", next("give the client a token")]];
    const starts = ownOf(one).map((server) => server.written_name);
    const can = movable(one);
    const them = can.length < starts.length ? `${number(can.length)} of them` : starts.length === 1 ? "it" : "them";
    const twice = starts.length ? [`The client also starts ${starts.length === 1 ? "a server" : `${number(starts.length)} servers`} itself: `, said(some(starts, 3)), ".", can.length ? next("move ", them, " to mcpproxy, which starts each server once for all clients") : h("div.sub", said(starts[0]), " stays in the file: ", sentence(ownOf(one)[0].stays))] : null;
    if (one.connected) return isSeen(one) ? [state("ready", "Connected"), twice] : [state("off", "Never called"), twice ?? ["The client’s file names mcpproxy, but the client has not connected yet.", next("restart the client; it reads the file only when it starts")]];
    if (isSeen(one)) return [session(programsOf(one)), "The client connects, but this file does not name mcpproxy."];
    if (one.error) return [state("err", "Not connected"), [h("span.bad", one.name ? "The client gets only errors: " : "mcpproxy cannot use the client’s file: ", sentence(one.error)), one.name && one.next_step ? next(...sentence(one.next_step)) : next("correct the file, then look again")]];
    return [state("off", one.found ? "Not connected" : "Not found"), starts.length ? h("span.dim", `The client’s file has ${count(starts.length, "server")}`, twiceOf(one).length ? `; mcpproxy also has ${some(twiceOf(one).map((server) => server.written_name), 3)}, so ${twiceOf(one).length === 1 ? "it starts" : "they start"} twice` : "") : null];
  }

  const needs = (one) => isRefused(one) || (one.connected && (ownOf(one).length > 0 || !isSeen(one)));

  function line(one) {
    const isBusy = it.doing === one.client;
    const [is, why] = standing(one);
    const last = lastCall(one);
    const calls = programsOf(one).reduce((sum, program) => sum + program.calls, 0);
    const verb = isNamed(one) ? "disconnect" : "connect";
    const can = movable(one).length ? `Move ${count(movable(one).length, "server")}` : "";
    const press = isBusy ? h("span.wait", { role: "status" }, "Looking…")
      : looking?.client === one.client ? null
      : [isRefused(one) ? button("Give it a token", () => act(one.client, () => send(one.client, "token", {}).then(load)), "btn small primary", { "aria-label": `Give it a token: ${one.title}` }) : one.connected && can ? button(can, () => { looking = { client: one.client, moves: one }; frame.paint(); }, "btn small primary", { "aria-label": `${can} from ${one.title}` }) : one.connected && ownOf(one).length ? go("Show them", "/ui/add#import", "btn small") : null, " ", one.error && !isNamed(one) ? button("Look again", () => act(one.client, load), "btn small", { "aria-label": `Look again: ${one.title}` }) : button(isNamed(one) ? "Disconnect" : "Connect", () => look(one, verb), "btn small", { "aria-label": `${isNamed(one) ? "Disconnect" : "Connect"} ${one.title}` })];
    const rows = [row(`client ${one.client}`, [
      head("grow", said(one.title)),
      cell("", is),
      cell("full", why, present(programsOf(one)), h("div.sub", h("code", said(short(one.file))), isNamed(one) ? [" as ", h("code", said(one.name ?? ""))] : null)),
      cell("act full", press),
      calls ? labelled("r", "calls, 30 d", h("a", { href: `/ui/activity?client=${part(programsOf(one)[0].name)}` }, number(calls))) : cell("r dim hide", "–"),
      last ? labelled("r", "last call", ago(last)) : cell("r dim hide", "–"),
    ])];
    if (looking?.client === one.client) rows.push(h("tr", { role: "row", "data-key": `change ${one.client}` }, h("td.full", { role: "cell", colspan: "6" }, looking.moves ? moving(looking.moves) : change())));
    return rows;
  }

  /** What becomes of each of its own servers. */
  function moving(one) {
    const servers = movable(one);
    const keep = button("Keep them", () => { looking = null; frame.paint(); });
    const fate = (server) => (!servers.includes(server) ? ["stays in the file: ", sentence(server.stays)] : server.outcome === "same" ? ["mcpproxy already has it, as ", said(server.name)] : server.placeholders?.length ? "mcpproxy imports it with your value; without one, it stays in the file" : "mcpproxy imports it");
    const line = (server) => h("li", h("b", said(server.written_name)), " ", h("code", said(server.starts)), " ", h("span.dim", fate(server)), servers.includes(server) ? blank.fields(server) : null);
    return h("div.confirm", { role: "group", "aria-label": `Move servers from ${one.title}?` },
      h("div", h("b", `Remove ${count(servers.length, "server")} from ${short(one.file)}?`), h("br"), h("span.soft", "mcpproxy then starts each server once for all clients. mcpproxy keeps a backup of the file; Undo puts the servers back.")),
      keep, button(`Move ${count(servers.length, "server")}`, () => move(one), "btn primary", { "data-write": "" }), h("ul.whole.small", ownOf(one).map(line)));
  }

  function change() {
    const { client, title, verb, change, showsToken } = looking;
    const verbing = verb === "connect" ? "Connect" : "Disconnect";
    const keep = button("Cancel", () => { looking = null; frame.paint(); });
    const sure = button(`${verbing} ${title}`, () => write(title, client, verb, showsToken), "btn primary", { "data-write": "" });
    const kinds = { "+": "span.new", "-": "span.old" };
    const line = (text) => [h(kinds[text[0]] ?? "span", said(text)), kinds[text[0]] ? null : "\n"];
    const diff = h("pre.code", { tabindex: "0", role: "region", "aria-label": `Changes to the file of ${title}` }, (change.diff ?? []).map(line));
    return h("div.confirm", { role: "group", "aria-label": `${verbing} ${title}?` },
      h("div", h("b", `${change.is_found ? "Change" : "Create"} ${short(change.file)}?`), h("br"), h("span.soft", `${change.is_found && verb === "connect" ? "mcpproxy keeps a backup next to the file. " : ""}Secrets are masked on this page.${showsToken ? " mcpproxy revokes the client’s own token." : ""}`)), keep, sure, h("div.whole", diff));
  }

  /** Programs that called and are none of the clients whose file is here. */
  const others = () => programs.filter((program) => !list.clients.some((one) => programsOf(one).includes(program)));

  function groups(shown) {
    const other = (program) => row(`program ${program.name}`, [
      head("grow", said(program.name)), cell("", session([program])), cell("full", h("span.dim", "The client’s file is on another machine or unknown to mcpproxy"), present([program])),
      cell("act full", go("Show its calls", `/ui/activity?client=${part(program.name)}`, "btn small")), labelled("r", "calls, 30 d", number(program.calls)), program.last ? labelled("r", "last call", ago(program.last)) : cell("r dim hide", "–"),
    ]);
    const of = (title, rows) => (rows.length ? [h("tr.group", { role: "row", "data-key": `group ${title}` }, h("th", { role: "cell", scope: "colgroup", colspan: "6" }, title)), rows] : null);
    return [
      of("Need you", shown.filter(needs).map(line)),
      of("Connected", [...shown.filter((one) => isHere(one) && !needs(one)).map(line), ...others().filter((program) => isThere([program])).map(other)]),
      of("Called before", [...shown.filter((one) => isSeen(one) && !isHere(one)).map(line), ...others().filter((program) => !isThere([program])).map(other)]),
      of("Not connected", shown.filter((one) => !isSeen(one) && !isHere(one)).map(line)),
    ].filter(Boolean);
  }

  const summary = () => {
    const waiting = list?.clients.filter(needs).length ?? 0;
    const connected = (list?.clients.filter(isHere).length ?? 0) + (list ? others().filter((program) => isThere([program])).length : 0);
    return `${count(connected, "client")}${waiting ? `, ${waiting === 1 ? "1 needs" : `${waiting} need`} you` : ""}`;
  };

  function render() {
    if (!list) return it.failure ? failed(it.failure) : null;
    const shown = list.clients.filter((one) => isAll || one.found || isNamed(one) || isSeen(one));
    const absent = list.clients.length - shown.length;
    return [
      it.failure ? failed(it.failure) : null,
      shown.length + others().length ? table("fold", [["Client"], ["State"], ["Reason and next step"], ["Action", "", true], ["Calls, 30 d", "r"], ["Last call", "r"]], groups(shown)) : h("div.empty", h("b", "No client found."), "Looked in ", h("code", said(list.home)), "."),
      absent || isAll ? h("p.hint", button(isAll ? "Show only clients that were found" : `Show ${count(absent, "client")} that ${absent === 1 ? "was" : "were"} not found`, () => { isAll = !isAll; frame.paint(); }, "link small")) : null,
    ];
  }

  return { load, render, summary };
}
