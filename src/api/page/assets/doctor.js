// What may be wrong, each thing with what to do: looked for when a person asks.

import { ask, part } from "./api.js";
import { h } from "./dom.js";
import { acting, button, cell, failed, go, head, row, section, state, stepWords, table } from "./parts.js";
import { capital, count, said, sentence } from "./words.js";

/** Milliseconds that it may take: a login shell is asked for its PATH. */
const PATIENCE = 60_000;

const WORST = ["fail", "warn", "ok"];
const STATES = { fail: ["err", "problem"], warn: ["auth", "warning"], ok: ["ready", "ok"] };

/** Where on this page it is mended; the daemon names commands of the terminal. */
function wayOf({ check, where, severity }) {
  if (severity === "ok") return null;
  if (check === "server" && where) return go(["Open ", said(where)], `/ui/servers/${part(where)}`, "btn small");
  if (check === "client") return go("Clients", "/ui/clients", "btn small");
  return check === "configuration" && severity === "fail" ? go("Servers that need you", "/ui/?state=you", "btn small") : null;
}

export function doctor(frame) {
  let report = null;
  let servers = [];
  let isAll = false;
  const it = acting(frame);
  const look = () => it.act("Checking…", async () => { [report, { servers }] = await Promise.all([ask("doctor", { patience: PATIENCE }), ask("servers")]); });

  /** What to do, in the words of the page where it has a way to do it. */
  function stepOf(finding) {
    const [way, of] = [wayOf(finding), finding.check === "server" && servers.find((one) => one.name === finding.where)];
    return [way, of?.step ? h("div.sub", "Next: ", sentence(stepWords(of))) : finding.fix && !way ? h("div.sub", capital(finding.fix)) : ""];
  }

  function line(finding, i) {
    const [kind, word] = STATES[finding.severity] ?? ["off", finding.severity];
    return row(`finding ${i} ${finding.check}`, [
      head("", said(finding.check)),
      cell("nowrap", state(kind, word)),
      cell("full", capital(finding.what), finding.where ? h("div.sub", h("code", said(finding.where))) : null),
      cell("full soft", stepOf(finding)),
    ]);
  }

  function render() {
    const press = it.doing ? h("span.end.wait", { role: "status" }, it.doing) : button(report ? "Check again" : "Find problems", look, "end link small");
    const aside = [h("p", "checks the program, its port and files, secrets, servers and clients; starts no server"), press];
    if (!report) return section("Doctor", aside, it.failure ? failed(it.failure) : null);
    const sorted = [...report.findings].sort((a, b) => WORST.indexOf(a.severity) - WORST.indexOf(b.severity));
    const wrong = sorted.filter((finding) => finding.severity !== "ok");
    const shown = isAll ? sorted : wrong;
    const rest = sorted.length - wrong.length;
    return section("Doctor", aside, it.failure ? failed(it.failure) : null,
      h("p", { role: "status" }, wrong.length ? `${count(wrong.length, "problem or warning", "problems or warnings")}; ${count(rest, "check passes", "checks pass")}.` : `All ${rest} checks pass.`),
      shown.length ? table("fold", [["Check"], ["Result"], ["Finding"], ["Next step"]], [shown.map(line)]) : null,
      h("p.hint", button(isAll ? "Show only problems" : "Show all checks", () => { isAll = !isAll; frame.paint(); }, "link small")));
  }

  return { render };
}
