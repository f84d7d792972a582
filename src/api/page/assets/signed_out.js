// What is shown to a browser that is not logged in.

import { h } from "./dom.js";
import { button, command, note } from "./parts.js";

export function signedOut() {
  return h(
    "div.hero",
    h("h1", "You are logged out"),
    h("p.soft", "This browser has not logged in, or its login has ended. To log in, run this command on the machine where mcpproxy runs:"),
    h("div.sec", command("mcpproxy ui")),
    h("p.hint", "The command opens this page, logged in. For a browser on another machine, the next command prints a link. If this page's address has another host than the link, write that host into the link. The link works once, within 2 minutes:"),
    h("div.sec", command("mcpproxy ui --print")),
    h("p.acts.sec", button("Try again", () => location.reload())),
  );
}

/** The same above what somebody has typed, which stays. */
export const signedOutNote = () => note("err", [
  h("b", "You are logged out."), " This page keeps what you typed. To log in again, run ", h("code", "mcpproxy ui"), " on the machine where mcpproxy runs (",
  h("code", "mcpproxy ui --print"), " prints the link), then continue here.",
]);
