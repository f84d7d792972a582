// What somebody types outlives what happens meanwhile: a daemon that is started anew, another who changes or removes the same entry.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually, isSound, shot, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({ entries: (of) => ({ rooms: kind("bookings", of.marker), other: kind("bookings", of.marker), brief: kind("bookings", of.marker) }) });
});

const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args], env: { LOG: "debug", API_TOKEN: "${A_TOKEN:-none}" } });
const GONE = [/ERR_/, /Failed to load resource/];
const written = (name) => JSON.parse(here.text().replace(/^\/\/.*\n/, "")).mcpServers[name];
const timing = async (page) => {
  await page.getByText(/^Timing, working folder/).click();
  return page.getByLabel(/^Call timeout without progress/);
};

test("what was typed outlives a new start of the daemon without its logins, and is saved after a new login in another tab", async () => {
  const who = await visitor(here, { expected: GONE });
  const { page, context, go, close } = who;
  await go("/ui/servers/rooms/edit");
  const silent = await timing(page);
  await silent.fill("33s");
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.keyboard.type("NEW_TOKEN");
  await page.getByLabel("Value of NEW_TOKEN").fill("ghp_kept");
  await page.locator("#foot-up", { hasText: "up" }).waitFor();
  await here.stop();
  await page.locator("#live", { hasText: "Not connected" }).waitFor();
  assert.equal(await page.locator("#foot-up").innerText(), "");
  rmSync(join(here.folder, "data", "page-logins.json"));
  await here.start(here.port);
  await page.getByText("You are logged out.").waitFor();
  await page.locator("#live", { hasText: "Logged out" }).waitFor();
  assert.equal(await page.locator("#foot-up").innerText(), "");
  assert.equal(await page.locator("#waiting").isHidden(), true);
  assert.equal(await silent.inputValue(), "33s");
  await isSound(who, "logged out with a form");
  await shot(who, "logged-out-with-a-form");
  // Saving is refused until there is a login, with what to do.
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.locator("form .note.err", { hasText: "mcpproxy ui --print" }).waitFor();
  assert.equal(written("rooms").call_tool_timeout, undefined);
  assert.equal(await page.getByLabel("Value of NEW_TOKEN").inputValue(), "ghp_kept");
  assert.deepEqual(await page.evaluate(() => Object.values(localStorage).concat(Object.values(sessionStorage)).filter((value) => value.includes("ghp_"))), []);
  const another = await context.newPage();
  await another.goto(await here.link());
  await page.locator("#live", { hasText: "Live" }).waitFor();
  await eventually("the notice to go", async () => (await page.locator("#notices").innerText()) === "");
  await another.close();
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.waitForURL(/\/ui\/servers\/rooms$/);
  assert.equal(written("rooms").call_tool_timeout, "33s");
  assert.match(written("rooms").env.NEW_TOKEN, /^\$\{keyring:/);
  await close();
});

test("a page with nothing to keep asks for a login, and goes on when there is one", async () => {
  const { page, context, go, title, close } = await visitor(here, { expected: GONE });
  await go("/ui/servers/rooms");
  await context.clearCookies();
  await title("You are logged out");
  await page.getByText("mcpproxy ui --print").waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /no-browser/);
  const another = await context.newPage();
  await another.goto(await here.link());
  await title("rooms");
  await close();
});

test("an entry that is changed elsewhere while it is edited is compared as it is now, and nothing of either is lost", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/servers/other/edit");
  const silent = await timing(page);
  await silent.fill("44s");
  await page.getByRole("button", { name: "Remove LOG" }).click();
  await here.rest("PATCH", "/servers/other", { env: { OTHER: "1" }, init_timeout: "20s", call_tool_timeout: "33s" });
  await page.getByText(/^The entry was changed elsewhere: .*env\.OTHER/).waitFor();
  await page.getByText(/You changed call_tool_timeout, too/).waitFor();
  assert.match(await page.getByRole("region", { name: "The changed entry" }).innerText(), /"OTHER": "\*\*\*"/);
  await isSound(who, "changed meanwhile");
  await shot(who, "changed-meanwhile");
  await page.getByRole("button", { name: "Show the change" }).click();
  const diff = page.getByRole("table", { name: "The entry before and after" });
  assert.match(await diff.locator(".del").allInnerTexts().then((all) => all.join("\n")), /"call_tool_timeout": "33s"/);
  assert.doesNotMatch(await diff.locator(".del").allInnerTexts().then((all) => all.join("\n")), /OTHER/);
  // It changes once more while the difference is read.
  await here.rest("PATCH", "/servers/other", { call_tool_timeout: "34s" });
  await eventually("the difference to follow", async () => /"34s"/.test(await diff.locator(".del").allInnerTexts().then((all) => all.join("\n"))));
  await eventually("the focus to stay", () => page.evaluate(() => document.activeElement.textContent.startsWith("Save ")));
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: "Update the form" }).click();
  assert.ok(await page.evaluate(() => document.querySelector("main form").contains(document.activeElement)));
  assert.equal(await page.getByLabel("Value of OTHER").inputValue(), "***");
  assert.equal(await page.getByLabel(/^Call timeout without progress/).inputValue(), "44s");
  assert.equal(await page.getByLabel("Value of LOG").count(), 0);
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.waitForURL(/\/ui\/servers\/other$/);
  const { env, init_timeout, call_tool_timeout } = written("other");
  assert.deepEqual([env, init_timeout, call_tool_timeout], [{ API_TOKEN: "${A_TOKEN:-none}", OTHER: "1" }, "20s", "44s"]);
  await close();
});

