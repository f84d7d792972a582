// Several at once: tools that are chosen by type, state and use, and servers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { before, test } from "node:test";
import { agentCalls, eventually, isSound, isSoundEverywhere, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({ entries: (of) => {
    const server = (kind) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, kind, of.marker] });
    return { bookings: server("bookings"), wordy: server("wordy"), slow: server("slow") };
  } });
  await eventually("their tools", async () => (await here.rest("GET", "/tools")).total === 7);
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args: { seats: 7 } });
});

const callable = async () => (await here.rest("GET", "/tools")).tools.filter((tool) => tool.callable).map((tool) => tool.name).sort();

test("tools are found by type, state and use, and hidden and offered together", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/tools?type=read");
  await isSoundEverywhere(who, "tools by type", "tools-several");
  await go("/ui/tools");
  await page.locator("li.hit", { hasText: "cancel_all" }).getByText("0 calls in 30 d").waitFor();
  await page.getByText(/^bookings \d+ calls? in 30 d$/).waitFor();
  const names = () => page.locator("li.hit h3 a").allInnerTexts();
  await page.locator("select[name=type]").selectOption("destructive");
  await page.waitForURL(/type=destructive/);
  await eventually("one tool", async () => (await names()).join() === "bookings:cancel_all");
  await page.locator("select[name=type]").selectOption("");
  await page.getByRole("checkbox", { name: "never called in 30 days" }).check();
  await page.waitForURL(/unused=true/);
  await eventually("six tools", async () => (await names()).length === 6);
  await page.getByRole("checkbox", { name: "Choose bookings:fail" }).check();
  await page.getByRole("checkbox", { name: "Choose slow:measure" }).check();
  await page.getByText("2 chosen").waitFor();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await page.locator("#toast", { hasText: "Disabled 2 tools" }).waitFor();
  assert.equal((await callable()).length, 4);
  await page.getByRole("checkbox", { name: "never called in 30 days" }).uncheck();
  await page.locator("select[name=state]").selectOption("hidden");
  await eventually("the hidden ones", async () => (await names()).sort().join() === "bookings:fail,slow:measure");
  // What was hidden before stays so when a change of several is undone.
  await page.locator("select[name=state]").selectOption("");
  await page.getByRole("checkbox", { name: /^all \d/ }).check();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await eventually("none", async () => (await callable()).length === 0);
  await page.locator("#toast", { hasText: /Disabled \d tools/ }).getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await callable()).length === 4);
  await page.locator("select[name=state]").selectOption("hidden");
  await page.getByRole("checkbox", { name: "all 2" }).check();
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await eventually("all of them", async () => (await callable()).length === 6);
  await close();
});

test("servers are switched together, and back", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/");
  await page.getByRole("button", { name: "Choose several" }).click();
  await page.getByRole("checkbox", { name: "Choose wordy" }).check();
  await page.getByRole("checkbox", { name: "Choose slow" }).check();
  await page.getByText("2 chosen").waitFor();
  for (const name of ["slow", "wordy"]) await page.getByRole("checkbox", { name: `Choose ${name}` }).uncheck();
  const boxes = page.getByRole("checkbox", { name: /^Choose / });
  await boxes.first().check();
  await boxes.last().click({ modifiers: ["Shift"] });
  await page.getByText(`${await boxes.count()} chosen`).waitFor();
  await page.getByRole("checkbox", { name: /^all/ }).uncheck();
  await page.getByRole("checkbox", { name: "Choose wordy" }).check();
  await page.getByRole("checkbox", { name: "Choose slow" }).check();
  await isSound(who, "several servers");
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await page.locator("#toast", { hasText: "Disabled 2 servers" }).waitFor();
  await page.getByText("No server is chosen.").waitFor();
  assert.equal(await page.getByRole("checkbox", { name: "Choose wordy" }).isChecked(), false);
  const off = async () => (await here.rest("GET", "/servers")).servers.filter((one) => !one.enabled).map((one) => one.name).sort().join();
  assert.equal(await off(), "slow,wordy");
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await off()) === "");
  await page.getByRole("button", { name: "Done" }).click();
  assert.equal(await page.getByRole("checkbox").count(), 0);
  await close();
});

