// What is used, what failed and why: sums by tool, server and caller; the words of an error; masked secrets; a conversation as a story;
// the list of conversations; and a call that is made again.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, eventually, isSound, isSoundEverywhere, visitor, world } from "../world.mjs";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

let here;
before(async () => {
  here = await world({ entries: (of) => ({ bookings: here_(of) }) });
  await eventually("its tools", async () => (await here.rest("GET", "/tools")).total === 5);
  await agentCalls(here, "retrieve_tools", { query: "free rooms" });
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args: { seats: 7 } });
  await agentCalls(here, "call_tool_read", { name: "bookings:fail", args: { note: `with ${TOKEN}` } });
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args: { seats: 8 } }, "cursor");
  await eventually("the records", async () => (await here.rest("GET", "/activity?tool=bookings:find_rooms")).records.length === 2);
});

const here_ = (of) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, "bookings", of.marker] });

test("usage adds up by tool, server and caller, and names what nobody called", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/usage");
  await page.getByRole("heading", { name: /^Never called since/ }).waitFor();
  await isSoundEverywhere(who, "usage", "usage");
  await page.getByText(/^4 calls in 30 days\. The log goes back /).waitFor();
  const row = page.locator("tr[data-key='bookings:find_rooms']");
  assert.match(await row.innerText(), /read[^]*2/);
  assert.match(await page.locator("tr[data-key='bookings:fail']").innerText(), /100\.0 %/);
  await page.getByRole("link", { name: "24 h" }).click();
  await page.waitForURL(/days=1/);
  await page.getByText(/^4 calls in 24 hours\./).waitFor();
  const { definitions } = await here.rest("GET", "/usage?days=1");
  assert.equal(definitions.searches, 1);
  // What nobody called is hidden from agents at once, and comes back.
  await page.getByText("3 of 5").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Disable/ }).count(), 0, "a young log proves nothing");
  await page.getByRole("checkbox", { name: "bookings" }).check();
  await page.getByRole("button", { name: "Disable 3 tools" }).click();
  await page.locator("#toast", { hasText: "Disabled 3 tools" }).waitFor();
  const callable = async () => (await here.rest("GET", "/tools")).tools.filter((tool) => tool.callable).length;
  assert.equal(await callable(), 2);
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await callable()) === 5);
  await close();
});

test("callers are listed with their programs, and a search that waits does not follow to another place", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/usage");
  assert.match(await page.locator("tr[data-key='Caller anonymous']").innerText(), /cursor, claude-code|claude-code, cursor/);
  await page.getByText("Not counted here: searches, built-in tools, and calls to tools that do not exist.").waitFor();
  // Clicked at once, before what was typed is searched for.
  await page.evaluate(() => {
    const field = document.getElementById("q");
    field.value = "cancel";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    document.querySelector(".nav a[data-tab='clients']").click();
  });
  await title("Clients");
  // A timer of the page that is due after that of the search.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  assert.equal(new URL(page.url()).pathname, "/ui/clients");
  await close();
});

test("conversations are listed, each with its client and what came of it, and lead to their story", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/activity");
  await page.getByRole("link", { name: "Conversations" }).click();
  await page.waitForURL(/\/ui\/activity\/session$/);
  const rows = page.locator("tr[data-key^='session ']");
  await eventually("two conversations", async () => (await rows.count()) === 2);
  assert.match(await rows.filter({ hasText: "claude-code" }).innerText(), /anonymous[^]*1\s+2\s+1\s+0/);
  await isSoundEverywhere(who, "conversations", "sessions");
  await rows.filter({ hasText: "claude-code" }).getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: /claude-code/ }).waitFor();
  await page.getByRole("link", { name: "Conversations" }).click();
  await eventually("the list", async () => (await rows.count()) === 2);
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Activity" }).click();
  await page.locator("#a-text").waitFor();
  await close();
});

test("a search of a conversation says what it found where answers are kept, and words that find nothing are marked", async () => {
  await here.rest("PATCH", "/config", { changes: [{ path: "activity.results", value: "redacted" }] });
  for (const query of ["free rooms", "teleport unicorns"]) await agentCalls(here, "retrieve_tools", { query }, "finder");
  await eventually("the records", async () => (await here.rest("GET", "/activity?client=finder")).records.length === 2);
  await here.rest("PATCH", "/config", { changes: [{ path: "activity.results", value: null }] });
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/activity/session");
  await page.locator("tr[data-key^='session ']", { hasText: "finder" }).getByRole("link").click();
  await page.locator(".story li", { hasText: "found" }).getByText("bookings:find_rooms").waitFor();
  await page.locator(".story li", { hasText: "found" }).getByText("no tool").waitFor();
  await isSound(who, "what was found");
  await go("/ui/tools");
  await page.locator(".rail li", { hasText: "teleport unicorns" }).getByText("finds nothing").waitFor();
  assert.equal(await page.locator(".rail li", { hasText: "free rooms" }).getByText("finds nothing").count(), 0);
  await close();
});

test("a conversation offers the step after what was refused", async () => {
  const { page, go, close } = await visitor(here);
  await here.rest("POST", "/servers/bookings/disable");
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args: { seats: 9 } }, "late");
  await eventually("the record", async () => (await here.rest("GET", "/activity?outcome=refused")).records.length > 0);
  await here.rest("POST", "/servers/bookings/enable");
  await go("/ui/activity/session");
  await page.locator("tr[data-key^='session ']", { hasText: "late" }).getByRole("link").click();
  await page.locator(".story").getByRole("link", { name: "Open server" }).click();
  await page.waitForURL(/\/ui\/servers\/bookings$/);
  await close();
});

test("a failed call says why, a masked secret is marked and found, and the call is made again without it", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/activity?masked=true");
  const rows = page.locator("tr[data-key^='a']");
  await eventually("one row", async () => (await rows.count()) === 1);
  assert.match(await rows.first().innerText(), /bookings:fail[^]*1 secret masked/);
  assert.ok(!(await page.content()).includes(TOKEN));
  await rows.first().getByRole("link").click();
  const detail = page.getByRole("complementary", { name: "bookings:fail" });
  await detail.getByText("The booking system says no.").first().waitFor();
  await isSound(who, "a failed call");
  await detail.getByRole("link", { name: "Show surrounding calls" }).click();
  await page.getByRole("heading", { level: 1, name: /claude-code/ }).waitFor();
  const verbs = await page.locator(".story .verb").allInnerTexts();
  assert.deepEqual(verbs.slice(0, 4).map((verb) => verb.trim()), ["searched", "found", "called", "answered"]);
  assert.match(await page.locator(".story").innerText(), /“free rooms”[^]*find_rooms[^]*fail[^]*1 secret masked[^]*The booking system says no/);
  await isSoundEverywhere(who, "a conversation", "session");
  await page.getByRole("link", { name: /Failed or refused/ }).click();
  await page.waitForURL(/only=bad/);
  await eventually("two steps", async () => (await page.locator(".story > li").count()) === 2);
  await page.getByRole("link", { name: /^All/ }).click();
  await page.getByRole("link", { name: "Call again with these arguments" }).first().click();
  await page.waitForURL(/\/ui\/tools\/bookings%3Afind_rooms\?from=\d+$/);
  assert.equal(await page.getByLabel(/^seats/).inputValue(), "7");
  await page.getByRole("button", { name: "Call as read" }).click();
  await eventually("the call", async () => (await here.rest("GET", "/activity?tool=bookings:find_rooms&caller=operator")).records.length === 1);
  await close();
});
