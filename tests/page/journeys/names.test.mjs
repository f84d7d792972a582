// Names and words of strangers that are long, that records have masked, that cannot be seen, or that look like the begin of a sentence.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, eventually, isSound, shot, visitor, world } from "../world.mjs";

const LONG = `long-${"n".repeat(59)}`;
const UNSEEN = "z\u202eknil";
/** Masked in records, since its address has a parameter. */
const MASKED = "sl/ash?a=1#x%2F..";
const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });

let here;
before(async () => {
  here = await world({ entries: () => ({ [LONG]: kind("names"), named: kind("names"), broken: kind("broken"), [UNSEEN]: { url: "http://127.0.0.1:9/mcp", enabled: false }, ["b".repeat(200)]: { url: "http://127.0.0.1:9/mcp" } }), more: { enable_code_execution: true } });
  for (const server of [LONG, "named"]) await here.rest("POST", `/servers/${server}/restart`);
  const call = (name, client) => agentCalls(here, "call_tool_read", { name, args_json: "{}" }, client);
  await call(`named:${MASKED}`, "Visual Studio Code");
  await call(`named:${MASKED}`, "Visual Studio Code");
  await call(`named:${"t".repeat(3000)}`, "Claude Desktop");
  await call("named:refuses", "Claude Desktop");
  await call("broken:x");
  await call("nope:x");
});

const part = encodeURIComponent;

test("nothing is too long for its page", async () => {
  const who = await visitor(here);
  await who.title(/servers/);
  const isSoundHere = async (what, name) => {
    for (const width of [1280, 390]) {
      await who.wear({ width });
      // The header stays above what is scrolled.
      await who.page.evaluate(() => scrollTo(0, 0));
      await isSound(who, what);
      if (name) await shot(who, name);
    }
  };
  const { tools } = await here.rest("GET", "/tools?server=named");
  const places = ["/ui/", `/ui/servers/${LONG}`, `/ui/servers/${LONG}/edit`, `/ui/review/${LONG}`, "/ui/tools", `/ui/tools?q=names&server=${LONG}`, "/ui/activity", "/ui/settings", ...tools.map((tool) => `/ui/tools/${part(tool.name)}`), `/ui/tools/${part(`${LONG}:wide`)}`];
  for (const place of places) {
    await who.go(place);
    await isSoundHere(place.slice(0, 90), `names-${place.replace(/[^a-z]+/g, "-").slice(0, 40)}`);
  }
  await who.go(`/ui/servers/${LONG}`);
  for (const verb of ["Quarantine", "Remove"]) {
    await who.page.getByRole("button", { name: verb, exact: true }).click();
    await who.page.getByRole("group", { name: new RegExp(`^${verb}`) }).waitFor();
    await isSoundHere(verb);
  }
  await who.close();
});

test("calls of a tool are found although records have its name masked, and the page says that it is", async () => {
  const { page, go, close } = await visitor(here);
  await go(`/ui/tools/${part(`named:${MASKED}`)}`);
  await page.getByText("2 calls in 24 hours").waitFor();
  await page.getByText("Records show its name masked or cut: sl/ash?a=***").waitFor();
  await page.getByRole("link", { name: "All calls of this tool" }).click();
  await page.waitForURL(/\/ui\/activity\?tool=/);
  await eventually("both calls", async () => (await page.locator("tbody tr").count()) === 2);
  await go("/ui/servers/named");
  await page.getByText("Calls to tools that the server does not list, or whose names are masked: sl/ash?a=***").waitFor();
  await go(`/ui/tools/${part(`named:${"t".repeat(3000)}`)}`);
  await page.getByText("mcpproxy counts calls to tools with such long names together").waitFor();
  await close();
});

test("the text that activity is filtered by can be changed", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/activity");
  const filter = page.getByPlaceholder(/^Filter: tool/);
  for (const [text, rows] of [["sl/ash", 2], ["refuses", 1], ["visual studio", 2]]) {
    await filter.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("text") === text);
    await eventually(`rows with ${text}`, async () => (await page.locator("tbody tr").count()) === rows);
    assert.equal(await filter.inputValue(), text);
  }
  await page.goBack();
  await page.waitForURL(/text=refuses/);
  assert.equal(await filter.inputValue(), "refuses");
  await close();
});

