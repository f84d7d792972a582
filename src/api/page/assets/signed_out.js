// What is shown to a browser that is not logged in.

import { h } from "./dom.js";
import { button, command, note } from "./parts.js";

export function signedOut() {
  return h(
    "div.hero",
    h("h1", "This page is not logged in"),
    h("p.soft", "Its login has ended, or there was none in this browser. Run this on the machine of the daemon: it opens this page with a link that works once."),
    h("div.sec", command("mcpproxy ui")),
    h("p.hint", h("code", "mcpproxy ui --print"), " prints the link, for a browser elsewhere."),
    h("p.acts.sec", button("Try again", () => location.reload())),
  );
}

/** The same above what somebody has typed, which stays. */
export const signedOutNote = () => note("err", [
  h("b", "This page is not logged in any more."), " What you typed is kept. Run ", h("code", "mcpproxy ui"), " on the machine of the daemon: it opens another tab with a new login (",
  h("code", "mcpproxy ui --print"), " prints the link, to be opened in this browser). Then go on here.",
]);
