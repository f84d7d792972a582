// What is offered works, what is said is so: of the demo server, of failed starts, of access, of commands, of findings and of the header.
import { rmSync } from "node:fs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentCalls, eventually, isSound, isSoundEverywhere, visitor, world } from "../world.mjs";


test("of the demo server nothing is offered that cannot be done, and the first steps go on", async () => {
  for (const args of [[], ["--demo"]]) {
    const here = await world({ entries: () => ({}), args });
    if (!args.length) await here.rest("POST", "/demo");
    const { page, go, title, close } = await visitor(here);
    await title("1 server, none needs you");
    await page.getByRole("heading", { name: "Connect your clients" }).waitFor();
    await page.getByText("It will appear here").waitFor();
    await isSound({ page, width: 1280 }, "the demo alone");
    await go("/ui/servers/demo");
    await page.getByText("This is the bundled demo server.").waitFor();
    for (const name of ["Disable", "Quarantine"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
    assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Remove" }).count(), args.length ? 0 : 1);
    await page.getByText(args.length ? "added it. The demo ends with the daemon." : "or when you remove it").waitFor();
    await page.getByRole("button", { name: "Restart" }).waitFor();
    await isSound({ page, width: 1280 }, `demo ${args}`);
    await go("/ui/servers/demo/edit");
    await page.getByText("demo has no entry.").waitFor();
    await go("/ui/tools/demo:echo");
    await page.getByRole("heading", { name: "Try it" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Hide from agents" }).count(), 0);
    await close();
    await here.end();
  }
});

test("servers that are starting are counted as such, and not as well", async () => {
  const silent = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] };
  const here = await world({ entries: () => ({ one: silent, two: silent }) });
  const { page, title, close } = await visitor(here);
  await title("2 servers, 2 starting");
  await page.getByRole("link", { name: "Starting 2" }).click();
  await page.getByRole("link", { name: "one", exact: true }).waitFor();
  await close();
  await here.end();
});

test("all failed starts are counted, and lost connections are none of them", async () => {
  const here = await world({ entries: () => ({ broken: { command: process.execPath, args: ["-e", "process.exit(3)"] }, gone: { url: "http://127.0.0.1:9/mcp" } }) });
  await eventually("nine failures", async () => {
    await agentCalls(here, "call_tool_read", { name: "broken:x", args_json: "{}" });
    return (await here.rest("GET", "/servers/broken")).unrecorded_failures === 3;
  });
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/broken");
  await page.getByText("tried 9 times").first().waitFor();
  const starts = page.locator("dt", { hasText: "Starts, 24 h" }).locator("xpath=following-sibling::dd[1]");
  assert.equal(await starts.innerText(), "0, 9 failed");
  await page.getByText("3 more attempts failed").waitFor();
  assert.equal(await page.locator("dt", { hasText: "Connections lost" }).count(), 0);
  await isSound({ page, width: 1280 }, "failures");
  await agentCalls(here, "call_tool_read", { name: "gone:x", args_json: "{}" });
  await go("/ui/servers/gone");
  await page.locator(".tags", { hasText: /mcpproxy tries again, next in \d+ s/ }).waitFor();
  await close();
  await here.end();
});

test("a check of access says no of what there is not, and counts rules as the table does", async () => {
  const rules = [{ subjects: ["bob"], tools: ["rooms:find_rooms"], policy: "deny" }];
  const here = await world({ entries: () => ({}), more: { serverAuth: { acl: { default: "allow", rules } } } });
  const { command, args } = here.server("bookings", here.marker);
  await here.rest("POST", "/servers", { name: "rooms", command, args });
  await here.rest("POST", "/servers/rooms/restart");
  const { page, go, close } = await visitor(here);
  await go("/ui/access");
  const form = page.getByRole("form", { name: "Check access" });
  for (const [what, verdict, said] of [
    ["nonsense", "Not found", "name the tool as SERVER:TOOL"],
    ["rooms:find_rooms", "No", "by rule 1"],
    ["rooms:nothing", "Not found", "has no tool \"nothing\""],
    ["rooms:fail", "Yes", "by the default"],
  ]) {
    await form.getByRole("textbox", { name: "Caller", exact: true }).fill("bob");
    await form.getByLabel("Tool as SERVER:TOOL").fill(what);
    await form.getByRole("button", { name: "Check" }).click();
    const status = form.getByRole("status");
    await eventually(`${what}: ${said}`, async () => (await status.innerText()).includes(said));
    assert.ok((await status.innerText()).trim().startsWith(verdict), what);
  }
  // What a search in vain suggests finds something for the same client.
  await go("/ui/tools?q=zebra+book+unicorn&match=all");
  await page.getByRole("button", { name: "Try “book”" }).waitFor();
  await go("/ui/tools?q=zebra+unicorn");
  await page.getByText("No tool matches").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Try/ }).count(), 0);
  await close();
  await here.end();
});

