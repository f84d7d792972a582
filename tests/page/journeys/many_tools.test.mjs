// Thousands of tools: how many there are, how many of them agents get, and as many drawn as somebody asks for; and searches without words.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, eventually, isSound, visitor, world } from "../world.mjs";

const MANY = 1200;
const HELD = 100;

let here;
before(async () => {
  here = await world({ entries: (of) => {
    const server = (n) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, "many", String(n)] });
    return { many: server(MANY), held: { ...server(HELD), quarantined: true } };
  } });
  await here.rest("POST", "/servers/held/inspect?wait=60");
  await eventually("all tools", async () => (await here.rest("GET", "/tools")).total === MANY + HELD);
});

test("tools are drawn as many at a time, those that agents get before the others, and counted as on the overview", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await page.getByText("1,200 tools are offered to agents").waitFor();
  await go("/ui/tools");
  await page.getByRole("heading", { name: "1,200 tools", exact: true }).waitFor();
  await page.getByText("100 more are hidden from agents, below.").waitFor();
  const rows = page.locator("li.hit");
  assert.equal(await rows.count(), 50);
  await page.getByRole("button", { name: "Show 200 more" }).click();
  await eventually("the next", async () => (await rows.count()) === 250);
  await page.getByText("250 of 1,300 are shown.").waitFor();
  for (let shown = 450; shown <= 1250; shown += 200) {
    await page.getByRole("button", { name: "Show 200 more" }).click();
    await eventually(`${shown} rows`, async () => (await rows.count()) === shown);
  }
  await page.getByRole("heading", { name: "100 tools hidden from agents" }).waitFor();
  await page.getByRole("button", { name: "Show 50 more" }).click();
  await eventually("all", async () => (await rows.count()) === MANY + HELD);
  assert.equal(await page.getByRole("button", { name: /^Show/ }).count(), 0);
  await close();
});

test("a search without words is listed nowhere", async () => {
  for (const query of ["", "  ", "number"]) await agentCalls(here, "retrieve_tools", { query });
  await eventually("their records", async () => (await here.rest("GET", "/activity?tool=retrieve_tools")).records.length === 3);
  const who = await visitor(here);
  for (const place of ["/ui/tools", "/ui/tools?q=number"]) {
    await who.go(place);
    await who.page.getByRole("heading", { name: "Recent searches by agents" }).waitFor();
    assert.equal(await who.page.locator("section", { hasText: "Recent searches by agents" }).last().locator("li").count(), 1, place);
    await isSound(who, place);
  }
  await who.close();
});
