// AI clients of this person, and our entry in their files: what would change is shown before it is written, and can be taken back.

import { ask, part, post, query } from "./api.js";
import { h } from "./dom.js";
import { acting, button, cell, failed, head, row, state, table, toast } from "./parts.js";
import { ago, capital, said } from "./words.js";

/** Programs whose last call is looked up. */
const PROGRAMS = 20;

/** A name by which a program and its client in the list are compared. */
const plainName = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** Whether a token was issued to a client by its name. */
const isOwnToken = (client, name) => name === client || (name.startsWith(`${client}-`) && /^\d+$/.test(name.slice(client.length + 1)));

export function clients(frame) {
  let list = null;
  /** When programs called last, and whether who shows no token is refused. */
  let seen = new Map();
  let uses = [];
  let isRequired = false;
  const it = acting(frame);
  const { act } = it;
  /** The client whose change is looked at: `{client, verb, change}`. */
  let looking = null;
  let isAll = false;

  async function load() {
    try {
      let use, tokens;
      [list, use, tokens] = await Promise.all([ask("clients"), ask("usage").catch(() => null), ask("tokens").catch(() => null)]);
      isRequired = tokens?.required ?? false;
      uses = tokens?.tokens ?? [];
      seen = new Map(await Promise.all((use?.all.clients ?? []).slice(0, PROGRAMS).map(async (client) => {
        const { records } = await ask(query("activity", { client, kind: "call", limit: 1 }));
        return [plainName(client), records[0]?.time];
      })));
    } catch (error) {
      if (error.isSignedOut || error.isGone) throw error;
      it.failure = error;
    }
  }

  const send = (client, verb, body) => post(`clients/${part(client)}/${verb}`, body);

  const look = (one, verb) => act(one.client, async () => {
    looking = null;
    const change = await send(one.client, verb, { dry_run: true });
    looking = { client: one.client, title: one.title, verb, change, showsToken: one.connected && one.shows_token };
    requestAnimationFrame(() => document.querySelector("[data-write]")?.focus());
  });

  /** Whoever showed a token of its own shows another one once it is connected again. */
  const write = (title, client, verb, showsToken) => act(client, async () => {
    await send(client, verb, {});
    if (verb === "connect" && showsToken) await send(client, "token", {});
    looking = null;
    await load();
    const back = verb === "connect" ? "disconnect" : "connect";
    toast(verb === "connect" ? `Connected. Restart ${title}.` : `Disconnected ${title}`, () => write(title, client, back, showsToken));
  });

  const short = (path) => (path.startsWith(`${list.home}/`) ? `~${path.slice(list.home.length)}` : path);

  /** When it called last, by the name that it gives itself or by its own token. */
  function lastCall(one) {
    const own = plainName(one.client);
    const names = [...seen.keys()].filter((name) => name.startsWith(own) || own.startsWith(name));
    const shown = uses.filter(({ name }) => isOwnToken(one.client, name)).map((token) => token.last_used);
    return [...names.map((name) => seen.get(name)), ...shown].filter(Boolean).sort().at(-1);
  }

  function standing(one) {
    const last = one.connected ? lastCall(one) : undefined;
    if (one.connected && isRequired && one.shows_token === false) return [state("err", "gets 401"), h("div.sub", "shows no token")];
    if (one.connected) return last ? [state("ready", "connected"), h("div.sub", "called ", ago(last), " ago")] : [state("off", "connected"), h("div.sub", "has not called yet")];
    if (one.error) return state("err", "not connected");
    return state("off", one.found ? "not connected" : "not found");
  }

  function line(one) {
    const isBusy = it.doing === one.client;
    const what = one.connected ? ["as ", h("code", said(one.name ?? ""))] : one.error ? h("span.bad", capital(one.error)) : null;
    const verb = one.connected ? "disconnect" : "connect";
    const press = isBusy ? h("span.wait", { role: "status" }, "Looking…")
      : looking?.client === one.client ? null
      : button(one.connected ? "Disconnect" : "Connect", () => look(one, verb), "btn small", { "aria-label": `${one.connected ? "Disconnect" : "Connect"} ${one.title}` });
    const rows = [row(`client ${one.client}`, [
      head("grow", said(one.title)),
      cell("", standing(one)),
      cell("full", h("code", said(short(one.file))), what ? h("div.sub", what) : null),
      cell("act full", press),
    ])];
    if (looking?.client === one.client) rows.push(h("tr", { role: "row", "data-key": `change ${one.client}` }, h("td.full", { role: "cell", colspan: "4" }, change())));
    return rows;
  }

  function change() {
    const { client, title, verb, change, showsToken } = looking;
    const verbing = verb === "connect" ? "Connect" : "Disconnect";
    const keep = button("Keep it", () => { looking = null; frame.paint(); });
    const sure = button(`${verbing} ${title}`, () => write(title, client, verb, showsToken), "btn primary", { "data-write": "" });
    const kinds = { "+": "span.new", "-": "span.old" };
    const line = (text) => [h(kinds[text[0]] ?? "span", said(text)), kinds[text[0]] ? null : "\n"];
    const diff = h("pre.code", { tabindex: "0", role: "region", "aria-label": `What would change in the file of ${title}` }, (change.diff ?? []).map(line));
    return h("div.confirm", { role: "group", "aria-label": `${verbing} ${title}?` },
      h("div", h("b", `Change ${short(change.file)}?`), h("br"), h("span.soft", `A backup is kept next to it. Secrets are masked here.${showsToken ? " Its own token is revoked." : ""}`)), keep, sure, h("div.whole", diff));
  }

  function render() {
    if (!list) return it.failure ? failed(it.failure) : null;
    const shown = list.clients.filter((one) => isAll || one.found || one.connected);
    const absent = list.clients.length - shown.length;
    return [
      it.failure ? failed(it.failure) : null,
      shown.length ? table("fold", [["Client"], ["State"], ["File"], ["Action", "", true]], [shown.map(line)]) : h("div.empty", h("b", "No client found."), "Looked below ", h("code", said(list.home)), "."),
      absent || isAll ? h("p.hint", button(isAll ? "Show only those found" : `Show ${absent} more, not found here`, () => { isAll = !isAll; frame.paint(); }, "link small")) : null,
    ];
  }

  return { load, render };
}