test("names stay as they are written: of clients, and where a sentence begins with one", async () => {
  const { page, go, title, close } = await visitor(here);
  await title(/servers/);
  const clients = await page.locator("dt", { hasText: "Clients" }).locator("xpath=following-sibling::dd[1]").innerText();
  assert.match(clients, /Claude Desktop/);
  assert.match(clients, /Visual Studio Code/);
  await go("/ui/activity?text=refuses");
  await page.locator("td", { hasText: /^Claude Desktop$/ }).waitFor();
  const { records } = await here.rest("GET", "/activity?kind=call&tool=named:refuses&limit=1");
  await go(`/ui/activity/${records[0].id}`);
  await page.locator(".drawer .note").getByText("no such thing", { exact: true }).waitFor();
  const words = await page.evaluate(async () => {
    const { capital, took } = await import("/ui/assets/words.js");
    const text = (nodes) => [nodes].flat(Infinity).map((node) => node.textContent ?? node).join("");
    return [["call_tool_read: the text", "crm: gone", "the server ended", "it’s gone"].map((one) => text(capital(one))), [47, 999, 1500].map(took)];
  });
  assert.deepEqual(words, [["call_tool_read: the text", "crm: gone", "The server ended", "It’s gone"], ["47 µs", "999 µs", "1.5 ms"]]);
  await close();
});

test("a choice of servers names what cannot be seen", async () => {
  const { page, go, close } = await visitor(here);
  for (const place of ["/ui/activity", "/ui/tools"]) {
    await go(place);
    const options = await page.locator("main option").allTextContents();
    assert.ok(options.includes("zU+202Eknil"), options.join(", "));
    assert.ok(!options.join("").includes("\u202e"));
  }
  await close();
});

test("a record says what was not there, and leads nowhere that is not", async () => {
  const { page, go, close } = await visitor(here);
  const recordOf = async (server) => (await here.rest("GET", `/activity?kind=call&server=${server}&limit=1`)).records[0];
  const broken = await recordOf("broken");
  await go(`/ui/activity/${broken.id}`);
  await page.getByRole("link", { name: "Open server" }).waitFor();
  await page.getByText("mcpproxy waited most of the time for the server, which did not start in time.").waitFor();
  await page.getByText("Not checked: the call failed before").waitFor();
  assert.match(await page.locator("dt", { hasText: "Request, answer" }).locator("xpath=following-sibling::dd[1]").innerText(), /B, size of the answer not measured$/);
  const nope = await recordOf("nope");
  await go(`/ui/activity/${nope.id}`);
  await page.getByText("nope, which is not configured").waitFor();
  assert.equal(await page.getByRole("link", { name: "Open server" }).count(), 0);
  await close();
});

test("calls within a script stand in the order in which they were made", async () => {
  const { page, go, close } = await visitor(here);
  await agentCalls(here, "code_execution", { code: "call_tool('named', 'wide', {}); call_tool('named', 'refuses', {}); 1" });
  const { records } = await here.rest("GET", "/activity?kind=call&tool=code_execution&limit=1");
  await go(`/ui/activity/${records[0].id}`);
  const inside = page.locator("section", { has: page.getByRole("heading", { name: "Calls made by this call" }) }).locator("li a");
  assert.deepEqual((await inside.allInnerTexts()).map((text) => text.split(",")[0].trim()), ["named:wide", "named:refuses"]);
  await close();
});

test("the change of an edit is what is written and no more", async () => {
  const { page, go, close } = await visitor(here);
  await here.rest("PATCH", "/servers/broken", { env: { LOG: "debug" }, enabled: false });
  await go("/ui/servers/broken/edit");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  const area = page.getByLabel("Entry as JSON");
  const entry = JSON.parse(await area.inputValue());
  const { env, ...rest } = entry;
  await area.fill(JSON.stringify({ env: { NEW: "1", ...env }, ...rest }));
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 1 change" }).waitFor();
  assert.deepEqual(await page.locator(".diff td.del").allInnerTexts().then((all) => all.length), 1);
  assert.deepEqual(await page.locator(".diff td.add").allInnerTexts().then((all) => all.length), 2);
  await close();
});
