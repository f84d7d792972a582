// Looking: the servers, a search, a tool, a server, the activity, the settings. With the mouse and with the keyboard alone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, eventually, later, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world();
  await here.settled();
});

test("the overview says of each server how it is, why, and what to do", async () => {
  const { page, title, close } = await visitor(here);
  await title(/6 servers, 4 need you/);
  assert.match(await page.title(), /^\(4\) /, "the tab says it, too");
  const row = (name) => page.locator("tr", { has: page.getByRole("link", { name, exact: true }) });
  await row("broken").getByText("Error", { exact: true }).first().waitFor();
  assert.match(await row("broken").innerText(), /Exited with code 1: .*No module named.*Next: read its log, then correct its command or its arguments/s);
  assert.match(await row("tickets").innerText(), /Needs a login.*a login.*Log in/s);
  assert.doesNotMatch(await page.locator("main").innerText(), /mcpproxy (?:upstream|secret)|Disconnected|Authenticating/);
  assert.match(await row("clipper").innerText(), /Quarantined.*Next: review it/s);
  assert.match(await row("crm").innerText(), /Disabled.*Enable/s);
  assert.match(await row("bookings").innerText(), /Running; no calls in the last hour|Asleep/);
  assert.equal(await page.locator("#waiting").innerText().then((text) => text[0]), "2");
  await page.getByRole("link", { name: /^Need you/ }).click();
  await page.waitForURL(/state=you/);
  assert.equal(await row("bookings").count(), 0);
  await page.goBack();
  await row("bookings").waitFor();
  await row("broken").getByRole("link", { name: "Open log" }).click();
  await page.getByRole("log").getByText("ModuleNotFoundError").first().waitFor();
  await close();
});

test("by keyboard alone one finds a tool, reads why, and opens it", async () => {
  const { page, title, close } = await visitor(here);
  await title(/servers/);
  await page.keyboard.press("/");
  await page.keyboard.type("book a room");
  await page.keyboard.press("Enter");
  await title("An agent’s search");
  const first = page.locator("li.hit").first();
  assert.match(await first.innerText(), /bookings:/);
  assert.match(await first.innerText(), /room.*name \d\.\d\d/s);
  assert.match(await page.locator(".budget").innerText(), /this answer\s+[\d,]+ tokens\s+all \d+ tools\s+[\d,]+ tokens/);
  // The shares of the words add up to the score.
  const { tools } = await here.rest("GET", "/tools?q=book%20a%20room&explain=true");
  for (const tool of tools) {
    const sum = tool.why.words.flatMap((word) => [word.name, word.description, word.parameters, word.server]).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - tool.score) < 0.002, `${tool.name}: ${sum} and ${tool.score}`);
  }
  // The time is the daemon’s: `listed` and `took_us` are no part of what an agent gets.
  assert.match(await page.locator(".bar [role=status]").innerText(), /^\d+ of \d+ matches, [\d.]+ (µs|ms)$/);
  assert.doesNotMatch(await page.getByRole("region", { name: "JSON of the answer" }).innerText(), /took_us|listed/);
  // It follows what is typed, and the keyboard stays there.
  await page.keyboard.press("/");
  await page.locator("#q").fill("floor plan");
  await page.waitForURL(/q=floor%20plan/);
  await eventually("the other hits", async () => /floor_plan/.test(await first.innerText()));
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
  await page.locator("#q").fill("book a room");
  await page.keyboard.press("Enter");
  await eventually("the first hits", async () => /room/.test(await first.innerText()));
  await page.locator("main").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/ui\/tools\/bookings/);
  await page.getByRole("heading", { name: "Try it" }).waitFor();
  for (const [key, heading] of [["s", /servers/], ["r", /awaits? your approval/], ["a", "Activity"], ["n", "Add a server"], ["t", "Tools"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await title(heading);
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await close();
});

test("a search that finds nothing says so and offers a way out", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools?q=teleport+unicorns");
  await page.getByText("No tool matches “teleport unicorns”.").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Try/ }).count(), 0, "none of the words finds anything");
  await page.getByRole("link", { name: "All tools" }).click();
  await page.getByRole("heading", { name: /^\d+ tools$/ }).waitFor();
  await go("/ui/tools?q=book+unicorns&match=all");
  await page.getByRole("button", { name: "Try “book”" }).click();
  await page.waitForURL(/q=book&/);
  await go("/ui/clients");
  assert.equal(await page.locator("#q").inputValue(), "", "its words are of the search alone");
  await close();
});

