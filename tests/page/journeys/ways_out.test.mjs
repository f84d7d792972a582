// Where something is not there or cannot be asked for, the page leads on; what is pressed by mistake changes nothing.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { agentCalls, eventually, isSound, isSoundEverywhere, shot, visitor, world } from "../world.mjs";

const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });

let here;
before(async () => {
  const held = (...args) => ({ ...kind(...args), quarantined: true });
  here = await world({ entries: (of) => ({ rooms: kind("bookings", of.marker), pair: kind("pair", of.marker), aa: held("bookings"), bb: held("bookings"), one: kind("large"), off: { url: "http://127.0.0.1:9/mcp", enabled: false } }) });
  for (const name of ["aa", "bb"]) await eventually(`the list of ${name}`, async () => (await here.rest("GET", `/servers/${name}/inspect`)).inspected);
  for (const name of ["rooms", "pair", "one"]) await here.rest("POST", `/servers/${name}/restart`);
  await agentCalls(here, "call_tool_read", { name: "rooms:find_room", args_json: "{}" });
});

const FAILS = { expected: [/status of 40[04]/] };

test("what is not there says so in a sentence and leads on", async () => {
  const who = await visitor(here, FAILS);
  const { page, go, close } = who;
  const links = { "/ui/servers/room": "rooms", "/ui/servers/room/edit": "rooms", "/ui/review/room": "rooms", "/ui/tools/rooms:find_room": "rooms:find_rooms" };
  for (const [place, meant] of Object.entries(links)) {
    await go(place);
    const said = page.locator("main .empty");
    assert.match(await said.innerText(), /^(No server "[^"]+" is configured|The server "rooms" has no tool "[^"]+")\.\s+(The activity log has calls to it\. )?Did you mean \S+\? unknown_(server|tool)/, place);
    assert.doesNotMatch(await said.innerText(), /mcpproxy |Try again/, place);
    await isSoundEverywhere(who, place);
    await said.getByRole("link", { name: meant, exact: true }).click();
    await page.waitForURL((url) => decodeURIComponent(url.pathname).includes(`/${meant}`));
  }
  await go("/ui/tools/rooms:find_room");
  await page.getByRole("link", { name: "Show its calls" }).click();
  await page.waitForURL(/\/ui\/activity\?tool=/);
  await page.locator("tbody tr").first().waitFor();
  await go("/ui/tools/nosuch:x");
  await page.getByRole("link", { name: "All tools" }).click();
  await page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
  await go("/ui/activity/999999");
  await page.getByText("There is no activity record 999999.").waitFor();
  await page.getByRole("link", { name: "All activity" }).click();
  await page.waitForURL(/\/ui\/activity$/);
  await close();
});

test("a filter that there is not stays where it can be changed", async () => {
  const who = await visitor(here, FAILS);
  const { page, go, close } = who;
  await go("/ui/activity?kind=foo&server=rooms");
  await page.getByText(/cannot be "foo"/).waitFor();
  await isSound(who, "a wrong kind");
  assert.equal(await page.locator("label", { hasText: "Kind" }).locator("select").inputValue(), "foo");
  await page.getByRole("button", { name: "Remove “foo”" }).click();
  await page.waitForURL((url) => !url.searchParams.has("kind") && url.searchParams.get("server") === "rooms");
  await page.locator("tbody tr").first().waitFor();
  await go("/ui/activity?outcome=refusd");
  await page.getByRole("button", { name: "Use “refused”" }).click();
  await page.waitForURL(/outcome=refused$/);
  await go("/ui/activity?servr=rooms");
  await page.getByRole("button", { name: "Use “server”" }).click();
  await page.waitForURL(/\?server=rooms$/);
  for (const place of ["", "review", "servers/rooms", "tools/rooms:find_rooms", "settings", "clients", "access"]) {
    await go(`/ui/${place}?nonsense=1`);
    await page.getByRole("button", { name: "Remove the filter" }).click();
    await page.getByText("This page has no filter").waitFor({ state: "detached" });
  }
  for (const place of ["/ui/tools?server=room", "/ui/tools?q=rooms&server=room"]) {
    await go(place);
    await page.getByText("No server \"room\" is configured.").waitFor();
    assert.equal(await page.locator("main select[name=server]").inputValue(), "room");
    await isSound(who, place);
    await page.getByRole("button", { name: "Only rooms" }).click();
    await page.waitForURL(/server=rooms/);
    await page.getByRole("link", { name: "rooms:find_rooms" }).waitFor();
  }
  await go("/ui/tools?server=nosuch");
  await page.getByRole("button", { name: "All servers" }).click();
  await page.waitForURL((url) => url.pathname === "/ui/tools" && !url.searchParams.has("server"));
  await close();
});

