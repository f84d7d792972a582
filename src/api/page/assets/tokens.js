// Tokens of clients: made, shown once with a text to send, listed with their last use, revoked.

import { ask, part, post, remove } from "./api.js";
import { h, icon, kept } from "./dom.js";
import { live } from "./live.js";
import { acting, button, cell, command, confirm, copying, failed, head, labelled, note, row, section, state, table, textBox, toast } from "./parts.js";
import { ago, at, said } from "./words.js";

const MAY = [
  ["read", "read", "tools that only read"],
  ["write", "read and write", "all but destructive tools"],
  ["all", "all", "every tool"],
];

const TIMES = [["90d", "in 90 days"], ["7d", "in 7 days"], ["30d", "in 30 days"], ["365d", "in a year"], ["", "never"]];

export const mayWord = (calls) => MAY.find(([key]) => key === calls)?.[1] ?? calls;

/** Milliseconds before its end in which a token is marked. */
const SOON = 7 * 86_400_000;

/** An address that no other machine reaches. */
const LOOPBACK = /^https?:\/\/(?:127\.|localhost|\[::1\])/;

export function tokens(frame) {
  let list = null;
  let names = { servers: [], profiles: [] };
  let revoking = null;
  const it = acting(frame);
  /** The token that was just made: it is shown until this place is left. */
  let made = null;
  const form = newToken();

  async function load() {
    const [told, servers, callers] = await Promise.all([ask("tokens"), ask("servers"), ask("access/callers")]);
    list = told;
    names = { servers: servers.servers.map((one) => one.name), profiles: callers.profiles, profileTools: callers.profile_tools, tools: new Map(servers.servers.map((one) => [one.name, one.enabled && !one.quarantined ? (one.tools ?? 0) - (one.held ?? 0) : 0])) };
  }

  const revoke = (name) => it.act("Revoking…", async () => {
    await remove(`tokens/${part(name)}`);
    revoking = null;
    if (made?.name === name) made = null;
    await load();
    toast(`Revoked ${name}`);
  });

  function line(token) {
    const where = token.profile ? ["profile ", h("a.u", { href: "#h-profiles" }, said(token.profile))] : token.servers ? said(token.servers.join(", ")) : h("span.dim", "all servers");
    const ends = token.expired ? state("off", "expired") : token.expires ? (Date.parse(token.expires) - Date.now() < SOON ? state("auth", ["soon: ", at(token.expires)]) : at(token.expires)) : h("span.dim", "never");
    const rows = [row(`token ${token.name}`, [
      head("grow", h("a.go", { href: `/ui/activity?caller=${part(token.subject)}` }, said(token.name)), " ", h("span.sub.mono", `${token.begins}…`)),
      cell("", mayWord(token.calls)),
      cell("full", where),
      labelled("r", "expires", ends),
      labelled("r", "last call", token.last_used ? ago(token.last_used) : h("span.dim", "never")),
      cell("act full", revoking === token.name ? null : button("Revoke", () => { revoking = token.name; frame.paint(); }, "btn small", { "aria-label": `Revoke ${token.name}` })),
    ])];
    if (revoking === token.name) {
      const ask = confirm(`Revoke ${token.name}?`, "mcpproxy refuses clients with this token within a second, even in open sessions. You cannot undo this.", `Revoke ${token.name}`, () => revoke(token.name), () => { revoking = null; frame.paint(); });
      rows.push(h("tr.open", { role: "row", "data-key": `revoke ${token.name}` }, h("td.full", { role: "cell", colspan: "6" }, ask)));
    }
    return rows;
  }

  function newToken() {
    const name = h("input.mono", { type: "text", id: "token-name", autocomplete: "off", spellcheck: "false", "aria-describedby": "token-name-e token-name-h", on: { input: () => lacks(false) } });
    const radio = (group, value, on, word, aside) => {
      const input = h("input", { type: "radio", name: group, value, checked: on });
      return h("label.radio", input, h("span", word, " ", h("span.dim", aside)));
    };
    const missing = h("p.hint.bad", { id: "token-name-e", hidden: true }, icon("s-err"), "A name is required.");
    const expires = h("select", { id: "token-expires" }, TIMES.map(([value, word]) => h("option", { value }, word)));
    const profile = h("select", { "aria-label": "Profile", hidden: true });
    const ticks = h("div", { hidden: true });
    const withChoice = h("fieldset.field", h("legend", "Servers"),
      radio("with", "all", true, "all servers", "including those you add later"),
      radio("with", "profile", false, "a profile", ""), profile,
      radio("with", "servers", false, "these servers", ""), ticks);
    const box = h("form", { "data-kept": "", "aria-label": "New token", on: { submit, change } },
      h("div.field", h("label", { for: "token-name" }, "Name"), name, missing, h("p.hint", { id: "token-name-h" }, "Rules and records use this name for the caller.")),
      h("fieldset.field", h("legend", "Calls"), MAY.map(([key, word, aside], i) => radio("may", key, i === 0, word, aside))),
      withChoice,
      h("div.field", h("label", { for: "token-expires" }, "Expires"), expires),
      h("p.acts.sec", h("button.btn.primary", { type: "submit" }, "Create token")),
      h("p.hint", "mcpproxy shows the token once, with a text that you can send."));
    const picked = (group) => box.querySelector(`input[name="${group}"]:checked`).value;

    function change() {
      const how = picked("with");
      [profile.hidden, ticks.hidden] = [how !== "profile", how !== "servers"];
      if (how === "profile") profile.replaceChildren(...names.profiles.map((one) => h("option", { value: one }, said(one))));
      if (how === "servers" && !ticks.childElementCount) {
        ticks.append(...names.servers.map((one) => h("label.radio", h("input", { type: "checkbox", name: "server", value: one }), h("span", said(one)))));
      }
    }

    function lacks(is) {
      missing.hidden = !is;
      if (is) name.setAttribute("aria-invalid", "true");
      else name.removeAttribute("aria-invalid");
    }

    function submit(event) {
      event.preventDefault();
      if (it.doing) return;
      lacks(!name.value.trim());
      if (!name.value.trim()) return name.focus();
      const how = picked("with");
      const body = { name: name.value.trim(), calls: picked("may") };
      if (expires.value) body.expires = expires.value;
      if (how === "profile") body.profile = profile.value;
      if (how === "servers") body.servers = [...ticks.querySelectorAll("input:checked")].map((input) => input.value);
      if (how === "servers" && !body.servers.length) return ticks.querySelector("input")?.focus();
      it.act("Creating…", async () => {
        made = await post("tokens", body);
        name.value = "";
        await load();
        requestAnimationFrame(() => document.getElementById("h-shown-once")?.scrollIntoView({ block: "center" }));
      });
    }

    return box;
  }

  function shownOnce() {
    if (!made) return null;
    const address = /^Address: (\S+)$/m.exec(made.text)?.[1];
    const without = made.text.replaceAll(made.token, "YOUR_TOKEN");
    return section("Shown once", h("p", "the token of ", said(made.name), "; copy it now, mcpproxy keeps only its hash"),
      h("div.cmd", h("code", made.token), copying("Copy token", made.token, "btn small")),
      h("h3.sec", `Text for ${made.name}`),
      textBox(made.text, `Text for ${made.name}`),
      LOOPBACK.test(live.status?.url ?? "") ? note("warn", ["The address in the text works on this machine only. For other machines, set ", h("a.u", { href: "/ui/settings" }, h("code", "listen")), "."]) : null,
      made.lacks_host ? note("warn", ["mcpproxy listens on all addresses. In the text, replace ", h("code", "MCPPROXY-HOST"), " with the name of this machine."]) : null,
      address ? [h("p.hint", "To connect Claude Code, run this command:"), command(`claude mcp add --transport http mcpproxy ${address} --header "Authorization: Bearer ${made.token}"`)] : null,
      h("div.line", copying("Copy text", made.text), copying("Copy without the token", without), button("Done", () => { made = null; frame.paint(); })));
  }

  function render() {
    const columns = [["Caller"], ["Calls"], ["Servers"], ["Expires", "r"], ["Last call", "r"], ["Action", "", true]];
    const inFile = list.in_file.length ? h("p.hint", `The configuration file contains tokens for ${list.in_file.join(", ")}.`) : null;
    return [
      it.failure ? failed(it.failure) : null,
      shownOnce(),
      section("Tokens", h("p", "mcpproxy keeps only their hashes"),
        list.tokens.length ? table("fold", columns, [list.tokens.map(line)]) : h("div.empty", h("b", "No tokens yet."), "Create a token for a colleague, another machine or a job."),
        list.tokens.length ? h("p.hint", MAY.map(([, word, aside], i) => [i ? " · " : "", h("b", word), `: ${aside}`])) : null, inFile),
    ];
  }

  const rail = () => kept(form);
  return { load, render, rail, leave: () => { made = null; }, required: () => list?.required ?? false, count: () => (list ? list.tokens.length + list.in_file.length : 0), names: () => names, of: (profile) => list.tokens.filter((one) => one.profile === profile).map((one) => one.name), note };
}