test("a server's page shows its log as it grows, its tools and its entry", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/bookings");
  const log = page.getByRole("log");
  await log.getByText("bookings begins").first().waitFor();
  await here.rest("POST", "/call", { name: "bookings:find_rooms", variant: "read", args: {} });
  await log.getByText("find_rooms called").first().waitFor();
  assert.ok(await log.evaluate((box) => box.clientHeight <= box.firstElementChild.offsetHeight + 14), "it is as high as what is in it");
  await page.getByRole("link", { name: "create_booking" }).waitFor();
  const entry = await page.getByRole("region", { name: "Entry" }).innerText();
  assert.match(entry, /"API_TOKEN": "\*\*\*"/);
  await page.getByRole("button", { name: "Restart" }).click();
  await page.locator(".tags").getByText("Ready").waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.locator(".tags").getByText("Disabled").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Disable" }).waitFor();
  await close();
});

test("activity comes by itself, is filtered by the address, and a record opens beside the list", async () => {
  await here.rest("POST", "/call", { name: "bookings:fail", variant: "read", args: {} });
  const { page, go, close } = await visitor(here);
  await go("/ui/activity");
  await page.getByText(/\d+ calls?, \d+ failed, \d+ refused/).waitFor();
  // Anywhere in its row.
  await page.locator("tbody tr", { hasText: "bookings:fail" }).first().locator("td").first().click();
  await page.waitForURL(/\/ui\/activity\/\d+/);
  const drawer = page.getByRole("complementary");
  await drawer.getByText("tool error").waitFor();
  // With a record open new rows wait until they are asked for.
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args_json: "{\"seats\":3}" });
  await page.getByRole("button", { name: /Show \d+ new rows?/ }).waitFor();
  await page.locator("main").focus();
  await page.keyboard.press(".");
  await page.locator("td", { hasText: "claude-code" }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL(/\/ui\/activity$/);
  await page.locator("label", { hasText: "Outcome" }).locator("select").selectOption("tool_error");
  await page.waitForURL(/outcome=tool_error/);
  await eventually("only errors", async () => (await page.locator("tbody tr").count()) > 0 && !(await page.locator("tbody").innerText()).includes("find_rooms"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export", exact: true }).click()]);
  assert.equal(download.suggestedFilename(), "activity.jsonl");
  await close();
});

test("a short place is no higher than the window, and its footer is in view", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/nowhere");
  await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
  await page.getByText("/ui/nowhere", { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollHeight - innerHeight), 0);
  const foot = await page.locator(".foot").boundingBox();
  assert.ok(foot.y + foot.height <= 900, JSON.stringify(foot));
  await close();
});

test("the theme is switched from that of the system, and back to it", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/");
  const chosen = () => page.evaluate(() => [document.documentElement.dataset.theme ?? null, localStorage.getItem("theme")]);
  await page.locator("#theme-switch").click();
  assert.deepEqual(await chosen(), ["dark", "dark"]);
  await page.locator("#theme-switch").click();
  assert.deepEqual(await chosen(), [null, null]);
  await page.locator("#toast", { hasText: "Theme: light, like the system" }).waitFor();
  await later(page);
  await page.mouse.move(9, 9);
  await page.locator("#toast").waitFor({ state: "hidden" });
  await close();
});

test("the settings say what is in force", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/settings");
  await page.getByText("mcp_config.json").first().waitFor();
  await page.getByRole("combobox", { name: "Add and change servers" }).waitFor();
  await page.locator("tr", { hasText: "in use: 127.0.0.1:" }).waitFor();
  assert.equal(await page.getByText("in use:").count(), 1, "nothing else is set by an option");
  // A problem leads to where it is mended.
  await page.getByRole("button", { name: "Find problems" }).click();
  await page.getByRole("link", { name: "Open broken" }).waitFor();
  // Only a terminal knows its own PATH; whether the login shell told it depends on the machine.
  const doctor = (await page.getByRole("region", { name: "Doctor" }).innerText()).replace("mcpproxy config set environment.set.PATH", "");
  assert.doesNotMatch(doctor, /mcpproxy (upstream|secret|config|connect)/, "no command of the terminal");
  await page.getByRole("link", { name: "Open broken" }).click();
  await page.getByRole("form", { name: "Correct the command" }).waitFor();
  await go("/ui/access");
  await page.getByLabel("Tool as SERVER:TOOL").fill("bookings:find_rooms");
  await page.keyboard.press("Enter");
  await page.getByRole("form", { name: "Check access" }).getByText("Yes", { exact: true }).waitFor();
  await close();
});
