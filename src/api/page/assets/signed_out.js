// What is shown to a browser that is not logged in.

import { h } from "./dom.js";
import { button, command, note } from "./parts.js";

export function signedOut() {
  return h(
    "div.hero",
    h("h1", "This page is logged out"),
    h("p.soft", "Its login has ended, or this browser had none. Run this on the daemon’s machine; it opens this page with a link that works once."),
    h("div.sec", command("mcpproxy ui")),
    h("p.hint", h("code", "mcpproxy ui --print"), " prints the link, for a browser elsewhere."),
    h("p.acts.sec", button("Try again", () => location.reload())),
  );
}

/** The same above what somebody has typed, which stays. */
export const signedOutNote = () => note("err", [
  h("b", "You are logged out."), " What you typed is kept. Run ", h("code", "mcpproxy ui"), " on the daemon’s machine to log in again (",
  h("code", "mcpproxy ui --print"), " prints the link), then continue here.",
]);
