// Forms that ask whether somebody may have a tool, and what it would find. Made once, so that what was typed stays.

import { Failure, post } from "./api.js";
import { fill, h, kept } from "./dom.js";
import { state } from "./parts.js";
import { capital, sentence } from "./words.js";

/** A form that asks whether a caller may have a tool. `callers` gives the known ones. */
export function accessCheck() {
  const who = h("input.mono.short", { type: "text", "aria-label": "Caller", placeholder: "anonymous", autocomplete: "off" });
  const what = h("input.mono.short", { type: "text", "aria-label": "Tool as SERVER:TOOL", placeholder: "server:tool", autocomplete: "off" });
  const verdict = h("span", { role: "status" });
  const form = h("form.bar.sec", { "data-kept": "", "aria-label": "Check access", on: { submit } },
    h("label", "May ", who), h("label", "call ", what), h("button.btn", { type: "submit" }, "Check"), verdict);

  async function submit(event) {
    event.preventDefault();
    const [server, ...rest] = what.value.trim().split(":");
    const question = rest.length ? { server, name: rest.join(":") } : { kind: "built_in", name: server };
    if (!server) return what.focus();
    try {
      const told = await post("access/check", { subject: who.value.trim() || "anonymous", ...question });
      fill(verdict, told.allowed ? state("ready", "Yes") : told.step?.do.startsWith("show_") ? state("err", "Not found") : state("held", "No"), " ", sentence(because(told)), told.note ? h("span.soft", "; ", sentence(told.note)) : null);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      fill(verdict, state("err", capital(failure.message)));
    }
  }

  return () => kept(form);
}

/** What decided. The table counts rules from 1, the file from 0, and has them in words. */
export function because({ allowed, decided_by: by, rule, reason, kind, step, subject }) {
  const verdict = allowed ? "allowed" : "denied";
  if (rule !== undefined) return `${verdict} by rule ${rule + 1}`;
  if (by === "default") return `${verdict} by the default: no rule matches`;
  if (by === "token") return `the token of ${subject} does not allow this; create a token with wider limits in Access`;
  return kind === "built_in" && step?.do === "show_tools" ? "name the tool as SERVER:TOOL, such as github:get_issue" : reason;
}
