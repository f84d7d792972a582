// What other programs of this person have in their files: a choice of servers to take over, and to take out there.

import { Failure, ask, part, post, undoChanges } from "./api.js";
import { blanks, isSecret } from "./blanks.js";
import { h, icon } from "./dom.js";
import { acting, button, cell, failed, go, head, needsYou, note, row, serverState, state, table, ticks, toast, undoneWords } from "./parts.js";
import { knowVault, vault } from "./vault.js";
import { capital, count, said, sentence } from "./words.js";

/** Of what `found()` has: what can be taken over, what of it is chosen, and how. */
export function offers(frame, found) {
  const left = new Set();
  const open = () => (found()?.servers ?? []).filter(canCome);
  const tick = (key, words) => h("label", h("input", { type: "checkbox", checked: it[key], on: { change: (event) => { it[key] = event.target.checked; frame.paint(); } } }), ` ${words}`);
  const it = {
    left, open, isHeld: false, keeps: true, moves: false,
    picked: () => open().filter((one) => !left.has(one.name)),
    boxes: ticks(frame, { has: (name) => !left.has(name), set: (name, is) => (is ? left.delete(name) : left.add(name)), keys: () => open().map((one) => one.name) }),
    held: () => tick("isHeld", "quarantine: agents cannot use the servers until you approve them"),
    stored: () => tick("keeps", `store secrets in ${vault()}`),
    moved: (files) => tick("moves", `also remove them from ${files}, so that none runs twice`),
  };
  return it;
}

export const canCome = (one) => one.outcome === "new" || one.outcome === "renamed";

