// Who may use which tools: tokens, whether one is needed, rules in words, and profiles.

import { ask, part, patch, post, query, remove, undoChanges } from "./api.js";
import { accessCheck } from "./access_check.js";
import { h } from "./dom.js";
import { acting, button, cell, copying, failed, head, note, row, section, table, toast } from "./parts.js";
import { asker } from "./records.js";
import { tokens } from "./tokens.js";
import { count, number, said, sentence, some } from "./words.js";

/** Calls without a token that are looked at. */
const RECENT = 200;

export function access(_, frame) {
  let file, status, clients, without;
  const it = acting(frame);
  let asking = false;
  /** Whether clients of this machine get a token each, so that they go on. */
  let keepsIn = true;
  /** The profile that is edited: `{name, isNew, servers}`. */
  let editing = null;
  /** The rule that is edited: `{at, rule, isNew}`. */
  let ruling = null;
  const check = accessCheck();
  const list = tokens(frame);

  async function load() {
    let records, open;
    [file, status, clients, open, { records }] = await Promise.all([ask("config"), ask("status"), ask("clients").catch(() => null), ask("sessions").catch(() => null), ask(query("activity", { kind: "call", caller: "anonymous", since: "7d", limit: RECENT })), list.load()]);
    const anonymous = (open?.sessions ?? []).filter((one) => one.caller === "anonymous" && one.transport !== "stdio");
    without = [...new Set([...records.filter((one) => !one.parent && one.endpoint), ...anonymous].map(asker))].filter((name) => name !== "anonymous").sort();
  }

  /** Clients of this machine that come over the network and show no token. */
  const shutOut = () => (clients?.clients ?? []).filter((one) => one.connected && one.shows_token === false);

  /** Gives each of them a token of its own, in its file, and requires tokens then. Undone, the files and the setting go back together. */
  function require() {
    const out = keepsIn ? shutOut() : [];
    const restart = out.length ? `; restart ${some(out.map((one) => one.title), 5)}` : "";
    return it.act("Requiring tokens…", async () => {
      const given = [];
      try {
        for (const one of out) {
          await post(`clients/${part(one.client)}/token`, {});
          given.push(one.client);
        }
        await change([{ path: "serverAuth.required", value: true }], `Tokens are required${restart}`, given);
      } catch (error) {
        await takeBack(given);
        throw error;
      }
    });
  }

  const takeBack = async (given) => { for (const client of given) await remove(`clients/${part(client)}/token`); };

  async function change(changes, word, given = []) {
    const done = await patch("config", { changes });
    [asking, editing, ruling] = [false, null, null];
    await load();
    toast(word, done.id ? () => it.act("Undoing…", async () => {
      await undoChanges([done.id]);
      await load();
      // Nobody is let in again before a restart: until then they need theirs.
      if (changes.some(({ path }) => path === "serverAuth.required") && list.required()) return toast("Undone. Tokens are required until the daemon restarts");
      await takeBack(given);
      await load();
    }) : undefined);
  }

  const save = (changes, word) => it.act("Saving…", () => change(changes, word));

  function requiring() {
    const isOn = list.required();
    const out = shutOut().map((one) => one.title);
    const seen = without.length ? ` In the last 7 days, ${some(without, 5)} connected without a token; over HTTP, mcpproxy would refuse ${without.length === 1 ? "it" : "them"}.` : "";
    const names = `${out.length ? `mcpproxy would refuse ${some(out, 5)}, which ${out.length === 1 ? "has" : "have"} no token.` : seen ? "" : "mcpproxy would not refuse any known client."}${seen}`;
    if (isOn) {
      return section("Clients without a token", null, h("p", "mcpproxy refuses clients without a token. Clients that start ", h("code", "mcpproxy stdio"), " on this machine need none."));
    }
    const question = h("div.confirm", { role: "group", "aria-label": "Require tokens?" },
      h("div", h("b", "Require a token from every client?"), h("br"), h("span.soft", names, out.length ? h("label.own", h("input", { type: "checkbox", checked: keepsIn, on: { change: (event) => { keepsIn = event.target.checked; frame.paint(); } } }), " Write a new token into each client’s file") : null, list.count() || (keepsIn && out.length) ? "" : " There are no tokens yet, so no client could connect over HTTP.")),
      button("Not now", () => { asking = false; frame.paint(); }, "btn", { "data-safe": "" }),
      button("Require tokens", require, "btn primary"));
    return section("Clients without a token", null,
      h("p", "Clients without a token can connect. Rules and records call them ", h("code", "anonymous"), "."),
      asking ? question : h("p.acts", button("Require tokens…", () => { asking = true; frame.paint(); })));
  }

  const all = (names) => (names?.length ? some(names, 4) : null);

  /** A rule as a sentence. */
  function inWords(rule) {
    const who = [all(rule.subjects) ?? (rule.roles?.length ? "callers" : ""), rule.roles?.length ? ` with the role ${some(rule.roles, 4)}` : ""].join("");
    const what = rule.tools?.length ? h("code", said(some(rule.tools, 6))) : rule.policy === "deny" ? "anything" : "everything";
    const more = [rule.prompts ? "prompts " + some(rule.prompts, 3) : null, rule.resources ? "resources " + some(rule.resources, 3) : null].filter(Boolean);
    return [said(who || (rule.policy === "deny" ? "No caller" : "Every caller")), rule.policy === "deny" && who ? " may not use " : " may use ", what, more.length ? said(`, ${more.join(", ")}`) : null];
  }

  function rules() {
    const acl = file.settings.serverAuth?.acl;
    const known = acl?.rules ?? [];
    const line = (rule, i) => {
      const isOpen = ruling?.at === i;
      const toggle = () => { ruling = isOpen ? null : { at: i, rule }; frame.paint(); document.getElementById("rule-subjects")?.focus(); };
      return [row(`rule${i}`, [cell("tight dim", i + 1), cell("grow", inWords(rule)), cell("act", button(isOpen ? "Close" : "Edit", toggle, "btn small", { "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Close" : "Edit"} rule ${i + 1}` }))]),
        isOpen ? h("tr.open", { role: "row", "data-key": `open rule${i}` }, h("td.full", { role: "cell", colspan: "3" }, ruleForm(acl))) : null];
    };
    const otherwise = row("otherwise", [cell("tight dim", "–"), cell("grow soft", acl?.default === "deny" ? "Everything else is denied" : "Everything else is allowed"), cell("")]);
    const add = button("Add a rule", () => { ruling = { at: known.length, rule: {}, isNew: true }; frame.paint(); document.getElementById("rule-subjects")?.focus(); }, "end btn small");
    return section("Rules", [h("p", acl ? "the first rule that matches decides" : "none: every caller may use every tool, within the limits of its token"), add],
      ruling?.isNew ? ruleForm(acl) : null,
      acl ? table("fold", [["#"], ["Rule"], ["Action", "", true]], [[...known.map(line), otherwise]]) : null, check());
  }

  /** A rule as fields. What it says of prompts and resources stays. */
  function ruleForm(acl) {
    const { at, rule, isNew } = ruling;
    const known = acl?.rules ?? [];
    const names = (id) => document.getElementById(id).value.split(/[,\n]/).map((name) => name.trim()).filter(Boolean);
    const field = (id, label, value, aside) => h("div.field", h("label", { for: id }, label, " ", h("span.dim", aside)), h("input.mono", { type: "text", id, value: (value ?? []).join(", "), autocomplete: "off", spellcheck: "false", "data-kept": "" }));
    const radio = (value, word) => h("label.radio", h("input", { type: "radio", name: "rule-policy", value, checked: (rule.policy ?? "deny") === value }), h("span", word));
    const put = (rules, word) => save([acl ? { path: ["serverAuth", "acl", "rules"], value: rules } : { path: ["serverAuth", "acl"], value: { default: "allow", rules } }], word);
    const submit = (event) => {
      event.preventDefault();
      const lists = { subjects: names("rule-subjects"), roles: names("rule-roles"), tools: names("rule-tools") };
      const next = { ...rule, policy: event.target.querySelector("input[name=rule-policy]:checked").value };
      for (const [key, list] of Object.entries(lists)) if (list.length) next[key] = list; else delete next[key];
      const place = Math.min(known.length, Math.max(1, Number(document.getElementById("rule-place").value) || 1) - 1);
      return put(known.filter((_, i) => isNew || i !== at).toSpliced(place, 0, next), `Saved rule ${place + 1}`);
    };
    return h("form", { "aria-label": isNew ? "New rule" : `Rule ${at + 1}`, "data-key": `rule form ${at}`, on: { submit } },
      h("div.line", field("rule-subjects", "Callers", rule.subjects, "such as ci; every caller if empty"), field("rule-roles", "Roles", rule.roles, "optional")),
      h("fieldset.field.sec", { "data-kept": "" }, h("legend", "Decision"), radio("deny", "may not use"), radio("allow", "may use")),
      h("div.line", field("rule-tools", "Tools", rule.tools, "such as github__get_*; every tool if empty"), h("div.field.thin", h("label", { for: "rule-place" }, "Position"), h("input", { type: "number", id: "rule-place", min: "1", max: String(known.length + (isNew ? 1 : 0)), value: String(at + 1), "data-kept": "" }))),
      h("div.line", h("button.btn.primary", { type: "submit" }, "Save rule"), button("Cancel", () => { ruling = null; frame.paint(); }),
        isNew ? null : button("Remove", () => put(known.filter((_, i) => i !== at), `Removed rule ${at + 1}`), "btn danger")));
  }

  function profiles() {
    const known = file.settings.profiles ?? {};
    const address = (name) => `${status.url ?? ""}/p/${name}`;
    const line = (name) => {
      const isOpen = editing?.name === name && !editing.isNew;
      const rows = [row(`profile ${name}`, [
        head("grow", said(name)),
        cell("full", known[name]?.servers ? said(known[name].servers.join(", ") || "no servers") : h("span.dim", "all servers")),
        cell("", number(list.names().profileTools[name] ?? 0), known[name]?.tools ? [": ", h("code", said(some(known[name].tools, 4)))] : null),
        cell("", list.of(name).length ? said(some(list.of(name), 4)) : h("span.dim", "no token")),
        cell("full nowrap", h("code", `/mcp/p/${name}`), " ", copying("copy", address(name), "link small")),
        cell("act full", button(isOpen ? "Close" : "Edit", () => { editing = isOpen ? null : { name, servers: new Set(known[name]?.servers ?? list.names().servers) }; frame.paint(); }, "btn small", { "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Close" : "Edit"} ${name}` })),
      ])];
      if (isOpen) rows.push(h("tr.open", { role: "row", "data-key": `open ${name}` }, h("td.full", { role: "cell", colspan: "6" }, editor())));
      return rows;
    };
    const names = Object.keys(known);
    return section("Profiles", [h("p", "smaller sets of servers and tools, each with its own address"), button("New profile", () => { editing = { name: "", isNew: true, servers: new Set() }; frame.paint(); }, "end btn small")],
      editing?.isNew ? editor() : null,
      names.length ? table("fold", [["Profile"], ["Servers"], ["Tools"], ["Tokens"], ["Address"], ["Action", "", true]], [names.map(line)]) : editing ? null : h("p.dim", "No profiles yet."));
  }

  function editor() {
    const { name, isNew, servers } = editing;
    const ofServer = (server) => list.names().tools.get(server) ?? 0;
    const known = isNew ? undefined : file.settings.profiles?.[name];
    const tick = (server, i) => h("li", h("input", { type: "checkbox", id: `p${i}`, checked: servers.has(server), on: { change: (event) => { servers[event.target.checked ? "add" : "delete"](server); frame.paint(); } } }), h("label", { for: `p${i}` }, said(server)), h("span.dim.small", ` ${number(ofServer(server))}`));
    const most = [...servers].reduce((sum, server) => sum + ofServer(server), 0);
    const patterns = h("textarea.mono", { id: "profile-tools", rows: 3, spellcheck: "false", "data-kept": "", "aria-describedby": "profile-tools-h" }, (known?.tools ?? []).join("\n"));
    const field = h("input.mono", { type: "text", id: "profile-name", value: name, autocomplete: "off", "data-kept": "", on: { input: ({ target }) => target.setCustomValidity("") } });
    const submit = (event) => {
      event.preventDefault();
      const given = document.getElementById("profile-name");
      const called = isNew ? given.value.trim() : name;
      if (!called) return given.focus();
      if (isNew && Object.hasOwn(file.settings.profiles ?? {}, called)) {
        given.setCustomValidity(`Nothing was saved: a profile named ${called} already exists.`);
        return given.reportValidity();
      }
      const tools = document.getElementById("profile-tools").value.split("\n").map((line) => line.trim()).filter(Boolean);
      // A profile of all servers stays one, also of those that come later: an empty list would be none.
      const isWhole = !servers.size || (known && !known.servers && servers.size === list.names().servers.length);
      const lists = { ...(isWhole ? {} : { servers: [...servers] }), ...(tools.length ? { tools } : {}) };
      if (isNew) return save([{ path: ["profiles", called], value: lists }], `Saved profile ${called}`);
      return save(["servers", "tools"].filter((key) => lists[key] || known?.[key]).map((key) => ({ path: ["profiles", called, key], value: lists[key] ?? null })), `Saved profile ${called}`);
    };
    return h("form", { "aria-label": isNew ? "New profile" : `Servers of ${name}`, on: { submit } },
      isNew ? h("div.line", h("div.field", h("label", { for: "profile-name" }, "Name"), field)) : null,
      h("ul.ticks.sec", list.names().servers.map(tick)),
      h("p.hint", { role: "status" }, servers.size ? `${count(servers.size, "server")} with ${count(most, "tool")}; patterns and hidden tools may reduce the number.` : "No server is chosen, so the profile has all servers, including those you add later."),
      h("div.field.sec", h("label", { for: "profile-tools" }, "Tools", h("span.dim", "optional, one pattern per line")), patterns, h("p.hint", { id: "profile-tools-h" }, "Such as ", h("code", "github__get_*"), " or ", h("code", "*__list_*"), "; all tools of these servers if empty.")),
      h("div.line", h("button.btn", { type: "submit" }, isNew ? "Save profile" : `Save ${name}`), button("Cancel", () => { editing = null; frame.paint(); }, "btn"),
        isNew ? null : button("Remove", () => save([{ path: ["profiles", name], value: null }], `Removed profile ${name}`), "btn danger")));
  }

  function render() {
    const sub = list.required() ? "Tokens, rules and profiles. mcpproxy refuses clients without a token." : "Tokens, rules and profiles. Clients without a token can connect, as the caller anonymous.";
    return [
      h("div.title", h("div", h("h1", "Access"), h("p.sub", sub)), h("div.acts", h("a.btn", { href: "/ui/clients" }, "Clients"))),
      it.failure ? failed(it.failure) : null,
      status.warnings.filter((warning) => warning.key?.startsWith("serverAuth")).map((warning) => note("warn", sentence(warning.text))),
      h("div.cols.wide", h("div", list.render(), requiring(), rules(), profiles()),
        h("aside.rail", { "aria-labelledby": "h-new-token" }, h("h2", { id: "h-new-token" }, "New token"), h("p.hint", "Create a token for a colleague, another machine or a job."), list.rail())),
    ];
  }

  return { title: "Access", tab: "access", filters: [], waiting: "Reading tokens and rules…", load, refresh: load, render, leave: list.leave };
}
