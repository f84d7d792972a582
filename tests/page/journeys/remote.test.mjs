// Servers at an address, of which nothing is started here, and what is held by a lock file.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { eventually, isSound, visitor, world } from "../world.mjs";

/** A server that wants no login. */
const http = createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return response.writeHead(202).end();
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "open", version: "1" } },
    "tools/list": { tools: [{ name: "look", description: "Looks.", annotations: { readOnlyHint: true }, inputSchema: { type: "object" } }] },
  };
  response.writeHead(200, { "content-type": "application/json" });
  return response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
});

before(() => new Promise((listening) => http.listen(0, "127.0.0.1", listening)));
after(() => {
  http.close();
  http.closeAllConnections();
});

const url = () => `http://127.0.0.1:${http.address().port}/mcp`;

test("of a server at an address nothing is said to be started", async () => {
  const here = await world({ entries: () => ({ held: { url: url(), quarantined: true }, open: { url: url() } }) });
  const { page, go, close } = await visitor(here);
  await eventually("its tool", async () => (await here.rest("GET", "/tools?server=open")).total === 1);
  await go("/ui/review/held");
  await page.getByRole("button", { name: "Approve held" }).waitFor();
  await page.getByText("call arguments are sent to its URL, with its headers, and clients can use its 1 tool.").waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /user’s rights|is started|Starting/);
  // Nobody logged in to it.
  await go("/ui/servers/open");
  await page.getByRole("button", { name: "Restart" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Log out" }).count(), 0);
  await close();
  await here.end();
});

test("a lock file is named once, with what ends a quarantine under it", async () => {
  const lock = (folder) => {
    writeFileSync(join(folder, "tools.lock"), JSON.stringify({ version: 1, tools: [] }));
    return { open: { url: url() }, held: { url: url(), quarantined: true } };
  };
  const here = await world({ entries: ({ folder }) => lock(folder), more: { lock_file: "tools.lock" } });
  await eventually("its tool", async () => (await here.rest("GET", "/servers/open/inspect")).things?.length === 1);
  const who = await visitor(here);
  const { page, go, close } = who;
  for (const [name, ends] of [["open", 0], ["held", 1]]) {
    await go(`/ui/review/${name}`);
    const told = page.locator(".note", { hasText: "You cannot approve anything here." });
    await told.waitFor();
    const text = await told.innerText();
    assert.equal(text.split("tools.lock").length, 2, text);
    assert.match(text, /Have a reviewer of .*tools\.lock approve the definitions, with entries there/);
    assert.equal(await told.getByText('"quarantined": false').count(), ends, name);
    await isSound(who, `${name} under a lock file`);
  }
  await close();
  await here.end();
});