test("a command may refer to variables, and its fields are called as the form calls them", async () => {
  const here = await world({ entries: () => ({}) });
  const { page, go, close } = await visitor(here);
  await go("/ui/add/form");
  const command = page.getByRole("textbox", { name: "Command" });
  const look = async (text) => {
    await command.fill(text);
    await page.getByLabel(/^Arguments/).focus();
  };
  await look("${NO_SUCH_VARIABLE:-/bin/sh}");
  await page.getByText("Found: ").waitFor();
  await look("\"node\"");
  await page.getByText("Next: write Command without quotes around it").waitFor();
  await look("${keyring:gh}");
  await eventually("silence", async () => (await page.getByText(/Next:|Found:/).count()) === 0);
  await close();
  await here.end();
});

test("a finding says in words where it stands, and which characters it marks", async () => {
  const here = await world({ entries: () => ({}) });
  const { command, args } = here.server("clipper");
  await here.rest("POST", "/servers", { name: "clipper", command, args, quarantined: true });
  await here.rest("POST", "/servers/clipper/inspect?wait=60");
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/review/clipper");
  await page.getByText("the description of parameter sidenote").first().waitFor();
  await isSoundEverywhere(who, "findings");
  const inspected = await here.rest("GET", "/servers/clipper/inspect");
  const { description, findings } = inspected.things.find((thing) => thing.name === "clip_page");
  const plain = (text) => text.replace(/\\u\{([0-9A-F]+)\}/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));
  const marks = findings.filter((one) => one.place === "/description" && one.marked).map((one) => plain([...one.excerpt].slice(one.marked.start, one.marked.end).join("")));
  const wheres = (await page.locator(".where").allInnerTexts()).map((text) => text.match(/the description, characters? (\d+)(?: to (\d+))?/)).filter(Boolean);
  const said = wheres.map(([, first, last = first]) => [...description].slice(first - 1, last).join(""));
  assert.ok(marks.length > 0);
  for (const mark of marks) assert.ok(said.includes(mark), `${JSON.stringify(mark)} in ${JSON.stringify(said)}`);
  // What was tried can be taken away again where it is judged.
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("button", { name: "Remove clipper" }).click();
  await page.getByText("Nothing is held.").waitFor();
  assert.deepEqual((await here.rest("GET", "/servers")).servers, []);
  await close();
  await here.end();
});

test("the header says that the daemon is there again although the login is not", async () => {
  const here = await world({ entries: () => ({}) });
  const { page, title, close } = await visitor(here, { expected: [/ERR_|Failed to load resource/] });
  await title(/no servers yet/);
  await here.stop();
  await page.locator("#live", { hasText: "Not connected" }).waitFor();
  rmSync(`${here.folder}/data/page-logins.json`);
  await here.start(here.port);
  await title("You are logged out");
  await eventually("the header", async () => (await page.locator("#live").innerText()).includes("Logged out"));
  assert.equal(await page.getByText("The daemon does not answer.").count(), 0);
  await close();
  await here.end();
});
