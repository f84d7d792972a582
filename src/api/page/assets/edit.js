// Adding a server and editing one: the form or JSON, how it will stand in the file, and the diff before an edit is saved.

import { Failure, ask, part, patch as change, post } from "./api.js";
import { between, diffTable } from "./diff.js";
import { fill, h, kept } from "./dom.js";
import { addCommand, asWritten, entriesIn, inFile, inOrder, isMap, misshapen, patchOf, patched, same, tidy } from "./entry.js";
import { entryForm } from "./entry_form.js";
import { entrySecrets } from "./entry_secrets.js";
import { write, written } from "./exact.js";
import { changed, removed, unusable } from "./meanwhile.js";
import { button, coloured, command, crumbs, empty, failed, go, noServer, note, textBox } from "./parts.js";
import { capital, closest, count, said, sentence } from "./words.js";

/** Milliseconds that a server may take to be tried: the daemon gives up before. */
const TRIAL = 600_000;

export function edit(name, frame) {
  const isNew = name === null;
  // What the form was filled with, and what stands in the file by now.
  let before = {};
  let now = {};
  let broken = null;
  let isDemo = false;
  let taken = [];
  let keys = [];
  let file = "";
  let element = null;
  let form, area, preview, message, acts, review, meanwhile, beside, show;
  const secrets = entrySecrets();
  let isJson = false;
  let isSaving = false;
  let isRemoved = false;
  // What ends a trial: it is of what was typed when it began.
  let trying = null;

  async function load() {
    const [list, status] = await Promise.all([ask("servers"), ask("status"), secrets.know()]);
    taken = list.servers.map((one) => one.name);
    file = status.config_file;
    if (isNew) return;
    const inspection = await ask(`servers/${part(name)}/inspect`);
    isDemo = inspection.server.demo !== undefined;
    if (!inspection.entry) broken = inspection.server;
    else before = now = asWritten(inspection.entry);
  }

  /** Somebody else may change the entry while it stands here: what was typed stays, and what is compared is what stands in the file. */
  async function refresh() {
    if (isNew || isDemo || broken || isSaving || isRemoved || !element?.isConnected) return;
    let inspection = null;
    try {
      inspection = await ask(`servers/${part(name)}/inspect`);
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.status !== 404) throw failure;
      isRemoved = true;
    }
    if (isSaving) return;
    if (!inspection?.entry) return fill(meanwhile, inspection ? unusable(inspection.server) : removed(name));
    const latest = asWritten(inspection.entry);
    const isKnown = same(latest, now);
    now = latest;
    const entry = isJson ? json().value : tidy(form.read());
    if (same(now, before)) fill(meanwhile);
    else if (entry && !Object.keys(mine(entry)).length && !element.contains(document.activeElement)) return takeIn();
    else if (!isKnown || !meanwhile.hasChildNodes()) fill(meanwhile, changed(before, now, entry ? mine(entry) : {}, () => {
      takeIn();
      // What was pressed is gone.
      if (document.activeElement === document.body) [...element.querySelectorAll("input[type=text], textarea")].find((one) => one.checkVisibility())?.focus({ preventScroll: true });
    }));
    if (isKnown || !entry) return;
    if (review.hasChildNodes()) showChange(entry, true);
    else describe(entry);
  }

  /** What was typed and what was changed elsewhere, together in the form. */
  function takeIn() {
    const entry = isJson ? parsed() : tidy(form.read());
    if (entry === undefined) return;
    if (!isJson) secrets.remember(form.secrets());
    const both = after(entry);
    before = now;
    fill(meanwhile);
    show(both, name);
  }

  /** What was changed here, as a patch: of maps each key for itself. */
  function mine(entry) {
    const maps = Object.keys(before).filter((key) => isMap(before[key])).map((key) => [key, {}]);
    return patchOf(before, { ...Object.fromEntries(maps), ...entry });
  }

  /** The changed entry once this is saved. */
  const after = (entry) => (isNew ? entry : inOrder(now, tidy(patched(now, mine(entry)))));

  function made() {
    preview = h("pre.code", { tabindex: "0", role: "region", "aria-label": isNew ? "The new entry" : "The changed entry" });
    beside = h("div");
    meanwhile = h("div", { role: "status" });
    message = h("div", { role: "status" });
    acts = h("div.acts");
    review = h("div.changes");
    const holder = h("div");
    const update = () => {
      trying?.abort();
      const entry = isJson ? parsed() : tidy(form.read());
      form?.advise();
      fill(review);
      buttons();
      if (entry === undefined) {
        fill(beside);
        // What is not written to its end is no mistake yet.
        const fault = isJson && json().fault;
        return Array.isArray(fault) ? tell(fault) : undefined;
      }
      const called = isJson && isNew && json().called;
      if (called) {
        show(entry, called);
        return area.focus();
      }
      if (isJson) tellUnknown(entry);
      describe(entry);
    };
    const turn = () => {
      const entry = isJson ? parsed() : tidy(form.read());
      if (entry === undefined) return;
      const given = form.name();
      if (!isJson) secrets.remember(form.secrets());
      isJson = !isJson;
      show(entry, given);
    };
    show = (given, called) => {
      const entry = isJson ? given : secrets.restored(given);
      const odd = misshapen(entry);
      isJson ||= odd !== undefined;
      if (isJson && !keys.length) knowKeys();
      form = entryForm({ name: isNew ? null : name, entry: { ...(odd ? {} : entry), name: called }, taken: isNew ? taken : [], takenSecrets: secrets.taken, changed: update });
      area = h("textarea.mono", { rows: 18, spellcheck: "false", "aria-label": "Entry as JSON" });
      area.value = write(inOrder(before, entry), 2);
      area.addEventListener("input", update);
      const nameAlone = isNew && isJson ? form.node.querySelector(".pair > .field") : null;
      fill(holder, isJson ? [nameAlone, h("div.field", area)] : form.node);
      toggle.textContent = isJson ? "Edit as form" : "Edit as JSON";
      update();
      if (odd) tell(["The form cannot show this entry, because ", h("code", odd), " has the wrong type. Correct it here as JSON."]);
    };
    const toggle = button("Edit as JSON", turn, "end link");
    const node = h("form", { novalidate: true, "aria-labelledby": "form-h", on: { submit: (event) => { event.preventDefault(); submit(); } } }, h("h2.sr", { id: "form-h" }, "Entry"), meanwhile, holder, review, message, acts);
    show(before, name ?? "");
    return h("div.cols.half", { "data-kept": "" }, node, h("aside.rail", { "aria-labelledby": "pv-h" }, h("header.bar", h("h2", { id: "pv-h" }, "Preview"), toggle), preview, beside));
  }

  /** How it will stand in the file. */
  function describe(entry) {
    fill(preview, h(isNew ? "span.new" : "span", coloured(inFile(isJson && isNew ? "NAME" : form.name(), after(entry)))));
    if (isNew) fill(beside, h("p.bar.hint", "The same as a command"), command(addCommand(form.name(), isJson ? entry : { ...(form.read().url === "" ? { url: "" } : {}), ...entry })));
    else fill(beside, h("p.hint", whatChanges(entry)));
  }

  function whatChanges(entry) {
    const keys = Object.keys(patchOf(now, after(entry)));
    return keys.length ? `Changed: ${keys.join(", ")}. You will see the difference before it is saved.` : "You have changed nothing yet.";
  }

  function buttons() {
    const verb = isNew ? "Add server" : "Show the change";
    fill(acts, h("button.btn.primary", { type: "submit" }, verb), isNew ? button("Try it first", () => submit(tryIt), "btn", { title: "Connects to the server once and saves nothing" }) : null, go("Cancel", isNew ? "/ui/" : `/ui/servers/${part(name)}`));
    fill(message);
  }

  const tell = (text) => fill(message, h("p.hint.bad", text));

  /** What is written as JSON, or what is wrong with it. */
  function json() {
    const { value, fault } = written(area.value);
    if (fault) return { fault };
    const [[called, entry], ...others] = entriesIn(value);
    if (others.length) return { fault: ["This text contains several servers. Enter one of them, or ", h("a.u", { href: "/ui/add" }, "paste all"), "."] };
    return isMap(entry) ? { value: entry, called } : { fault: "An entry must be a JSON object: {…}" };
  }

  function parsed() {
    const { value, fault } = json();
    if (fault) {
      tell(fault);
      area.setAttribute("aria-invalid", "true");
    } else {
      area.removeAttribute("aria-invalid");
    }
    return value;
  }

  /** Which keys an entry has. What the daemon does not say here, it says when the entry is saved. */
  async function knowKeys() {
    try {
      const { $defs } = await ask("config/schema");
      keys = Object.keys($defs.server.properties);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
    }
  }

  /** Keys that no entry has, as they are written. */
  function tellUnknown(entry) {
    const unknown = keys.length ? Object.keys(entry).filter((key) => !keys.includes(key) && key !== "name") : [];
    const meant = unknown.length === 1 && closest(unknown[0], keys);
    if (unknown.length) tell([unknown.length > 1 ? "Unknown keys: " : "Unknown key: ", unknown.map((key, n) => [n ? ", " : "", h("code", said(key))]), meant ? [". Did you mean ", h("code", meant), "?"] : null]);
  }

  function submit(how = isNew ? add : showChange) {
    if (isJson && parsed() === undefined) return area.focus();
    const wrong = isJson ? (isNew ? form.check().filter((label) => label === "Name") : []) : form.check();
    if (wrong.length) return tell(`Nothing was done. Correct ${wrong.join(", ")}.`);
    return how(isJson ? parsed() : tidy(form.read()));
  }

  /** Stores what was typed as a secret, and then the entry. */
  async function store(entry, save) {
    isSaving = true;
    try {
      await secrets.store(isJson ? secrets.among(entry) : form.secrets(), save);
    } catch (failure) {
      isSaving = false;
      throw failure;
    }
  }

  async function add(entry) {
    fill(acts, h("span.wait", { role: "status" }, "Adding…"));
    const given = form.name();
    try {
      await store(entry, () => post("servers", { name: given, ...entry }));
      frame.visit(entry.quarantined ? `/ui/review/${part(given)}` : `/ui/servers/${part(given)}`);
    } catch (failure) {
      refused(failure);
    }
  }

  /** Has it started or contacted once, with what was typed in the place of what is not stored, and says what came of it. */
  async function tryIt({ quarantined: _, ...entry }) {
    const mine = trying = new AbortController();
    if (!isJson) secrets.remember(form.secrets());
    fill(message);
    fill(acts, h("span.wait", { role: "status" }, "Trying it…"), button("Stop", () => { mine.abort(); buttons(); }));
    try {
      const tried = await post("trial", { name: form.name(), ...secrets.restored(entry) }, { signal: mine.signal, patience: TRIAL });
      buttons();
      fill(message, outcomeOf(tried));
    } catch (failure) {
      if (!mine.signal.aborted) refused(failure);
    }
  }

  /** The difference, and the question whether it is meant. */
  function showChange(entry, isAgain = false) {
    const next = after(entry);
    const keys = patchOf(now, next);
    if (!Object.keys(keys).length) {
      fill(review);
      buttons();
      return tell("You have changed nothing, so there is nothing to save.");
    }
    const text = (value) => write(value, 2);
    const save = button(`Save ${count(Object.keys(keys).length, "change")}`, () => saveChange(keys, next), "btn primary");
    fill(review, h("section.sec", { "aria-labelledby": "ch-h" }, h("header", h("h2", { id: "ch-h" }, "The change"), h("p", `to ${name} in ${file}; values shown as *** are kept`)), diffTable(between(text(now), text(next)), "Now", "After saving", "The entry before and after saving")));
    const isFocused = acts.contains(document.activeElement);
    fill(acts, save, button("Back", () => { fill(review); buttons(); }));
    // It was changed elsewhere while it is read: the place on the page stays, and so does the focus.
    if (isAgain) return isFocused && save.focus({ preventScroll: true });
    review.scrollIntoView({ block: "nearest" });
    save.focus();
  }

  async function saveChange(keys, entry) {
    fill(acts, h("span.wait", { role: "status" }, "Saving…"));
    try {
      await store(entry, () => change(`servers/${part(name)}`, keys));
      frame.visit(`/ui/servers/${part(name)}`);
    } catch (failure) {
      refused(failure);
    }
  }

  function refused(failure) {
    if (!(failure instanceof Failure)) throw failure;
    // Names of secrets may be others now, and so the entry and its difference.
    if (!isJson && failure.code === "secret_exists") form.node.dispatchEvent(new Event("input"));
    fill(review);
    buttons();
    fill(message, failed(failure), secrets.leftOver());
    if (failure.isSignedOut) frame.soon();
  }

  function render() {
    const title = isNew ? "Add a server" : `Edit ${name}`;
    const trail = isNew ? crumbs(["Servers", "/ui/"], ["new", "/ui/add"], "by hand") : crumbs(["Servers", "/ui/"], [said(name), `/ui/servers/${part(name)}`], "edit");
    const head = h("div.title", h("div", trail, h("h1", title), h("p.sub", isNew ? "The entry goes into " : "The entry is in ", h("code", said(file)), "; comments and order are kept.")));
    if (isDemo) {
      const why = `The bundled demo server is not in ${file}, so there is nothing to edit.`;
      return [h("div.title", h("div", trail, h("h1", title))), empty(`${name} has no entry.`, why, go("Back", `/ui/servers/${part(name)}`))];
    }
    if (broken) return [head, empty("The entry has a mistake, so the form cannot show it.", [capital(broken.last_error ?? ""), ". Correct it in ", h("code", said(file)), "."], go("Back", `/ui/servers/${part(name)}`))];
    const body = kept(element ??= made());
    return [head, body];
  }

  return { title: isNew ? "Add a server" : `Edit ${name}`, tab: "servers", waiting: "Reading the entry…", load, refresh, render, leave: () => trying?.abort(), ways: (failure) => noServer(failure, (other) => `/ui/servers/${part(other)}/edit`) };
}

/** What came of trying a server. */
function outcomeOf({ works, tools, reason, step, log = [] }) {
  if (works) return note("done", [h("b", `The server works: ${count(tools, "tool")}.`), " Nothing has been saved yet."]);
  const next = step?.do === "log_in" ? "add the server, then log in" : step?.how && sentence(step.how);
  return [note("err", [h("b", capital(reason ?? "The server does not work"), "."), " Nothing was saved.", next ? [" Next: ", next, "."] : null]), log.length ? textBox(log.join("\n"), "Log of the trial") : null];
}
