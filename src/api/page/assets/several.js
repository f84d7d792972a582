// Several servers at once: a choice of rows, and one verb for all of them.

import { post, undoChanges } from "./api.js";
import { h } from "./dom.js";
import { acting, button, confirm, failed, hasFailed, note, ticksOf, toast, undoneWords } from "./parts.js";
import { count, number, said, sentence, some } from "./words.js";

/** What is shown for it, while it is done and afterwards, and whether it changes the file. */
const VERBS = {
  enable: ["Enable", "Enabling", "Enabled", true],
  disable: ["Disable", "Disabling", "Disabled", true],
  restart: ["Restart", "Restarting", "Restarted", false],
  quarantine: ["Quarantine", "Quarantining", "Quarantined", true],
  remove: ["Remove", "Removing", "Removed", true],
};

/** Why nothing was done to a server, without its name. */
const REFUSED = { server_disabled: "not done, because the server is disabled", server_quarantined: "not done, because the server is quarantined" };

/** Milliseconds for one request. */
const PATIENCE = 300_000;

/** Limit: servers of one change of the file; and of a step of restarts. */
const MOST = 256;
const STEP = 8;

export function several(frame) {
  let isOpen = false;
  const it = acting(frame);
  let refused = [];
  const picked = new Set();
  /** Those that are shown and can be chosen. */
  let free = [];
  const boxes = ticksOf(frame, picked, () => free);
  /** How far it is, where it takes steps: `{done, of, step, isOver}`. */
  let course = {};
  let isAsked = false;

  /** The box in a row, where rows are being chosen. The demo has no entry that could be changed. */
  const box = (one) => (isOpen ? [boxes.box(one.name, { "aria-label": `Choose ${one.name}`, disabled: Boolean(it.doing || one.demo) }), " "] : null);

  /** One change of the file for all of them, which is undone as one. Restarts change nothing there and go in steps, between which one can stop. */
  function act(verb, servers) {
    const [, doing, word, isInFile] = VERBS[verb];
    const [all, step] = [[], isInFile ? MOST : STEP];
    [course, isAsked] = [{ done: 0, of: servers.length, step }, false];
    return servers.length && it.act(`${doing} ${count(servers.length, "server")}…`, async () => {
      refused = [];
      while (all.length < servers.length && !course.isOver) {
        const { changes } = await post("changes", { verb, servers: servers.slice(all.length, all.length + step) }, { patience: PATIENCE });
        all.push(...changes);
        course.done = all.length;
        frame.paint();
      }
      // One that was restarted and ended again is not running.
      refused = all.map((one) => ({ name: one.name ?? one.server.name, why: one.error ? REFUSED[one.code] ?? one.error : verb === "restart" && hasFailed(one.server) && one.server.reason })).filter((one) => one.why);
      const [done, rest] = [all.length - refused.length, servers.length - all.length];
      const ids = [...new Set(all.map((one) => one.id).filter(Boolean))].reverse();
      toast(`${word} ${refused.length ? `${number(done)} of ` : ""}${count(all.length, "server")}${rest ? `, ${number(rest)} not done` : ""}`, ids.length ? () => undo(ids) : undefined);
      picked.clear();
    });
  }

  const undo = (ids) => it.act("Undoing…", () => undoChanges(ids).then((back) => toast(undoneWords("Undone", back))));

  function progress() {
    const { done, of, step, isOver } = course;
    return [h("span.wait", { role: "status" }, `${it.doing}${done ? ` ${number(done)} of ${number(of)}` : ""}`),
      of > step ? button(isOver ? "Stopping…" : "Stop", () => { course.isOver = true; frame.paint(); }, "btn small") : null];
  }

  /** What can be done with those that were chosen, of the rows that are shown. */
  function bar(rows) {
    if (!isOpen) return null;
    free = rows.filter((one) => !one.demo).map((one) => one.name);
    const names = [...picked];
    const sure = (is) => { isAsked = is; frame.paint(); };
    const verb = (key) => button(VERBS[key][0], () => (key === "remove" ? sure(true) : act(key, names)), "btn small");
    return [
      h("div.bar.pick", { role: "group", "aria-label": "Several at once" },
        boxes.all(it.doing),
        it.doing ? progress() : names.length ? [h("span", { role: "status" }, `${number(names.length)} chosen`), Object.keys(VERBS).map(verb)] : h("span.dim", "No server is chosen.")),
      isAsked && names.length ? confirm(`Remove ${count(names.length, "server")}?`, `Deletes the entries, logs and logins of ${some(names, 8)}. Undo restores only the entries.`, `Remove ${count(names.length, "server")}`, () => act("remove", names), () => sure(false)) : null,
      it.failure ? failed(it.failure) : null,
      refused.length ? note("err", refused.map((one) => h("div", h("b", said(one.name)), ": ", sentence(one.why)))) : null,
    ];
  }

  const toggle = () => button(isOpen ? "Done" : "Choose several", () => { isOpen = !isOpen; picked.clear(); [it.failure, refused, isAsked] = [null, [], false]; frame.paint(); }, "btn", { "aria-pressed": String(isOpen) });

  return { box, bar, toggle };
}
