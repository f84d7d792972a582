// What is shown to a browser that is not logged in.

import { h } from "./dom.js";
import { button, command } from "./parts.js";

export function signedOut() {
  return h(
    "div.hero",
    h("h1", "This page is not logged in"),
    h("p.soft", "Its login has ended, or there was none in this browser. Run this on the machine of the daemon: it opens this page with a link that works once."),
    h("div.sec", command("mcpproxy ui")),
    h("p.hint", h("code", "mcpproxy ui --no-browser"), " prints the link, for a browser elsewhere."),
    h("p.acts.sec", button("Try again", () => location.reload())),
  );
}
