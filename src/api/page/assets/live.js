// What the daemon says while the page is open: one stream of events, which only say that something has changed. Places read again what
// they show, once a second at most. Where the stream breaks, the daemon is asked until it answers.

import { Failure, ask } from "./api.js";

/** Milliseconds between two paints. */
const PAINT = 1000;

/** Milliseconds between two looks where no event came. */
const QUIET = 5000;

/** Milliseconds between two attempts to reach a daemon that is gone. */
const AGAIN = 4000;

const EVENTS = "/api/v1/events";

export const live = {
  /** The last `GET /status`. */
  status: null,
  /** When the daemon was last heard of. */
  heard: null,
  lost: false,
  /** Whether the daemon answers, and this browser has no login. */
  isSignedOut: false,
};

/** Tabs of one browser have one login: whoever is let in says so to the others. */
const logins = new BroadcastChannel("mcpproxy-login");

let listener = () => {};
let source = null;
let due = false;
let timer = null;
let busy = false;

/** Reads the status, and tells the listener what is so: `fine`, `lost` or `signed out`. */
async function look() {
  if (busy) return;
  busy = true;
  due = false;
  try {
    live.status = await ask("status", { patience: 10_000 });
    if (live.heard === null || live.isSignedOut) logins.postMessage("");
    Object.assign(live, { heard: new Date(), lost: false, isSignedOut: false });
    stopped = false;
    connect();
    await listener("fine");
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    if (failure.isSignedOut) {
      // It answers, and what was known of it may be of the daemon before.
      Object.assign(live, { lost: false, isSignedOut: true, status: null, heard: new Date() });
      stop();
      await listener("signed out");
      return;
    }
    live.lost = true;
    disconnect();
    await listener("lost");
  } finally {
    busy = false;
    if (!stopped) plan(due ? PAINT : live.lost ? AGAIN : QUIET);
  }
}

let stopped = false;
let planned = Infinity;

function plan(wait) {
  const when = Date.now() + wait;
  if (timer !== null && planned <= when) return;
  clearTimeout(timer);
  planned = when;
  timer = setTimeout(() => {
    timer = null;
    if (document.hidden) plan(QUIET);
    else look();
  }, wait);
}

function stop() {
  stopped = true;
  clearTimeout(timer);
  timer = null;
  disconnect();
}

function connect() {
  if (source) return;
  source = new EventSource(EVENTS);
  const changed = () => soon();
  for (const type of KINDS) source.addEventListener(type, changed);
  source.onerror = () => {
    // It connects again by itself unless the answer was no stream; then questions at intervals have to do.
    if (source?.readyState === EventSource.CLOSED) source = { close() {}, readyState: EventSource.OPEN };
    soon();
  };
}

/** The names of events. */
const KINDS = ["server", "removed", "lists", "config", "record", "lagged"];

function disconnect() {
  source?.close();
  source = null;
}

/** Looks soon: something has changed. */
export function soon() {
  if (busy) due = true;
  else plan(live.heard && Date.now() - live.heard < PAINT ? PAINT : 50);
}

/** Begins; `told` hears of every look. */
export function begin(told) {
  listener = told;
  // A browser has few connections to one host, and its windows share them: one that nobody sees gives its stream back.
  logins.onmessage = () => live.isSignedOut && soon();
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : soon()));
  return look();
}
