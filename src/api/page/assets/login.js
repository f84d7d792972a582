// Signing in to a server: the address that the browser goes to, and the wait for what comes of it.

import { Failure, ask, part, post } from "./api.js";
import { h, icon, outside } from "./dom.js";
import { button, crumbs, facts, failed, go, noServer, note } from "./parts.js";
import { capital, said, sentence, span } from "./words.js";

/** Seconds of one question for the progress. */
const WAIT = 20;

export function login(name, frame) {
  const path = `servers/${part(name)}/login`;
  const leaving = new AbortController();
  let begun = null;
  let progress = null;
  let failure = null;
  let message = "";
  let ends = 0;

  async function load() {
    begun = await post(path, undefined, { patience: 60_000 });
    ends = Date.now() + begun.expires_in * 1000;
    progress = { state: "waiting" };
    failure = null;
    watch();
  }

  async function watch() {
    const mine = begun;
    while (!leaving.signal.aborted && begun === mine && progress.state === "waiting") {
      try {
        progress = await ask(`${path}?wait=${WAIT}`, { signal: leaving.signal, patience: (WAIT + 10) * 1000 });
      } catch (error) {
        if (leaving.signal.aborted) return;
        if (!(error instanceof Failure) || !error.isGone) { failure = error; break; }
        await new Promise((next) => setTimeout(next, 2000));
      }
      if (!leaving.signal.aborted) frame.paint();
    }
  }

  async function finish(event) {
    event.preventDefault();
    const input = event.currentTarget.querySelector("input");
    message = "";
    try {
      progress = await post(path, { redirect_url: input.value.trim() });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      message = error.message;
    }
    frame.paint();
  }

  async function again() {
    try {
      await load();
    } catch (error) {
      failure = error;
    }
    frame.paint();
  }

  function render() {
    const title = h("div.title", h("div", crumbs(["Servers", "/ui/"], [said(name), `/ui/servers/${part(name)}`], "log in"), h("h1", `Log in to ${name}`)));
    if (failure) return [title, failed(failure, button("Start again", again, "btn small"))];
    switch (progress.state) {
      case "done": return [title, h("p", icon("s-ready"), " You are logged in. Listing its tools…"), h("p.acts.sec", go(`Open ${name}`, `/ui/servers/${part(name)}`, "btn primary"), go("Servers", "/ui/"))];
      case "failed": return [title, note("err", [h("b", "Login failed: "), sentence(progress.error)]), h("p.acts", button("Start again", again, "btn primary"), go("Back", `/ui/servers/${part(name)}`))];
      case "waiting": return [title, waits()];
      default: return [title, note("plain", "No login is in progress."), h("p.acts", button("Start again", again, "btn primary"))];
    }
  }

  function waits() {
    const to = safely(begun.url);
    const left = Math.max(0, (ends - Date.now()) / 1000);
    return h("div.hero",
      h("p.soft", "You log in on the server’s own page. Neither this page nor an agent sees your password or token."),
      to ? h("p.acts.sec", h("a.btn.primary", { href: to, target: "_blank", rel: "noopener noreferrer" }, `Open ${new URL(begun.url).host}`)) : note("err", ["The server gave a login URL that is not a web address: ", h("code", said(begun.url))]),
      h("p.wait.sec", { role: "status" }, icon("s-work", true), `Waiting for your login, ${span(left)} left.`),
      facts([["Goes to", h("code", said(begun.url.split("?")[0]))], ["Then returns to", h("code", said(begun.redirect_uri))]]),
      paste());
  }

  /** For a browser on another machine, whose address leads nowhere there. */
  function paste() {
    const form = h("form", { novalidate: true, "data-kept": "", on: { submit: finish } },
      h("div.field", h("label", { for: "pasted" }, "URL of the last page in the browser"), h("input.mono", { type: "url", id: "pasted", autocomplete: "off", spellcheck: "false", placeholder: `${begun.redirect_uri}?code=…`, "aria-describedby": "pasted-e" })),
      h("p.acts", h("button.btn", { type: "submit" }, "Complete the login")));
    const wrong = h("p.hint.bad", { id: "pasted-e", hidden: !message }, capital(message));
    return h("details.sec", { open: !begun.listens }, h("summary", "If your browser is on another machine, or the last page did not load"), h("p.hint", "Copy the whole URL from the address bar of the browser, even if the page did not load."), form, wrong);
  }

  return { title: `Log in to ${name}`, tab: "servers", waiting: `Asking ${name} where to log in…`, load, render, ways: (error) => (error.code === "server_disabled" ? { links: [button(`Enable ${name}`, () => post(`servers/${part(name)}/enable`).then(again)), go("Servers", "/ui/")] } : noServer(error, (other) => `/ui/servers/${part(other)}/login`)), refresh: () => {}, leave: () => leaving.abort() };
}

function safely(url) {
  try {
    return outside(url);
  } catch {
    return null;
  }
}
