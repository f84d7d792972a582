// What is in force and where it comes from: the daemon, the keys of the file with their defaults, who may have what, and profiles.

import { Failure, ask, post } from "./api.js";
import { clients } from "./clients.js";
import { doctor } from "./doctor.js";
import { fill, h } from "./dom.js";
import { button, cell, coloured, facts, failed, go, head, json, note, row, section, state, table } from "./parts.js";
import { bytes, capital, count, number, said, sentence, span } from "./words.js";

/** Keys that are shown at first: those that are set, and those that are most asked for. */
const ASKED = ["routing_mode", "tools_limit", "top_k", "management", "activity.max_age", "activity.arguments", "tool_discovery_interval", "enable_code_execution", "listen"];

/** Keys that are shown elsewhere on this page, or are servers. */
const ELSEWHERE = new Set(["$schema", "mcpServers", "serverAuth", "profiles"]);

export function settings(query, frame) {
  let status, file, schema, unreadable;
  let isAll = query.get("all") === "1";
  const check = accessCheck();
  const list = clients(frame);
  const checkUp = doctor(frame);
  let isFile = false;

  async function load() {
    await Promise.all([refresh(), list.load()]);
  }

  async function refresh() {
    status = await ask("status");
    try {
      [file, schema] = await Promise.all([ask("config"), schema ?? ask("config/schema")]);
      unreadable = null;
    } catch (failure) {
      // A file that cannot be used says nothing of itself; the daemon does.
      if (!(failure instanceof Failure) || failure.isSignedOut || failure.isGone) throw failure;
      [file, unreadable] = [null, failure];
    }
  }

  function render() {
    const auth = file?.settings.serverAuth;
    return [
      h("div.title", h("div", h("h1", "Settings"), h("p.sub", "What is in force and where it comes from. The file is the truth: an edit there shows here within a second.")),
        h("div.acts",
          file ? button(isFile ? "Hide the file" : "Show the file", () => { isFile = !isFile; frame.paint(); }, "btn", { "aria-expanded": String(isFile) }) : null,
          go("JSON Schema", "/api/v1/config/schema"))),
      isFile && file ? section("File", h("p", "of ", h("code", said(file.config_file)), "; comments are left out, secrets are masked"), json(file.settings, "The configuration file", "code short")) : null,
      status.warnings.map((warning) => note("warn", capital(warning))),
      file ? [values(), h("div.cols.even", access(auth?.acl), profiles(file.settings.profiles))] : failed(unreadable),
      section("Clients", h("p", "each file is backed up first, and you see the change before it is made"), list.render()),
      checkUp.render(),
      daemon(),
    ];
  }

  function values() {
    const rows = keysOf(schema, file.settings);
    // What `serve` was told counts more than the file.
    const told = { listen: status.listen[0], routing_mode: status.routing_mode };
    for (const one of rows) {
      if (told[one.key] && told[one.key] !== one.value) Object.assign(one, { value: told[one.key], isTold: true });
    }
    const shown = isAll ? rows : rows.filter((one) => one.isSet || ASKED.includes(one.key));
    const line = ({ key, value, isSet, isOff, isTold, meaning, waits }) => row(key, [
      head("mono grow key", key),
      cell("mono value", coloured(value)),
      cell("dim", isTold ? "command line" : isSet ? "file" : isOff ? "not set" : "default"),
      cell("full soft", sentence(meaning)),
      cell("r dim hide", waits ? "restart" : "now"),
    ]);
    const all = button(isAll ? "Show fewer" : "Show all", () => frame.visit(isAll ? "/ui/settings" : "/ui/settings?all=1"), "end link small");
    return section("Values", [h("p", `${shown.length} of ${rows.length}, of `, h("code", said(file.config_file)), file.exists ? "" : ", which is not there yet"), all],
      table("fold", [["Key"], ["Value"], ["From"], ["Meaning"], ["Takes effect", "r"]], [shown.map(line)]));
  }

  function access(acl) {
    const rules = acl?.rules ?? [];
    const list = (names, everybody) => (names?.length ? said(names.join(", ")) : h("span.dim", everybody));
    const line = (rule, i) => row(`rule${i}`, [
      cell("tight dim", i + 1),
      cell("grow", list([...(rule.subjects ?? []), ...(rule.roles ?? []).map((role) => `role ${role}`)], "everybody")),
      cell("", rule.tools?.length ? h("code", said(rule.tools.join(", "))) : h("span.dim", "all tools")),
      cell(rule.policy === "deny" ? "bad" : "", said(rule.policy)),
    ]);
    return section("Access", h("p", acl ? `first match wins, otherwise ${acl.default}` : "no rules: whoever may connect may have everything"),
      rules.length ? table("fold", [["Rule"], ["Who"], ["What"], ["Policy"]], [rules.map(line)]) : null, check());
  }

  function profiles(known) {
    const names = Object.keys(known ?? {});
    const line = (name) => row(`profile${name}`, [
      head("grow", said(name)),
      cell("", known[name]?.servers?.length ? said(known[name].servers.join(", ")) : h("span.dim", "all servers")),
      cell("", known[name]?.tools?.length ? h("code", said(known[name].tools.join(", "))) : h("span.dim", "all their tools")),
      cell("full", h("code", `/mcp/p/${name}`)),
    ]);
    return section("Profiles", h("p", "a smaller set at its own address"),
      names.length ? table("fold", [["Profile"], ["Servers"], ["Tools"], ["Address"]], [names.map(line)]) : h("p.dim", "None is configured: ", h("code", "profiles"), " in the file makes them."));
  }

  function daemon() {
    const { activity } = status;
    return section("Daemon", null, facts([
      ["Data folder", h("code", said(status.data_dir))],
      ["Clients connect to", status.url ? h("code", status.url) : "the local socket only"],
      ["Listens at", status.listen.length ? status.listen.map((one, i) => [i ? ", " : "", h("code", said(one))]) : "the local socket only"],
      ["Access", status.access ? said(status.access) : "everybody on this machine may have everything"],
      ["Rate limit", status.rate_limit ? said(status.rate_limit) : "none"],
      ["Lock file", status.lock_file ? h("code", said(status.lock_file)) : "none"],
      ["Log", status.log_file ? h("code", said(status.log_file)) : "stderr of the daemon"],
      ["Version", `${status.version}, process ${status.pid}, up ${span(status.uptime_seconds)}`],
      ["Client sessions", `${number(status.sessions)} open`],
      ["In flight", count(status.in_flight ?? 0, "call")],
      ["Memory", status.memory_bytes === undefined ? undefined : `${bytes(status.memory_bytes)}, without the servers`],
      ["Activity log", activity ? `${count(activity.records ?? 0, "record")}, ${bytes(activity.size_bytes ?? 0)}${activity.not_kept ? `, ${number(activity.not_kept)} not kept` : ""}` : undefined],
      ["This page", button("Log out", logOut, "link")],
    ]));
  }

  async function logOut() {
    await post("ui/logout");
    frame.soon();
  }

  return { title: "Settings", tab: "settings", waiting: "Reading the settings…", load, refresh, navigate: (now) => { isAll = now.get("all") === "1"; }, render };
}