const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim());

test("Enter twice removes nothing, and leads back to where it was pressed", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/review/aa");
  const remove = page.getByRole("button", { name: "Remove", exact: true });
  await remove.focus();
  await page.keyboard.press("Enter");
  await eventually("the question", async () => (await focused(page)) === "Keep");
  await page.keyboard.press("Enter");
  await remove.waitFor();
  assert.equal(await focused(page), "Remove");
  assert.ok((await here.rest("GET", "/servers/aa")).server);
  await close();
});

test("Decide later says that nothing was changed and goes on", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/review/aa");
  await page.getByRole("button", { name: "Decide later" }).click();
  await page.locator("#toast", { hasText: "aa stays quarantined" }).waitFor();
  await page.waitForURL(/\/ui\/review\/bb$/);
  await page.getByRole("button", { name: "Approve bb" }).waitFor();
  await page.getByRole("button", { name: "Decide later" }).click();
  await title(/servers, /);
  await page.locator("#toast", { hasText: "bb stays quarantined" }).waitFor();
  // Of several definitions of one server the next one is gone to.
  writeFileSync(here.marker, "");
  await here.rest("POST", "/servers/pair/restart");
  await go("/ui/review/pair");
  await page.getByRole("region", { name: "first" }).getByRole("button", { name: "Decide later" }).click();
  await eventually("the second", async () => /^second/.test(await focused(page)));
  await page.getByRole("region", { name: "second" }).getByRole("button", { name: "Decide later" }).click();
  await page.waitForURL((url) => url.pathname !== "/ui/review/pair");
  const { things } = await here.rest("GET", "/servers/pair/inspect");
  assert.equal(things.filter((thing) => thing.held).length, 2);
  await close();
});

test("the focus stays in the review when what was pressed is gone", async () => {
  await agentCalls(here, "upstream_servers", { operation: "add", name: "added", ...kind("bookings", here.marker) });
  const { page, go, close } = await visitor(here);
  await go("/ui/review/added");
  await page.getByRole("button", { name: "List its tools" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("create_booking").first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.nodeName), "ARTICLE");
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.querySelector("article").contains(document.activeElement)));
  await page.getByRole("button", { name: "Approve added" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Approved added.").waitFor();
  await eventually("the focus", () => page.evaluate(() => document.activeElement.hasAttribute("data-approved")));
  await close();
});

test("what was decided leads to the decisions, and to as many", async () => {
  await here.rest("POST", "/servers/one/quarantine");
  await here.rest("PATCH", "/servers/one", { quarantined: false });
  await here.rest("PATCH", "/servers/one", { call_tool_timeout: "30s" });
  const { page, go, close } = await visitor(here);
  await go("/ui/review");
  const link = page.getByRole("heading", { name: /^Decided in the last 7 days/ }).getByRole("link");
  const n = (await link.innerText()).match(/\d+/g).reduce((sum, one) => sum + Number(one), 0);
  await link.click();
  await page.waitForURL(/kind=decision&since=7d/);
  await eventually(`${n} rows`, async () => (await page.locator("tbody tr").count()) === n);
  assert.doesNotMatch(await page.locator("tbody").innerText(), /patch|change /);
  await close();
});

test("on a phone every filter is within the window", async () => {
  const { page, go, close } = await visitor(here, { width: 390 });
  await go("/ui/");
  for (const box of await page.getByRole("navigation", { name: "Which servers" }).getByRole("link").all().then((all) => Promise.all(all.map((one) => one.boundingBox())))) assert.ok(box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  await shot({ page, width: 390, theme: "light" }, "filters");
  await close();
});

test("a call has as many tokens in its result as in its history", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/rooms:find_rooms");
  await page.getByRole("button", { name: "Call as read" }).click();
  const [tokens] = (await page.locator(".results header p", { hasText: "token" }).innerText()).match(/\d+(?= tokens?$)/);
  const row = page.locator("section", { has: page.getByRole("heading", { name: "History" }) }).locator("tbody tr").first();
  await eventually("the same in the history", async () => (await row.locator("td").last().innerText()) === tokens);
  await close();
});

test("one is spoken of as one", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/one");
  for (const [verb, said] of [["Quarantine", "its 1 tool until"], ["Remove", "Agents can no longer use its 1 tool."]]) {
    await page.getByRole("button", { name: verb, exact: true }).click();
    await page.getByText(said).waitFor();
    await page.getByRole("button", { name: "Keep", exact: true }).click();
  }
  await close();
});
