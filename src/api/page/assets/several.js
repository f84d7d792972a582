// Several servers at once: a choice of rows, and one verb for all of them.

import { post } from "./api.js";
import { h } from "./dom.js";
import { acting, button, failed, note, ticksOf, toast } from "./parts.js";
import { count, number, said } from "./words.js";

/** What is shown while it is done and afterwards, and what undoes it. */
const VERBS = { enable: ["Enabling", "Enabled", "disable"], disable: ["Disabling", "Disabled", "enable"], restart: ["Restarting", "Restarted"] };

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
  let course = null;

  /** The box in a row, where rows are being chosen. The demo has no entry that could be changed. */
  const box = (one) => (isOpen ? [boxes.box(one.name, { "aria-label": `Choose ${one.name}`, disabled: Boolean(it.doing || one.demo) }), " "] : null);

  /** One change of the file for all of them. Restarts change nothing there and go in steps, between which one can stop. */
  function act(verb, servers, isAgain = false) {
    const [doing, word, back] = VERBS[verb];
    const [all, step] = [[], back ? MOST : STEP];
    course = { done: 0, of: servers.length, step };
    return servers.length && it.act(`${doing} ${count(servers.length, "server")}…`, async () => {
      refused = [];
      while (all.length < servers.length && !course.isOver) {
        const { changes } = await post("changes", { verb, servers: servers.slice(all.length, all.length + step) }, { patience: PATIENCE });
        all.push(...changes);
        course.done = all.length;
        frame.paint();
      }
      refused = all.filter((one) => one.error);
      const [done, rest] = [all.length - refused.length, servers.length - all.length];
      const changed = all.filter((one) => one.changed?.length).map((one) => one.server.name);
      if (done) toast(`${word} ${count(done, "server")}${rest ? `, left ${number(rest)} as they were` : ""}`, back && changed.length && !isAgain ? () => act(back, changed, true) : undefined);
      picked.clear();
    });
  }

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
    const verb = (word, key) => button(word, () => act(key, names), "btn small");
    return [
      h("div.bar.pick", { role: "group", "aria-label": "Several at once" },
        boxes.all(it.doing),
        it.doing ? progress() : names.length ? [h("span", { role: "status" }, `${number(names.length)} chosen`), verb("Enable", "enable"), verb("Disable", "disable"), verb("Restart", "restart")] : h("span.dim", "Choose servers.")),
      it.failure ? failed(it.failure) : null,
      refused.length ? note("err", refused.map((one) => h("div", h("b", said(one.name)), ": ", said(one.error)))) : null,
    ];
  }

  const toggle = () => button(isOpen ? "Done" : "Choose several", () => { isOpen = !isOpen; picked.clear(); [it.failure, refused] = [null, []]; frame.paint(); }, "btn", { "aria-pressed": String(isOpen) });

  return { box, bar, toggle };
}