/** The keys of the schema, those of objects with their path, and what the file says of each. */
function keysOf(schema, settings, path = "", rows = []) {
  for (const [key, of] of Object.entries(schema.properties ?? {})) {
    if (!path && ELSEWHERE.has(key)) continue;
    const name = path ? `${path}.${key}` : key;
    const value = settings?.[key];
    if (of.properties && !of.default && of.type === "object") {
      keysOf(of, value, name, rows);
      continue;
    }
    const isSet = value !== undefined;
    const shown = isSet ? value : of.default;
    rows.push({
      key: name, isSet, isOff: shown === undefined,
      value: shown === undefined ? "" : typeof shown === "string" ? shown : JSON.stringify(shown),
      meaning: of.description ?? "", waits: /after a restart/.test(of.description ?? ""),
    });
  }
  return rows;
}

/** A form that asks whether somebody may have a tool. Made once, so that what was typed stays. */
function accessCheck() {
  const who = h("input.mono.short", { type: "text", "aria-label": "Subject", placeholder: "anonymous", autocomplete: "off" });
  const what = h("input.mono.short", { type: "text", "aria-label": "Tool as SERVER:TOOL", placeholder: "server:tool", autocomplete: "off" });
  const verdict = h("span", { role: "status" });
  const form = h("form.bar.sec", { "data-kept": "", "aria-label": "Check access", on: { submit } },
    h("label", "May ", who), h("label", "call ", what), h("button.btn", { type: "submit" }, "Check"), verdict);

  async function submit(event) {
    event.preventDefault();
    const [server, ...rest] = what.value.trim().split(":");
    const question = rest.length ? { server, name: rest.join(":") } : { kind: "built_in", name: server };
    if (!server) {
      what.focus();
      return;
    }
    try {
      const told = await post("access/check", { subject: who.value.trim() || "anonymous", ...question });
      fill(verdict, told.allowed ? state("ready", "Yes") : state("held", "No"), " ", sentence(inRows(told.reason)), told.note ? h("span.soft", "; ", sentence(told.note)) : null);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      fill(verdict, state("err", said(failure.message)));
    }
  }

  return () => (form.isConnected ? h("form.bar.sec", { "data-kept": "" }) : form);
}

/** The table counts rules from 1, the file from 0. */
const inRows = (reason) => reason.replace(/serverAuth\.acl\.rules\[(\d+)\]/, (_, n) => `rule ${Number(n) + 1}`).replace("serverAuth.acl.default", "the default");
