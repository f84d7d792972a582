// Asks the daemon. Every failure is a `Failure` with what is so and what to do.

import { read, write } from "./exact.js";

/** What went wrong, as the daemon says it, or as we do where it says nothing. */
export class Failure extends Error {
  constructor(status, told) {
    super(told.error);
    this.status = status;
    this.code = told.code ?? "";
    this.hint = told.hint ?? "";
    this.server = told.server;
    /** The name that there is and that may have been meant. */
    this.closest = told.closest;
    /** The next step as data, where the page may word it for itself. */
    this.step = told.step;
  }

  /** Whether this page is not logged in, or not any more. */
  get isSignedOut() {
    return this.status === 401;
  }

  /** Whether what was asked for is not there, or cannot be asked for so: asking again does not help. */
  get isFinal() {
    return this.status === 404 || this.status === 400;
  }

  /** Whether the daemon could not be reached. */
  get isGone() {
    return this.status === 0;
  }
}

/** What the daemon says to a request without a login is for programs with a key. */
const SIGNED_OUT = { error: "You are logged out.", code: "unauthorized", hint: "Run `mcpproxy ui` to log in again (`mcpproxy ui --print` prints the link), then try again. This page keeps what you typed." };

const GONE = { error: "The daemon does not answer.", code: "unreachable", hint: "This page tries again every few seconds. Run `mcpproxy status` to see whether the daemon is running." };

/** Of a request that may have changed something: it is not sent again by itself. */
const UNSURE = { ...GONE, error: "The daemon does not answer, so the result is not known.", hint: "Check what was done before you try again. Run `mcpproxy status` to see whether the daemon is running." };

/** Limit: milliseconds that a question may take which does not say otherwise. */
const PATIENCE = 30_000;

/** An answer of many lines: what is told before it, and itself as the last. */
const LINES = "application/x-ndjson";

async function send(path, { method = "GET", body, signal, patience = PATIENCE, accept } = {}) {
  const given = AbortSignal.timeout(patience);
  try {
    return await fetch(`/api/v1/${path}`, {
      method,
      credentials: "same-origin",
      cache: "no-store",
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(accept ? { accept } : {}) },
      body: body === undefined ? undefined : write(body),
      signal: signal ? AbortSignal.any([signal, given]) : given,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, method === "GET" || body?.dry_run || /^(?:import\/pasted|access\/check|trial)$/.test(path) ? GONE : UNSURE);
  }
}

async function answered(response, parsed = JSON.parse) {
  let told;
  try {
    told = parsed(await response.text());
  } catch {
    told = undefined;
  }
  if (response.ok && told !== undefined) return told;
  if (response.status === 401) throw new Failure(401, SIGNED_OUT);
  const said = told && typeof told.error === "string" ? told : { error: `The daemon answered with HTTP ${response.status} and gave no reason.`, code: "", hint: "The daemon’s log may give the reason: run `mcpproxy logs`." };
  throw new Failure(response.status, said);
}

/** The answer to a question, as JSON. */
export const ask = async (path, options) => answered(await send(path, options));

/** The same with every number as it is written there: for what servers say. */
export const askExact = async (path, options) => answered(await send(path, options), read);

/** The answer to a call, and its text as it came; `told` hears of what the server says before it. Who ends `signal` withdraws the call. */
export async function askCall(body, { told, signal, patience }) {
  const response = await send("call", { method: "POST", body, signal, patience, accept: LINES });
  if (!response.ok || !response.headers.get("content-type")?.startsWith(LINES)) return answered(response);
  let text = "";
  let value;
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (const reader = response.body.getReader(); ;) {
      const { done, value: bytes } = await reader.read();
      rest += decoder.decode(bytes, { stream: !done });
      const lines = rest.split("\n");
      rest = lines.pop();
      for (const line of done ? [...lines, rest] : lines) {
        // What the server says beside it has a method.
        const said = line && JSON.parse(line);
        if (said?.method) told(said);
        else if (said) [text, value] = [line, read(line)];
      }
      if (done) break;
    }
  } catch (error) {
    if (signal?.aborted) throw error;
  }
  if (value === undefined) throw new Failure(0, UNSURE);
  if (typeof value.error === "string") throw new Failure(response.status, value);
  return { text, value };
}

/** The same, and the text of the answer as it came. */
export async function askText(path, options) {
  const response = await send(path, options);
  if (!response.ok) return answered(response);
  const text = await response.text();
  return { text, value: JSON.parse(text) };
}

export const post = (path, body, options) => ask(path, { method: "POST", body, ...options });
export const patch = (path, body) => ask(path, { method: "PATCH", body });
export const put = (path, body) => ask(path, { method: "PUT", body });
export const remove = (path) => ask(path, { method: "DELETE" });

/** `path?a=1`, without what is empty. */
export function query(path, values) {
  const said = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(said).toString();
  return text ? `${path}?${text}` : path;
}

/** A name within a path. */
export const part = encodeURIComponent;

/** Undoes changes of the configuration, the latest first. The files of clients that got servers back. */
export async function undoChanges(ids) {
  const back = [];
  for (const id of ids) back.push(...((await post("config/undo", { id })).put_back ?? []));
  const left = back.find((one) => one.error);
  if (left) throw new Failure(200, { error: `The change was undone, but not all servers were put back into ${left.file}: ${left.error}`, code: "client_unchanged" });
  return back;
}