/** `done` is called when something was taken over. */
export function imports(frame, done = () => {}) {
  let found = null;
  const it = acting(frame);
  const offer = offers(frame, () => found);
  const { open, picked, left, boxes } = offer;
  const blank = blanks("i");
  let lacking = "";
  /** The clients that are connected: another one would have no servers if its own were moved. */
  let connected = new Set();
  /** Those of a doubled name, which are chosen by whoever wants them. */
  const known = new Set();
  /** The servers that were imported last, by name, each with its row of the list. */
  let taken = null;

  async function load() {
    [found, it.failure] = [null, null];
    try {
      let clients;
      [found, { clients }] = await Promise.all([ask("import"), ask("clients"), knowVault()]);
      nameClients(clients);
      // Often the same server with other values: nobody means to have both.
      for (const one of found.servers) {
        if (!one.doubled || known.has(one.name)) continue;
        known.add(one.name);
        left.add(one.name);
      }
      connected = new Set(clients.filter((one) => one.connected).map((one) => one.client));
    } catch (error) {
      if (error.isSignedOut || error.isGone) throw error;
      it.failure = error;
    }
  }

  const clientsOf = () => [...new Set(picked().map((one) => one.client))];

  /** Connected clients of which all that is new is chosen: what they have is here then, and can be taken out there. */
  const movable = () => clientsOf().filter((client) => connected.has(client) && !open().some((one) => one.client === client && left.has(one.name)));

  function take() {
    lacking = blank.lacking(picked());
    if (lacking) return frame.paint();
    return it.act("Importing…", async () => {
      const names = picked().map((one) => one.name);
      if (!names.length) return;
      const values = blank.given(picked());
      const from = offer.moves ? movable() : [];
      const answer = await post("import", { servers: names, quarantined: offer.isHeld, keyring: offer.keeps, values }, { patience: 90_000 });
      const came = answer.servers.filter((one) => one.imported);
      taken = new Map(came.map((one) => [one.name, null]));
      const out = [];
      let stays = null;
      for (const client of from) {
        const refused = (failure) => ({ moved: [{ client, error: failure.message }] });
        const { moved } = await post(`clients/${part(client)}/move`, undefined, { patience: 90_000 }).catch(refused);
        out.push(...(moved ?? []).filter((one) => !one.error));
        stays ??= moved?.find((one) => one.error);
      }
      const left = came.filter((one) => !out.some((file) => file.client === one.client));
      await Promise.all([load(), refresh()]);
      for (const one of answer.servers.filter((row) => row.error)) {
        const same = found?.servers.find((row) => row.name === one.name && row.file === one.file);
        if (same) same.error = one.error;
      }
      if (came.length) toast(out.length ? [`Moved ${count(came.length - left.length, "server")} to mcpproxy`, left.length ? `, imported ${left.length} more. ` : ". ", `Restart ${[...new Set(out.map((one) => titleOf(one.client)))].join(", ")}.`] : `Imported ${count(came.length, "server")}`, answer.id ? () => takeBack(answer.id, came.map((one) => one.name)) : undefined);
      await done();
      if (stays) throw new Failure(200, { error: `The servers were imported, but are still in the file of ${titleOf(stays.client)}: ${stays.error}`, code: "client_unchanged" });
    });
  }

  /** How those that were imported do by now. */
  async function refresh() {
    if (!taken?.size) return;
    const { servers } = await ask("servers");
    for (const one of servers) if (taken.has(one.name)) taken.set(one.name, one);
  }

  /** The same in a sentence, with what comes next. */
  function outcome() {
    if (!taken?.size) return null;
    const rows = [...taken.values()].filter(Boolean);
    const states = [...Map.groupBy(rows, (one) => serverState(one).textContent.toLowerCase())].map(([word, all]) => `${all.length} ${word}`).join(", ");
    const [next, way] = rows.some(needsYou) ? ["open the servers that need you", go("Show them", "/ui/?state=you", "btn small")] : ["connect a client", go("Connect a client", "/ui/clients", "btn small")];
    return note("done", [h("b", `Imported ${count(taken.size, "server")}`), states ? `: ${states}.` : ".", ` Next: ${next}.`], way, go("Servers", "/ui/", "btn small"));
  }

  /** Takes them out again. A place of one of them is left first: what the daemon would answer there is that there is no such server. */
  async function takeBack(id, servers) {
    const here = location.pathname;
    if (servers.some((name) => here.includes(`/${part(name)}`))) await frame.visit("/ui/add");
    return it.act("Removing…", async () => {
      const back = await undoChanges([id]);
      taken = null;
      await load();
      await done();
      toast(undoneWords(`Removed ${count(servers.length, "server")}`, back));
    });
  }

  function line(one) {
    const id = `take-${one.file}-${one.project ?? ""}-${one.written_name}`.replace(/[^A-Za-z0-9_-]/g, "_");
    const can = canCome(one);
    const box = boxes.box(one.name, { id, disabled: !can || Boolean(it.doing), "aria-describedby": `${id}-why`, ...(can ? {} : { checked: false }) });
    return row(id, [
      cell("tight", box),
      head("grow", h("label", { for: id }, said(can ? one.name : one.written_name))),
      cell("dim", said(titleOf(one.client)), one.project ? [", for ", h("code", said(short(one.project)))] : null),
      cell("full", h("code", said(one.starts))),
      h("td", { role: "cell", class: can && one.placeholders?.length ? "full set" : "full", id: `${id}-why` }, why(one), can ? blank.fields(one) : null),
    ]);
  }

  function why(one) {
    const parts = [];
    if (one.error) parts.push(h("div.bad", capital(one.error)));
    if (one.outcome === "new") parts.push("new");
    else if (one.outcome === "renamed") parts.push("new, called ", h("code", said(one.name)), ": ", sentence(one.reason ?? "renamed"));
    else if (one.outcome === "same" && taken?.has(one.name)) parts.push(state("ready", "imported"), " as ", h("a.u", { href: `/ui/servers/${part(one.name)}` }, said(one.name)));
    else if (one.outcome === "same") parts.push(h("span.dim", "same as ", said(one.name ?? ""), one.differing ? [", but with different ", said(one.differing.join(", "))] : null));
    else parts.push(h("span.dim", one.outcome === "ourselves" ? "mcpproxy itself" : "cannot be used", one.reason ? [": ", sentence(one.reason)] : null));
    if (one.disabled) parts.push(", stays disabled");
    if (one.quarantined) parts.push(", stays quarantined");
    if (one.warning) parts.push(h("div.sub", state("err", sentence(one.warning))));
    if (one.variables) parts.push(h("div.sub", "Gets these variables from the daemon: ", h("code", said(one.variables.join(", ")))));
    for (const need of one.needs ?? []) {
      if (need.is_set) continue;
      const what = need.kind === "secret" ? "needs a secret" : "needs a variable";
      const other = need.not_given ? ["; ", h("code", said(need.not_given)), " is stored for something else"] : null;
      parts.push(h("div.sub", state("auth", what), " ", h("code", said(need.name)), other, canCome(one) ? "; enter its value on the server’s page" : null));
    }
    if (one.literal_secrets?.length) parts.push(h("div.sub", "Secrets in plain text: ", h("code", said(one.literal_secrets.join(", ")))));
    if (one.left_behind?.length) parts.push(h("div.sub", "Not imported: ", said(one.left_behind.join(", "))));
    return parts;
  }

  const short = (path) => (found && path.startsWith(`${found.home}/`) ? `~${path.slice(found.home.length)}` : path);

  function render() {
    const title = h("h2", { id: "im-h" }, "Or import servers from your clients");
    const box = (aside, ...children) => h("section.sec", { id: "import", "aria-labelledby": "im-h" }, h("header", title, aside), children);
    if (!found) return box(null, it.failure ? failed(it.failure, button("Look again", () => load().then(frame.paint, () => {}))) : null);
    const faults = found.faults.map((fault) => h("p.hint.bad", h("span", h("code", said(short(fault.file))), " could not be read: ", sentence(fault.error))));
    for (const twice of found.repeated ?? []) {
      faults.push(h("p.hint.bad", h("span", h("code", said(short(twice.file))), ": ", h("code", said(twice.key)), " appears twice; the last one counts.")));
    }
    const where = h("p", found.files.length ? `found in ${count(found.files.length, "file")} in ` : "looked in ", h("code", said(found.home)));
    if (!found.servers.length) {
      return box(where, faults, outcome(), h("div.empty", h("b", "Nothing to import."), "Your clients’ files have no servers besides mcpproxy. To import from another file, paste its content above."));
    }
    const n = picked().length;
    const stored = picked().some((one) => one.literal_secrets?.length || one.placeholders?.some(isSecret)) ? offer.stored() : null;
    const titles = (clients) => clients.map(titleOf);
    const from = titles(movable());
    const [apart, parts] = [false, true].map((is) => titles(clientsOf().filter((client) => connected.has(client) === is)).filter((title) => !from.includes(title)).join(", "));
    const goes = offer.moves ? picked().filter((one) => movable().includes(one.client)).length : 0;
    const out = from.length ? offer.moved(`the ${from.length === 1 ? "file" : "files"} of ${from.join(", ")}`) : null;
    const act = it.doing ? h("span.wait", { role: "status" }, it.doing) : open().length ? [open().length > 1 ? boxes.all() : null, button(`${goes === n && n ? "Move" : "Import"} ${count(n, "server")}${goes && goes < n ? `, move ${goes}` : ""}`, take), out, parts ? h("span.hint", `To move the servers of ${parts}, choose all of them.`) : null, apart ? h("span.hint", "To move the servers of ", apart, ", ", h("a.u", { href: "/ui/clients" }, "connect the client"), " first.") : null, offer.held(), stored, n ? null : h("span.hint", "No server is chosen.")] : h("span.hint", "No new server to import.");
    return box(where, faults, it.failure ? failed(it.failure) : null, outcome(),
      table("fold", [["Import", "", true], ["Name"], ["From"], ["Command or URL"], ["State"]], [found.servers.map(line)]),
      h("div.bar.sec", act),
      lacking ? h("p.hint.bad", { role: "alert" }, icon("s-err"), h("span", lacking)) : null);
  }

  return { load, refresh, render, get found() { return found; }, get open() { return open(); } };
}

/** Names of programs for people; of those that can be connected the daemon's list has them. */
const TITLES = { "servers-json": "servers.json", magg: "Magg" };

export const nameClients = (clients) => { for (const one of clients) TITLES[one.client] = one.title; };

export const titleOf = (client) => TITLES[client] ?? client;