test("an entry that nobody has touched here follows, and one that is removed says so and keeps what was typed", async () => {
  const { page, go, close } = await visitor(here, { expected: [/status of 404/] });
  await go("/ui/servers/brief/edit");
  await here.rest("PATCH", "/servers/brief", { env: { LATER: "yes" } });
  await page.getByLabel("Value of LATER").waitFor();
  assert.equal(await page.getByText("Something else changed").count(), 0);
  await page.getByLabel("Value of LATER").fill("typed");
  await here.rest("DELETE", "/servers/brief");
  await page.getByText("The server brief was removed while you edited it.").waitFor();
  assert.equal(await page.getByLabel("Value of LATER").inputValue(), "typed");
  await close();
});

test("a secret that is typed into the form is stored, also when the entry is saved as JSON", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/rooms/edit");
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.keyboard.type("JSON_TOKEN");
  await page.getByLabel("Value of JSON_TOKEN").fill("ghp_json");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  assert.doesNotMatch(await page.getByLabel("Entry as JSON").inputValue(), /ghp_json/);
  await page.getByRole("button", { name: "Edit as form" }).click();
  assert.equal(await page.getByLabel("Value of JSON_TOKEN").inputValue(), "ghp_json");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.waitForURL(/\/ui\/servers\/rooms$/);
  const [, name] = written("rooms").env.JSON_TOKEN.match(/^\$\{keyring:(.*)\}$/);
  const { secrets } = JSON.parse(readFileSync(join(here.folder, "data", "secrets.json"), "utf8"));
  assert.equal(secrets[name], "ghp_json");
  await close();
});

test("notices of one kind stand beside each other, and take nothing from what follows them", async () => {
  const rules = ["anna", "dora", "emil"].map((subject) => ({ subjects: [subject], tools: ["rooms__*"], policy: "deny" }));
  const guarded = await world({ entries: () => ({ rooms: kind("bookings", here.marker) }), more: { serverAuth: { acl: { default: "allow", rules } } } });
  const { page, go, close } = await visitor(guarded);
  await go("/ui/access");
  const stays = async (when) => {
    const notices = page.locator(".note.warn", { hasText: "which no token has" });
    assert.equal(await notices.count(), 3, when);
    assert.equal(await page.getByRole("textbox", { name: "Name" }).inputValue(), "carla", when);
    assert.equal(await page.getByRole("textbox", { name: "Caller", exact: true }).inputValue(), "anna", when);
  };
  await page.getByRole("textbox", { name: "Name" }).fill("carla");
  await page.getByRole("textbox", { name: "Caller", exact: true }).fill("anna");
  await page.getByRole("button", { name: "Require tokens…" }).click();
  await page.getByText("Require a token from every client?").waitFor();
  await stays("after a question");
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("button", { name: "Require tokens…" }).waitFor();
  await stays("after its answer");
  // What others do is drawn, too.
  await page.getByRole("textbox", { name: "Name" }).focus();
  await guarded.rest("PATCH", "/config", { changes: [{ path: "profiles.tour.servers", value: ["rooms"] }] });
  await page.getByRole("button", { name: "Edit tour" }).waitFor();
  await stays("after an event");
  assert.equal(await page.evaluate(() => document.activeElement.id), "token-name");
  await close();
  await guarded.end();
});

test("an entry that no form can show is edited as JSON, from the list on", async () => {
  const odd = await world({ entries: () => ({ bad: { command: 5, args: "x", env: { LOG: "debug" } } }) });
  const who = await visitor(odd);
  const { page, close } = who;
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByText("The form cannot show this entry, because args has the wrong type").waitFor();
  await isSound(who, "an entry as JSON alone");
  await page.getByLabel("Entry as JSON").fill(JSON.stringify({ command: "node", args: "x" }));
  await page.getByRole("button", { name: "Edit as form" }).click();
  await page.getByText("The form cannot show this entry").waitFor();
  await page.getByLabel("Entry as JSON").fill(JSON.stringify({ ...kind("bookings", odd.marker), env: { LOG: "debug" } }));
  await page.getByRole("button", { name: "Edit as form" }).click();
  assert.equal(await page.getByRole("textbox", { name: "Command" }).inputValue(), process.execPath);
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: /^Save \d changes/ }).click();
  await page.waitForURL(/\/ui\/servers\/bad$/);
  await eventually("its tools", async () => (await odd.rest("GET", "/servers/bad")).server.state === "Ready");
  await close();
  await odd.end();
});
