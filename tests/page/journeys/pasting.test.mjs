// Adding what a README gives: pasted in whatever form, its placeholders asked for, its secrets stored; and known servers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, isSound, isSoundEverywhere, later, visitor, world } from "../world.mjs";

/** A README's configuration: one server with a key and a folder to fill in, one whose program is not there, and one that is a URL. */
const readme = (here) => {
  const { command, args } = here.server("bookings", here.marker);
  return JSON.stringify({ mcpServers: {
    acme: { command, args: [...args, "/path/to/folder"], env: { ACME_API_KEY: "<YOUR_API_KEY>" } },
    docs: { command: "uvxx-no-such-program", args: ["docs-mcp"] },
    wiki: { url: "http://127.0.0.1:9/mcp" },
  } }, null, 2);
};

test("a whole configuration is recognised, checked, and asks for what is missing", async () => {
  const here = await world({ entries: () => ({}) });
  const who = await visitor(here);
  const { page, go, close } = who;
  const before = here.text();
  await go("/ui/add");
  await page.getByLabel("Configuration, command or URL").fill(readme(here));
  await page.getByRole("heading", { name: "3 servers found" }).waitFor();
  await page.getByText("Not found", { exact: true }).waitFor();
  const checked = page.waitForResponse(/\/import\/pasted$/);
  await page.getByRole("button", { name: "check again" }).first().click();
  await checked;
  await page.getByText("Not found", { exact: true }).waitFor();
  await isSoundEverywhere(who, "pasted", "add-pasted");
  await page.getByRole("checkbox", { name: "docs" }).uncheck();
  await page.getByRole("button", { name: "Add 2 servers" }).click();
  await page.getByText("2 fields need a value: /path/to/folder, ACME_API_KEY").waitFor();
  assert.equal(here.text(), before, "nothing is written before all is known");
  await page.keyboard.type("/tmp");
  const key = page.getByLabel("ACME_API_KEY");
  assert.equal(await key.getAttribute("type"), "password");
  await key.fill("ghp_0123456789abcdefghijABCDEFGHIJ012345");
  await page.getByRole("checkbox", { name: /store secrets in a private file/ }).waitFor();
  await page.getByRole("button", { name: "Add 2 servers" }).click();
  await page.locator("#toast", { hasText: "Added 2 servers" }).waitFor();
  const { acme, wiki } = JSON.parse(here.text().replace(/^\/\/.*$/m, "")).mcpServers;
  assert.equal(acme.args.at(-1), "/tmp");
  assert.equal(acme.env.ACME_API_KEY, "${keyring:acme-ACME_API_KEY}");
  assert.equal(wiki.url, "http://127.0.0.1:9/mcp");
  assert.equal(JSON.parse(readFileSync(join(here.folder, "data", "secrets.json"), "utf8")).secrets["acme-ACME_API_KEY"], "ghp_0123456789abcdefghijABCDEFGHIJ012345");
  // However long it takes, and wherever the pointer goes.
  await later(page);
  await page.mouse.move(9, 9);
  await eventually("acme to be ready", async () => (await here.rest("GET", "/servers/acme")).server.tools === 5);
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await here.rest("GET", "/servers")).servers.length === 0);
  await close();
  await here.end();
});

test("fragments, commands and links are understood, and prose is not", async () => {
  const here = await world({ entries: () => ({}) });
  const who = await visitor(here, { expected: [/status of 400/] });
  const { page, go, close } = who;
  await go("/ui/add");
  const field = page.getByLabel("Configuration, command or URL");
  for (const [text, name] of [
    ["\"one\": { \"command\": \"node\" },", "one"],
    ["{ \"command\": \"node\", \"args\": [\"./two.js\"] }", "two.js"],
    ["{ \"servers\": { \"three\": { \"type\": \"stdio\", \"command\": \"node\" } } }", "three"],
    ["claude mcp add four -e KEY=1 -- node ./x.js", "four"],
    ["npx -y @scope/five-mcp", "five"],
    ["https://mcp.six.example/mcp", "six"],
    ["[mcp_servers.seven]\ncommand = \"node\"", "seven"],
    ["# Nine\n\nAdd this to your `mcp.json`:\n\n```json\n{ \"mcpServers\": { \"nine\": { \"command\": \"node\" } } }\n```\nDone.", "nine"],
    ["cursor://anysphere.cursor-deeplink/mcp/install?name=eight&config=eyJjb21tYW5kIjoibnB4In0=", "eight"],
  ]) {
    await field.fill(text);
    await page.getByRole("heading", { name: "1 server found" }).waitFor();
    await page.locator("tr", { hasText: "" }).getByRole("checkbox", { name, exact: true }).waitFor();
  }
  // The only one can be called otherwise, and a secret that it refers to is asked for.
  const { command, args } = here.server("bookings", here.marker);
  await field.fill(JSON.stringify({ servers: { asks: { command, args, env: { ROOM_TOKEN: "${input:room}" } } }, inputs: [{ type: "promptString", id: "room", password: true }] }));
  await page.getByLabel("asks-room").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("mine");
  await page.keyboard.press("Tab");
  await page.getByRole("checkbox", { name: "mine", exact: true }).waitFor();
  await page.getByLabel(/-room$/).fill("r00m-s3cret-value");
  await isSound(who, "a secret of what is pasted");
  await page.getByRole("button", { name: "Add 1 server" }).click();
  await page.waitForURL(/\/ui\/servers\/mine$/);
  await page.locator(".tags", { hasText: "Ready" }).waitFor();
  await go("/ui/add");
  await field.fill('{ "mine": { "command": "node" } }');
  await page.getByRole("checkbox", { name: "mine-2", exact: true }).waitFor();
  await field.fill('{ "url": "http://127.0.0.1:9/mcp", "headers": { "X": "${HOME}" } }');
  await page.getByText("Gets these variables from the daemon: HOME").waitFor();
  await field.fill("npm install -g @scope/ten-mcp");
  await page.locator(".note.err", { hasText: "paste the command that starts it" }).waitFor();
  await field.fill("please add the server");
  await page.locator(".note.err").waitFor();
  assert.doesNotMatch(await page.locator(".note.err").innerText(), /invalid_arguments/);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.locator(".note.err").waitFor({ state: "detached" });
  await page.locator("input[type=file]").setInputFiles({ name: "mcp.json", mimeType: "application/json", buffer: Buffer.from('{ "mcpServers": { "filed": { "command": "node" } } }') });
  await page.getByRole("checkbox", { name: "filed", exact: true }).waitFor();
  await close();
  await here.end();
});

test("a known server is chosen, its blank filled, and added held", async () => {
  const here = await world({ entries: () => ({}) });
  const { page, go, close } = await visitor(here);
  await go("/ui/add");
  assert.ok((await page.getByRole("button", { name: /^Choose / }).count()) >= 12);
  await page.getByRole("button", { name: "Choose Files" }).click();
  await page.locator("input:focus").waitFor();
  await page.keyboard.type(here.folder);
  await page.getByRole("checkbox", { name: /^quarantine/ }).check();
  await page.getByRole("button", { name: "Add 1 server" }).click();
  await page.waitForURL(/\/ui\/review\/files$/);
  const { files } = JSON.parse(here.text().replace(/^\/\/.*$/m, "")).mcpServers;
  assert.deepEqual([files.command, files.args.at(-1), files.quarantined], ["npx", here.folder, true]);
  await close();
  await here.end();
});
