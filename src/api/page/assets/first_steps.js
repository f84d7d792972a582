// The strip of the first hour: servers, a client, a first call. It stays until all three are true, and never comes back.

import { ask, query } from "./api.js";
import { h, icon } from "./dom.js";
import { copying } from "./parts.js";
import { count } from "./words.js";

const DONE = "mcpproxy-first-steps";
const ASK = "search mcpproxy for tools";

/** A browser may keep nothing: then the strip ends with the visit. */
function kept() {
  try {
    return localStorage.getItem(DONE);
  } catch {
    return null;
  }
}

function keep() {
  try {
    localStorage.setItem(DONE, "1");
  } catch {
    // The next visit looks again.
  }
}

export function firstSteps() {
  let isDone = kept() === "1";
  let clients = null;
  let hasCalled = false;

  async function load(servers) {
    if (isDone || !servers.some((one) => !one.demo)) return;
    // Files of clients are read once for each visit.
    clients ??= (await ask("clients").catch(() => ({ clients: [] }))).clients;
    if (!hasCalled) hasCalled = (await ask(query("activity", { kind: "call", limit: 20 }))).records.some((record) => record.caller !== "operator");
    if (hasCalled) {
      isDone = true;
      keep();
    }
  }

  function render(servers) {
    if (isDone || !clients) return null;
    const connected = clients.filter((one) => one.connected).length;
    const found = clients.filter((one) => one.found).length;
    const step = (n, isTrue, isNow, ...words) => h(`li${isTrue ? ".done" : isNow ? ".now" : ""}`, h("span.n", isTrue ? icon("check") : n), words);
    return h("ol.todo", { "aria-label": "First steps" },
      step(1, true, false, h("span", `${count(servers.length, "server")} added`)),
      step(2, connected > 0, connected === 0, h("span", connected ? `${count(connected, "client")} connected` : "Connect a client"), connected ? null : [" ", h("span.soft", found ? `${count(found, "client")} found, none connected` : "no client found"), " ", h("a.btn.small", { href: "/ui/clients" }, "Connect a client")]),
      step(3, false, connected > 0, h("span", "First call"), " ", h("span.soft", "no call yet; ask your client: “", ASK, "”"), " ", copying("copy", ASK, "link small")));
  }

  return { load, render };
}
