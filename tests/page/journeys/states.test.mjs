// States that no other journey sees: nothing configured, signed out, the daemon gone, a broken file, many servers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentCalls, copied, eventually, isSound, isSoundEverywhere, servers, shot, visitor, world } from "../world.mjs";

test("with nothing configured the page says how to begin, and sees the first call", async () => {
  const here = await world({ entries: () => ({}) });
  const who = await visitor(here);
  const { page, title, close } = who;
  await title("mcpproxy is running and has no servers yet");
  await isSoundEverywhere(who, "first run", "first-run");
  await page.getByText("Waiting for the first call from a client.").waitFor();
  await agentCalls(here, "retrieve_tools", { query: "anything" });
  await page.getByText("by claude-code").waitFor();
  await page.getByRole("link", { name: "Add a server" }).click();
  await title("Add a server");
  await close();
  await here.end();
});

test("who is not logged in is told how to be", async () => {
  const here = await world({ entries: () => ({}) });
  const who = await visitor(here, { login: false, expected: [/status of 401/] });
  await who.title("You are logged out");
  assert.match(await who.page.locator("main").innerText(), /mcpproxy ui/);
  await isSoundEverywhere(who, "signed out", "signed-out");
  await who.close();
  // A login that ends while the page is open.
  const { page, context, title, close } = await visitor(here, { expected: [/status of 401/] });
  await title(/no servers yet/);
  await context.clearCookies();
  await title("You are logged out");
  assert.equal(page.url(), `${here.base}/ui/`);
  await close();
  await here.end();
});

test("a daemon that goes is missed, and found again", async () => {
  const here = await world();
  const expected = [/ERR_CONNECTION_REFUSED/, /ERR_EMPTY_RESPONSE/, /ERR_INCOMPLETE_CHUNKED/, /ERR_CONNECTION_RESET/, /status of 401/];
  const who = await visitor(here, { expected });
  await who.title(/servers/);
  await here.stop();
  await who.page.getByText("The daemon does not answer.").waitFor();
  await who.page.locator("#live", { hasText: "Not connected" }).waitFor();
  await who.title(/state unknown/);
  await isSound(who, "gone");
  await shot(who, "gone");
  // A place that is opened then says it, and nothing else does.
  await who.page.locator("a[data-tab=usage]").click();
  await who.page.locator("main .empty").waitFor();
  assert.equal(await who.page.getByText("The daemon does not answer.").count(), 1);
  await here.start(here.port);
  await eventually("the daemon again", async () => (await who.page.locator("#live", { hasText: "Live" }).count()) || (await who.page.getByText("You are logged out").count()));
  await who.close();
  await here.end();
});

test("a file that cannot be read is named while the last good one holds", async () => {
  const here = await world();
  const { page, title, close } = await visitor(here, { expected: [/status of 500/] });
  await title(/servers/);
  here.write("nothing");
  await page.getByText("Configuration file not loaded: line ").waitFor();
  assert.doesNotMatch(await page.locator("#notices").innerText(), /`/);
  await page.locator("a[data-tab=settings]").click();
  await page.getByText("You cannot change settings until you correct the file.").waitFor();
  assert.equal(await page.locator(".note").count(), 1, "it is said once");
  await page.getByRole("button", { name: "Copy the file’s path" }).click();
  assert.equal(await copied(page), here.config);
  await close();
  await here.end();
});

test("an asleep server shows how long its last start took, and when it sleeps", async () => {
  const timed = ({ bookings, crm }) => ({ bookings: { ...bookings, idle_timeout: 1, max_idle_timeout: "2m" }, crm: { ...crm, idle_timeout: "adaptive", max_idle_timeout: "2m" } });
  const here = await world({ entries: (of) => timed(servers(of)), more: { idle_check_interval: "1s" } });
  const { page, go, close } = await visitor(here);
  await page.getByText(/^Asleep until the next call; the last start took \d/).waitFor();
  await go("/ui/servers/bookings");
  await page.getByText("after 1 s without use").waitFor();
  await go("/ui/servers/crm");
  await page.getByText("after at most 2 min without use").waitFor();
  await go("/ui/settings");
  await page.locator(".note", { hasText: "Server bookings: " }).locator("code", { hasText: "max_idle_timeout" }).waitFor();
  await close();
  await here.end();
});

test("sixty servers have a filter", async () => {
  const entries = () => Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`server-${i}`, { url: `http://127.0.0.1:9/${i}`, enabled: false }]));
  const here = await world({ entries });
  const who = await visitor(here, { width: 390 });
  const { page, title, close } = who;
  await title(/60 servers/);
  await page.getByLabel("Filter servers by name").fill("server-42");
  await eventually("one row", async () => (await page.locator("[data-row]").count()) === 1);
  await page.getByLabel("Filter servers by name").fill("no such");
  await page.getByText(/^No server (has|is) /).waitFor();
  await isSound(who, "sixty");
  // By keyboard: a range, and what is done with it in sight of the last row.
  await page.getByLabel("Filter servers by name").fill("");
  await page.getByRole("button", { name: "Choose several" }).press("Enter");
  const boxes = page.getByRole("checkbox", { name: /^Choose / });
  await boxes.nth(20).press("Space");
  await boxes.nth(49).press("Shift+Space");
  await page.getByText("30 chosen").waitFor();
  await boxes.last().scrollIntoViewIfNeeded();
  const bar = await page.getByRole("group", { name: "Several at once" }).boundingBox();
  assert.ok(bar.y >= 0 && bar.y + bar.height < 300, `the bar is at ${bar.y}`);
  await page.getByRole("group", { name: "Several at once" }).getByRole("button", { name: "Enable" }).click();
  await page.locator("#toast", { hasText: "Enabled 30 servers" }).waitFor();
  await eventually("them", async () => (await here.rest("GET", "/servers")).servers.filter((one) => one.enabled).length === 30);
  await close();
  await here.end();
});

test("what does not exist is said, with a way back", async () => {
  const here = await world();
  const { page, go, close } = await visitor(here, { expected: [/status of 404/] });
  await go("/ui/servers/nobody");
  await page.locator(".empty .bad").waitFor();
  await go("/ui/nowhere");
  await page.getByText("No page has this address.").waitFor();
  await page.getByRole("link", { name: "Servers" }).last().click();
  await page.getByRole("heading", { name: /servers/ }).first().waitFor();
  await close();
  await here.end();
});
