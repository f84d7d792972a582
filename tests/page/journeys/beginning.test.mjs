// The first steps: whether a command is there before it is added, a server that is tried first, and the demo, which one click starts and another ends.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentCalls, endBrowser, eventually, isSound, shot, visitor, world } from "../world.mjs";

after(endBrowser);

const LOOKS = [{ theme: "light" }, { theme: "dark" }, { width: 390 }];

test("a new server says whether its command is there, and can be tried before it is offered", async () => {
  const here = await world({ entries: () => ({}) });
  for (const looks of LOOKS) {
    const who = await visitor(here, looks);
    await who.go("/ui/add/form");
    const command = who.page.getByRole("textbox", { name: "Command" });
    await command.fill("no-such-program-4711");
    await who.page.getByLabel(/^Arguments/).focus();
    await who.page.getByText(/not found on PATH\. Next: install it/).waitFor();
    await isSound(who, `a command that is not there ${JSON.stringify(looks)}`);
    await command.fill("nodee");
    await who.page.getByLabel(/^Arguments/).focus();
    await who.page.getByRole("button", { name: "Use node" }).click();
    await who.page.getByText(/^Found: \/.*node$/).waitFor();
    await isSound(who, `a command that is there ${JSON.stringify(looks)}`);
    await shot(who, "add-found");
    await who.close();
  }
  const { page, go, close } = await visitor(here);
  await go("/ui/add/form");
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByText("2 things to correct: Name, Command").waitFor();
  const { command, args } = here.server("bookings", here.marker);
  await page.getByLabel("Name", { exact: true }).fill("rooms");
  await page.getByRole("textbox", { name: "Command" }).fill(command);
  await page.getByLabel(/^Arguments/).fill(args.join("\n"));
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.waitForURL(/\/ui\/review\/rooms$/);
  await page.getByText("5 tools: ").waitFor();
  const { servers } = await here.rest("GET", "/servers");
  assert.equal(servers[0].quarantined, true);
  const { tools } = await here.rest("GET", "/tools");
  assert.ok(tools.every((tool) => !tool.callable), "nothing of it is offered");
  await page.getByRole("button", { name: "Approve rooms" }).click();
  await eventually("the approval", async () => !(await here.rest("GET", "/servers")).servers[0].quarantined);
  await close();
  await here.end();
});

test("the demo is started by one click, writes nothing, works, and is removed by another", async () => {
  const here = await world({ entries: () => ({}) });
  const before = here.text();
  const { page, title, go, close } = await visitor(here);
  await title("mcpproxy is running and has no servers yet");
  await page.getByRole("button", { name: "Start the demo" }).click();
  await title("1 server, all is well");
  assert.equal(here.text(), before, "nothing is written");
  assert.match(await agentCalls(here, "call_tool_read", { name: "demo:echo", args_json: "{\"text\":\"hello\"}" }), /hello/);
  await go("/ui/servers/demo");
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByText(/Deletes its 7 tools and its log/).waitFor();
  await page.getByRole("button", { name: "Remove demo" }).click();
  await title("mcpproxy is running and has no servers yet");
  assert.equal(here.text(), before);
  await page.getByRole("button", { name: "Start the demo" }).click();
  await page.getByText("Started the demo").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await here.rest("GET", "/servers")).servers.length === 0);
  await close();
  await here.end();
});
