// What a server writes to its stderr, as it comes. It follows its end until somebody scrolls up.

import { ask, part, query } from "./api.js";
import { fill, h } from "./dom.js";
import { button, save as saveAs } from "./parts.js";
import { at, atMillis, logLine, said } from "./words.js";

/** Limit: lines that are read at first, as many as the daemon gives; and lines that are kept. */
const LINES = 500;
const KEPT = 3000;

/** Milliseconds until a stream that was refused is asked for again. */
const AGAIN = 4000;

/** Lines of a terminal have colours, which are not shown. */
const COLOUR = /\u001b\[[0-9;]*m/g;

const LEVELS = ["info", "warn", "error"];

/** `first` is the least level that is shown; `chosen` is told of another; `details` gives what is known of the server. */
export function logView(name, first, chosen, details) {
  const path = `servers/${part(name)}/logs`;
  const list = h("ol");
  const box = h("div.log", { tabindex: "0", role: "log", "aria-label": `Log of ${name}`, "data-kept": "", on: { scroll } }, list);
  let lines = [];
  let told = {};
  let least = LEVELS.includes(first) ? first : "info";
  let choose = null;
  let isPaused = false;
  let isFollowing = true;
  let source = null;
  const follow = button("Follow", () => { isFollowing = true; box.scrollTop = box.scrollHeight; follow.hidden = true; }, "link small", { hidden: true });
  let element = null;
  let isShown = false;
  let again = null;

  /** What there is. A remote server, or one that never ran, has no log that could be followed. */
  async function load() {
    if (source || isPaused) return;
    told = details().log_file ? await ask(query(path, { lines: LINES })) : { lines: [] };
    lines = told.lines;
    show();
  }

  /** Follows it, while somebody sees it. Each stream begins with the last lines. */
  function listen() {
    if (source || !told.file || document.hidden || isPaused) return;
    let isFirst = true;
    source = new EventSource(`/api/v1/${query(`${path}/stream`, { lines: LINES })}`);
    source.addEventListener("open", () => { isFirst = true; });
    source.addEventListener("lines", (event) => {
      const added = JSON.parse(event.data).lines;
      lines = isFirst ? added : [...lines, ...added].slice(-KEPT);
      isFirst = false;
      show();
    });
    for (const last of ["end", "failed"]) source.addEventListener(last, silence);
    source.addEventListener("error", () => {
      // A stream that breaks is opened again by the browser; one that was refused is not.
      if (source?.readyState !== EventSource.CLOSED) return;
      silence();
      clearTimeout(again);
      again = setTimeout(() => isShown && load().then(listen, () => {}), AGAIN);
    });
  }

  function silence() {
    source?.close();
    source = null;
  }

  function from(level) {
    least = LEVELS.includes(level) ? level : "info";
    if (choose) choose.value = least;
    show();
  }

  const seen = () => (document.hidden ? silence() : listen());

  function show() {
    const rank = LEVELS.indexOf(least);
    const shown = lines.map(read).filter((line) => line.isOurs || LEVELS.indexOf(line.level) >= rank);
    box.classList.toggle("short", !shown.length);
    fill(list, shown.length ? shown.map(line) : h("li.ours", h("span"), h("span"), h("span", nothing())));
    if (isFollowing) box.scrollTop = box.scrollHeight;
  }

  function nothing() {
    if (lines.length) return `No line at ${least} or above among the last ${lines.length}.`;
    if (told.file) return "The server has written nothing yet.";
    return "The server has not been started yet, so it has written nothing.";
  }

  function scroll() {
    isFollowing = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    follow.hidden = isFollowing;
  }

  /** Made once: what is on the page already stays. */
  function render() {
    if (details().server.transport !== "stdio" && !told.file) return null;
    if (element?.isConnected) return h("section.sec", { "data-kept": "" });
    element ??= made();
    return element;
  }

  function made() {
    choose = h("select", { on: { change: (event) => chosen(event.target.value === "info" ? "" : event.target.value) } }, LEVELS.map((level) => h("option", { value: level, selected: level === least }, level)));
    const pause = button("Pause", (event) => { isPaused = !isPaused; event.currentTarget.textContent = isPaused ? "Resume" : "Pause"; seen(); if (isPaused) silence(); }, "link small");
    return h("section.sec", { "aria-labelledby": "log-h", "data-kept": "" },
      h("header", h("h2", { id: "log-h" }, "Log"), h("p", "the server’s stderr, newest lines last"), h("span.end.acts", follow, h("label.small", "Lowest level ", choose), pause, button("Save", save, "link small"))),
      box);
  }

  function save() {
    saveAs(`${lines.join("\n")}\n`, `${name}.log`);
  }

  /** Once it is on the page. */
  function painted() {
    if (!isShown) {
      isShown = true;
      box.scrollTop = box.scrollHeight;
      document.addEventListener("visibilitychange", seen);
    }
    listen();
  }

  function leave() {
    isShown = false;
    clearTimeout(again);
    document.removeEventListener("visibilitychange", seen);
    silence();
  }

  return { load, render, painted, leave, from };
}

/** A line, when it was read, its level as far as it says one, and whether it is a mark of ours. */
function read(line) {
  const started = /^--- started (\S+) ---$/.exec(line);
  if (started) return { isOurs: true, level: "mcp", time: started[1] };
  const [time, text] = logLine(line);
  return { time, ...judged(text.replace(COLOUR, "")) };
}

function judged(plain) {
  const told = /^\[?(debug|info|warn(?:ing)?|error)\]?[:\s]\s*(.*)$/is.exec(plain);
  if (told) {
    const word = told[1].toLowerCase();
    return { level: word.startsWith("warn") ? "warn" : word === "error" ? "error" : "info", text: told[2], isTold: true };
  }
  const level = /\b(error|fatal|panic|critical|traceback|exception)\b/i.test(plain.slice(0, 80)) || /^\w*Error:/.test(plain) ? "error" : /\bwarn(ing)?\b/i.test(plain.slice(0, 80)) ? "warn" : "info";
  return { level, text: plain };
}

function line({ isOurs, level, time, text, isTold }) {
  if (isOurs) return h("li.ours", h("span", at(time)), h("span.lv", level), h("span", "started"));
  return h("li.plain", { class: level === "info" ? "" : level }, h("span", time ? atMillis(time) : ""), h("span.lv", level === "info" && !isTold ? "" : level), h("span", said(text)));
}
