// What is typed is what is sent, and what a server says is what is shown: numbers that the browser's own JSON would change, names that
// stand twice, null, and constants.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, copied, eventually, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({ entries: () => ({ shop: { command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, "numbers"] } }) });
  await eventually("its tool", async () => (await here.rest("GET", "/tools")).total === 1);
});

/** Calls it, and gives the arguments as the server got them. */
async function sent(page) {
  const posted = page.waitForRequest((asked) => asked.url().endsWith("/api/v1/call"));
  await page.getByRole("button", { name: "Call as read" }).click();
  const body = (await posted).postData();
  await page.getByRole("heading", { name: "Structured content" }).waitFor();
  const args = /"arguments":(\{.*?\})/;
  const line = await page.getByRole("region", { name: "Text 1" }).innerText();
  const got = args.exec(line.replace(/\s/g, ""))[1];
  assert.equal(args.exec(body)[1], got);
  return got;
}

test("numbers reach the server as they were typed, from the form, as JSON and as a command", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/shop:order");
  await page.getByText("at least 1234567890123456789").first().waitFor();
  await page.getByText("default 1.50").first().waitFor();
  const field = (name) => page.getByLabel(new RegExp(`^${name}(?=$|optional)`));
  await field("id").fill("12345678901234567890");
  await field("lat").fill("45.123456789012345678");
  await field("ids").fill("9007199254740993\n2");
  const args = '{"id":12345678901234567890,"lat":45.123456789012345678,"ids":[9007199254740993,2]}';
  assert.equal(await sent(page), args);
  await page.getByRole("button", { name: "Copy as command" }).click();
  assert.equal(await copied(page), `mcpproxy call read shop:order --args '${args}'`);
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  const area = page.getByLabel("Arguments as JSON");
  assert.equal((await area.inputValue()).replace(/\s/g, ""), args);
  assert.equal(await sent(page), args);
  await area.fill('{"id":-0,"lat":1.50,"ids":[1e400]}');
  assert.equal(await sent(page), '{"id":-0,"lat":1.50,"ids":[1e400]}');
  await page.getByRole("button", { name: "Form", exact: true }).click();
  assert.deepEqual([await field("id").inputValue(), await field("lat").inputValue(), await field("ids").inputValue()], ["-0", "1.50", "1e400"]);
  await field("id").fill("1.5");
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByText("Enter a whole number").waitFor();
  await close();
});

test("a name that appears twice is refused by name", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/shop:order");
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  const area = page.getByLabel("Arguments as JSON");
  await area.fill('{"id": 2, "other": {"id": 1, "\\u0069d" : 2}}');
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByText('The key "id" appears twice in one object').waitFor();
  assert.equal(await page.getByRole("heading", { name: "Result", exact: true }).count(), 0);
  await area.fill('{"id": 2, "other": [{"id": 1}, {"id": 2}]}');
  await sent(page);
  await close();
});

test("numbers of schemas, results and records are shown as they are", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/shop:order?schema=1");
  const schema = await page.getByRole("region", { name: "JSON Schema" }).innerText();
  assert.match(schema, /"minimum": 1234567890123456789\b/);
  assert.match(schema, /"default": 1\.50\b/);
  await page.getByLabel("id", { exact: true }).fill("9007199254740993");
  await sent(page);
  const structured = await page.getByRole("region", { name: "Structured content" }).innerText();
  assert.deepEqual(structured.replace(/\s/g, ""), '{"id":1234567890123456789,"share":0.10}');
  await page.getByRole("img", { name: /of the result/ }).waitFor();
  await go("/ui/tools?q=order");
  assert.match(await page.getByRole("region", { name: "JSON of the answer" }).innerText(), /1234567890123456789\b/);
  await agentCalls(here, "call_tool_read", { name: "shop:order", args_json: '{"id":9007199254740993}' });
  await go("/ui/activity");
  await page.getByRole("link", { name: "shop:order" }).first().click();
  await page.getByRole("region", { name: "Arguments" }).last().getByText("9007199254740993").waitFor();
  await close();
});

test("null can be given, a constant is sent only if it is wanted, and nothing is lost between JSON and the form", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/shop:order");
  const field = (name) => page.getByLabel(new RegExp(`^${name}(?=$|optional)`));
  const turn = (name) => page.getByRole("button", { name, exact: true }).click();
  await field("id").fill("2");
  await field("limit").fill("null");
  assert.equal(await sent(page), '{"id":2,"limit":null}');
  await field("version").selectOption("v1");
  assert.equal(await sent(page), '{"id":2,"limit":null,"version":"v1"}');
  await turn("JSON");
  const strange = '{"id":2,"limit":null,"note":"","tags":["one\\ntwo",""]}';
  await page.getByLabel("Arguments as JSON").fill(strange);
  await turn("Form");
  assert.equal(await field("version").inputValue(), "");
  assert.equal(await sent(page), strange);
  await turn("JSON");
  await page.getByLabel("Arguments as JSON").fill('{"id":"two","limit":5,"note":"a\\nb","tags":[]}');
  await turn("Form");
  await turn("JSON");
  assert.equal((await page.getByLabel("Arguments as JSON").inputValue()).replace(/\s/g, ""), '{"id":"two","limit":5,"note":"a\\nb","tags":[]}');
  await close();
});
