// Several servers at once: a choice of rows, and one verb for all of them.

import { post } from "./api.js";
import { h } from "./dom.js";
import { acting, button, failed, note, ticksOf, toast } from "./parts.js";
import { count, number, said } from "./words.js";

const DONE = { enable: "Enabled", disable: "Disabled", restart: "Restarted" };
const UNDO = { enable: "disable", disable: "enable" };

/** Milliseconds for all of them. */
const PATIENCE = 300_000;

export function several(frame) {
  let isOpen = false;
  const it = acting(frame);
  let refused = [];
  const picked = new Set();
  /** Those that are shown and can be chosen. */
  let free = [];
  const boxes = ticksOf(frame, picked, () => free);
  /** What is being made of how many. */
  let goal = null;

  /** The box in a row, where rows are being chosen. The demo has no entry that could be changed. */
  const box = (one) => (isOpen ? [boxes.box(one.name, { "aria-label": `Choose ${one.name}`, disabled: Boolean(it.doing || one.demo) }), " "] : null);

  function act(verb, servers, isAgain = false) {
    return servers.length && it.act(`${verb === "restart" ? "Restarting" : verb === "enable" ? "Enabling" : "Disabling"} ${count(servers.length, "server")}…`, async () => {
      refused = [];
      goal = verb === "restart" ? null : { enabled: verb === "enable", names: new Set(servers) };
      const { changes } = await post("changes", { verb, servers }, { patience: PATIENCE });
      refused = changes.filter((one) => one.error);
      const names = servers.filter((name) => !refused.some((one) => one.name === name));
      if (names.length) toast(`${DONE[verb]} ${count(names.length, "server")}`, UNDO[verb] && !isAgain ? () => act(UNDO[verb], names, true) : undefined);
      picked.clear();
    });
  }

  /** How far it is: those that are not yet as they are to be are still listed. */
  function progress(rows) {
    const open = rows.filter((one) => goal?.names.has(one.name) && one.enabled !== goal.enabled).length;
    const done = goal ? goal.names.size - open : 0;
    return !done ? it.doing : `${it.doing} ${number(done)} of ${number(goal.names.size)}`;
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
        it.doing ? h("span.wait", { role: "status" }, progress(rows)) : names.length ? [h("span", { role: "status" }, `${number(names.length)} chosen`), verb("Enable", "enable"), verb("Disable", "disable"), verb("Restart", "restart")] : h("span.dim", "Choose servers.")),
      it.failure ? failed(it.failure) : null,
      refused.length ? note("err", refused.map((one) => h("div", h("b", said(one.name)), ": ", said(one.error)))) : null,
    ];
  }

  const toggle = () => button(isOpen ? "Done" : "Choose several", () => { isOpen = !isOpen; picked.clear(); [it.failure, refused] = [null, []]; frame.paint(); }, "btn", { "aria-pressed": String(isOpen) });

  return { box, bar, toggle };
}