test("a row stays where it is when its server fails, and comes first once that is asked for", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/");
  const names = () => page.locator("tr[data-row]").evaluateAll((rows) => rows.map((row) => row.dataset.key).join());
  const before = await names();
  const { args } = (await here.rest("GET", "/servers/slow")).entry;
  await here.rest("PATCH", "/servers/slow", { args: ["-e", "process.exit(3)"] });
  await here.rest("POST", "/servers/slow/restart").catch(() => {});
  await page.getByText("Others; 1 needs you now.").waitFor();
  assert.equal(await names(), before);
  await isSound(who, "a server that failed meanwhile");
  await page.getByRole("button", { name: "Show them first" }).click();
  await page.getByText("Others; 1 needs you now.").waitFor({ state: "detached" });
  assert.ok((await names()).startsWith("slow"), await names());
  await here.rest("PATCH", "/servers/slow", { args });
  await close();
});

test("restarts of many say how far they are, and are stopped where they stand", async () => {
  const answers = createServer((_, answer) => answer.writeHead(500).end());
  await new Promise((listens) => answers.listen(0, "127.0.0.1", listens));
  const names = Array.from({ length: 18 }, (_, i) => `late${i}`);
  const entries = Object.fromEntries(names.map((name) => [name, { url: `http://127.0.0.1:${answers.address().port}/${name}` }]));
  await here.rest("POST", "/import", { servers: names, pasted: { text: JSON.stringify({ mcpServers: entries }) } });
  const { page, go, close } = await visitor(here);
  await go("/ui/?name=late");
  await page.getByRole("button", { name: "Choose several" }).click();
  await page.getByRole("checkbox", { name: "all 18" }).check();
  // The second step is under way until somebody stops after it.
  let steps = 0;
  let goOn;
  const stopped = new Promise((next) => { goOn = next; });
  await page.route("**/api/v1/changes", async (route) => {
    steps += 1;
    if (steps === 2) await stopped;
    await route.continue();
  });
  await page.getByRole("button", { name: "Restart", exact: true }).click();
  await page.getByText("Restarting 18 servers… 8 of 18").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  goOn();
  await page.locator("#toast", { hasText: "Restarted 0 of 16 servers, 2 not done" }).waitFor();
  // What changes the file is one change of it, and one undo.
  const history = async () => (await here.rest("GET", "/config/history")).entries.length;
  const rows = async () => (await here.rest("GET", "/servers")).servers.filter((one) => one.name.startsWith("late"));
  for (const [verb, is] of [["Quarantine", (all) => all.every((one) => one.quarantined)], ["Remove", (all) => !all.length]]) {
    const before = await history();
    await page.getByRole("checkbox", { name: "all 18" }).check();
    await page.getByRole("button", { name: verb, exact: true }).click();
    if (verb === "Remove") await page.getByRole("button", { name: "Remove 18 servers" }).click();
    await page.locator("#toast", { hasText: /^(Quarantined|Removed) 18 servers/ }).waitFor();
    assert.ok(is(await rows()));
    assert.equal(await history(), before + 1);
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await eventually("the undo", async () => !is(await rows()) && (await rows()).length === 18);
  }
  await close();
  answers.close();
});

test("whoever leaves while words are typed stays where that leads", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/usage");
  // Within the time that the search waits for more words.
  await page.evaluate(() => {
    const field = document.getElementById("q");
    field.value = "book a room";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    document.querySelector(".nav a[data-tab=activity]").click();
  });
  await page.getByRole("heading", { level: 1, name: "Activity" }).waitFor();
  // A timer that ends after that of the search.
  await page.evaluate(() => new Promise((next) => setTimeout(next, 200)));
  assert.match(page.url(), /\/ui\/activity$/);
  await close();
});
