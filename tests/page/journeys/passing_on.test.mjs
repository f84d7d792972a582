// What is exported is what is shown, whatever it is filtered by, or the button says what else comes.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, eventually, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world();
  await here.settled();
  const call = (name, client) => agentCalls(here, "call_tool_read", { name, args_json: "{}" }, client);
  await call("bookings:find_rooms", "walker");
  await call("bookings:fail", "walker");
  await call("clipper:clip_page", "walker");
  await call("bookings:find_rooms", "Other Program");
  await here.rest("POST", "/servers/broken/disable");
  await eventually("their records", async () => (await here.rest("GET", "/activity?kind=call")).records.length >= 8);
});

/** Ids of the rows that are shown, and what the link beside them exports. */
async function both({ page, go }, place) {
  await go(place);
  await page.locator("tbody tr").first().waitFor();
  const hrefs = await page.locator("tbody th a").evaluateAll((links) => links.map((link) => Number(new URL(link.href).pathname.split("/").pop())));
  const link = page.locator("a[download]");
  const text = await page.evaluate(async (href) => (await fetch(href)).text(), await link.getAttribute("href"));
  return { word: await link.innerText(), shown: hrefs, exported: text.trim().split("\n").map((line) => JSON.parse(line)) };
}

/** A row of a tool of ours stands for the call that it made, so its own record is not shown. */
const rowOf = (records, { call, run }) => records.some((other) => other.parent === call && other.run === run);

test("the link exports what is shown, by every filter", async () => {
  const who = await visitor(here);
  const { call } = (await here.rest("GET", "/activity?tool=clipper:clip_page")).records[0];
  const first = (await here.rest("GET", "/activity?tool=bookings:fail")).records[0];
  for (const filter of ["", "?outcome=bad", "?outcome=refused", "?outcome=ok", `?call=${first.parent}`, `?text=${call}`, "?kind=change", "?kind=server", "?kind=all", "?server=bookings", "?tool=bookings:fail", "?caller=anonymous", "?client=walker", "?since=1h", "?client=walker&outcome=bad"]) {
    const { word, shown, exported } = await both(who, `/ui/activity${filter}`);
    assert.equal(word, "Export", filter);
    const rows = exported.filter((record) => !rowOf(exported, record) || shown.includes(record.id));
    assert.deepEqual(rows.map(({ id }) => id).sort((a, b) => b - a), shown, filter);
    if (filter.includes("bad")) assert.deepEqual([...new Set(exported.map(({ outcome }) => outcome))].sort(), ["refused", "tool_error"]);
    if (filter.includes("client")) assert.deepEqual([...new Set(exported.map(({ client }) => client))], ["walker 1.0"]);
  }
  await who.close();
});

test("where more is exported than is shown, the button says so", async () => {
  const who = await visitor(here);
  assert.equal((await both(who, "/ui/activity?text=find_rooms")).word, "Export without the text filter");
  await here.rest("POST", "/servers/bookings/quarantine");
  assert.equal((await both(who, "/ui/activity?kind=decision")).word, "Export all changes");
  await who.close();
});

test("calls are filtered by the program that the rows name", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/activity");
  await page.getByLabel("Caller").selectOption("Other Program");
  await page.waitForURL(/client=Other\+Program/);
  await eventually("its call alone", async () => (await page.locator("tbody tr").count()) === 1);
  await page.getByLabel("Caller").selectOption("anonymous");
  await page.waitForURL(/caller=anonymous/);
  assert.doesNotMatch(page.url(), /client=/);
  await page.getByLabel("Caller").selectOption("all callers");
  await page.waitForURL(/\/ui\/activity$/);
  await close();
});
