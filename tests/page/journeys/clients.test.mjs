// Files of AI clients: servers taken over from them and clients connected, each with its undo; and what a certain agent would get.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { agent, agentCalls, eventually, isSound, isSoundEverywhere, SECRET, servers, visitor, world } from "../world.mjs";


/** A world in whose home clients have files. */
async function furnished(options) {
  const here = await world(options);
  const put = (path, text) => {
    mkdirSync(dirname(join(here.home, path)), { recursive: true });
    writeFileSync(join(here.home, path), text);
  };
  const rooms = here.server("bookings", here.marker);
  const cursor = `{\n  // mine\n  "mcpServers": ${JSON.stringify({ rooms: { ...rooms, env: { API_TOKEN: SECRET } }, "my notes": { url: "http://127.0.0.1:9/mcp" }, us: { url: `${here.base}/mcp` } }, null, 2)}\n}\n`;
  put(".cursor/mcp.json", cursor);
  put(".codex/config.toml", "model = \"x\" # theirs\n");
  put(".gemini/settings.json", "{");
  return { ...here, cursor, read: (path) => readFileSync(join(here.home, path), "utf8") };
}

test("from nothing: found servers are taken over and a client is connected, on the page alone", async () => {
  const here = await furnished({ entries: () => ({}) });
  const who = await visitor(here);
  const { page, title, go, close } = who;
  await title("mcpproxy is running and has no servers yet");
  await page.getByText("Found 2 servers in your clients’ files: 2 in Cursor.").waitFor();
  await isSoundEverywhere(who, "first run with clients", "first-run-found");
  await go("/ui/add");
  await page.getByRole("button", { name: "Import 2 servers" }).waitFor();
  await page.getByText(/^new, called my-notes: /).waitFor();
  await page.getByRole("checkbox", { name: "all 2" }).uncheck();
  await page.getByText("No server is chosen.").waitFor();
  await page.getByRole("checkbox", { name: "all 2" }).check();
  await isSoundEverywhere(who, "import", "add-import");
  await go("/ui/");
  await page.getByRole("button", { name: "Connect Codex" }).click();
  const change = page.getByRole("group", { name: "Connect Codex?" });
  assert.match(await change.getByRole("region").innerText(), /\+\[mcp_servers\.mcpproxy\][^]*\/mcp/);
  assert.equal(here.read(".codex/config.toml"), "model = \"x\" # theirs\n", "it is only looked at");
  await page.locator("[data-write]:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Connected. Restart Codex.").waitFor();
  assert.match(here.read(".codex/config.toml"), /# theirs[^]*mcp_servers\.mcpproxy/);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Connect Codex" }).waitFor();
  assert.equal(here.read(".codex/config.toml"), "model = \"x\" # theirs\n");

  await page.getByRole("link", { name: "Choose from 2 servers" }).click();
  await title("Add a server");
  await page.getByText("same as").or(page.getByText("mcpproxy itself")).first().waitFor();
  await page.getByRole("checkbox", { name: "my-notes" }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Import 1 server" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(/Imported 1 server(: 1 \w+)?\. Next: (connect a client|see what they need)\./).waitFor();
  const names = async () => (await here.rest("GET", "/servers")).servers.map((one) => one.name);
  assert.deepEqual(await names(), ["rooms"]);
  assert.equal(here.read(".cursor/mcp.json"), here.cursor, "it is only read");
  await page.getByRole("row", { name: /rooms/ }).getByText("imported").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await names()).length === 0);
  await page.getByRole("checkbox", { name: "rooms" }).waitFor();
  // Their file is left without them, and gets them back.
  const move = page.getByRole("checkbox", { name: /^also remove them from the file of Cursor/ });
  assert.equal(await move.count(), 0, "it would take along what is not chosen");
  await page.getByText("To move the servers of Cursor, choose all of them.").waitFor();
  await page.getByRole("checkbox", { name: "my-notes" }).check();
  await move.check();
  await page.getByRole("button", { name: "Move 2 servers" }).click();
  await page.locator("#toast", { hasText: "Moved 2 servers to mcpproxy. Restart Cursor." }).waitFor();
  assert.deepEqual(Object.keys(JSON.parse(here.read(".cursor/mcp.json").replace("// mine", "")).mcpServers), ["us"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the undo", async () => (await names()).length === 0 && here.read(".cursor/mcp.json") === here.cursor);
  // So it does from the history.
  await page.getByRole("button", { name: "Move 2 servers" }).click();
  await page.locator("#toast", { hasText: "Moved 2 servers to mcpproxy. Restart Cursor." }).waitFor();
  await go("/ui/settings");
  await page.getByRole("button", { name: /^Undo change/ }).first().click();
  await page.locator("#toast", { hasText: /^Undid change \d+; 2 servers put back into .*mcp\.json/ }).waitFor();
  assert.equal(here.read(".cursor/mcp.json"), here.cursor);
  assert.deepEqual(await names(), []);
  // Undone again, they are here and in the file; that is said.
  await page.getByRole("button", { name: /^Undo change/ }).first().click();
  await page.locator("#toast", { hasText: /Cursor also starts these servers: move them on the Clients page$/ }).waitFor();
  await go("/ui/clients");
  await page.getByText("The client also starts 2 servers itself").waitFor();
  await here.rest("POST", "/clients/cursor/disconnect", {});
  await go("/ui/clients");
  await page.getByText(/; mcpproxy also has .*, so (it starts|they start) twice/).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Move / }).count(), 0, "Cursor would have no servers");
  for (const name of await names()) await here.rest("DELETE", `/servers/${name}`);
  await go("/ui/add");
  await page.getByRole("checkbox", { name: "my-notes" }).uncheck();
  // One that was taken over is looked at, and then taken back.
  await page.getByRole("button", { name: /^Import/ }).click();
  await page.locator("#toast", { hasText: /Imported \d server/ }).waitFor();
  await page.getByRole("button", { name: "Undo" }).focus();
  await page.evaluate(() => document.querySelector("a[href='/ui/']").click());
  await title(/servers?/);
  await page.locator("tr[data-key=rooms]").getByRole("link", { name: "rooms" }).click();
  await title("rooms");
  await page.getByRole("button", { name: "Undo" }).click();
  await title("Add a server");
  await eventually("the undo", async () => (await names()).length === 0);
  await go("/ui/settings");
  await close();
  await here.end();
});

test("the place of clients lists them, and says why one cannot be connected", async () => {
  const here = await furnished({ entries: () => ({}) });
  const { page, go, close } = await visitor(here);
  await go("/ui/clients");
  const row = (name) => page.locator(`tr[data-key="client ${name}"]`);
  assert.match(await row("cursor").innerText(), /Never called[^]*as us/);
  await row("gemini-cli").getByText("line 1").waitFor();
  assert.equal(await page.getByRole("button", { name: "Connect Gemini CLI" }).count(), 0, "it would fail");
  writeFileSync(join(here.home, ".gemini/settings.json"), "{}");
  await page.getByRole("button", { name: "Look again: Gemini CLI" }).click();
  await page.getByRole("button", { name: "Connect Gemini CLI" }).waitFor();
  writeFileSync(join(here.home, ".gemini/settings.json"), "{");
  await page.getByRole("button", { name: "Disconnect Cursor" }).click();
  const change = page.getByRole("group", { name: "Disconnect Cursor?" });
  assert.ok(!(await change.innerText()).includes(SECRET));
  await change.getByRole("button", { name: "Cancel" }).click();
  assert.equal(here.read(".cursor/mcp.json"), here.cursor);
  await page.getByRole("button", { name: /clients? that (was|were) not found/ }).click();
  await row("zed").waitFor();
  await page.getByText("/mcp/server/NAME").waitFor();
  await isSound({ page, width: 1280 }, "clients");
  await go("/ui/settings");
  await page.getByRole("button", { name: "Find problems" }).click();
  await page.getByText(/\d+ problems? or warnings?; \d+ checks pass/).waitFor();
  await page.getByText("Gemini CLI's file cannot be read").waitFor();
  await page.getByRole("button", { name: "Show all checks" }).click();
  await page.locator("tr[data-key^='finding']").getByText("The daemon listens").waitFor();
  await page.getByRole("button", { name: "Show the file" }).click();
  await page.getByRole("region", { name: "The configuration file" }).waitFor();
  await isSound({ page, width: 1280 }, "settings with everything");
  await close();
  await here.end();
});

test("the place of clients shows the versions and the open sessions of each, from what arrives", async () => {
  const here = await furnished({ entries: (place) => ({ bookings: servers(place).bookings }) });
  await eventually("the tools", async () => (await here.rest("GET", "/tools")).total >= 5);
  const { page, go, close } = await visitor(here);
  const row = (key) => page.locator(`tr[data-key="${key}"]`);
  const shows = (key, what) => eventually(`${key}: ${what}`, async () => { await go("/ui/clients"); return what.test(await row(key).innerText()); });
  const silent = await agent(here, "cursor", "2.0");
  await shows("client cursor", /Connected[^]*1 session open/);
  await row("client cursor").getByText("1 session open").click();
  await row("client cursor").getByText(/\/mcp over HTTP, MCP 2025-06-18, cursor 2\.0/).waitFor();
  const newer = await agent(here, "cursor", "2.1");
  await silent.call("bookings__find_rooms", {});
  await newer.call("bookings__find_rooms", {});
  await shows("client cursor", /Versions 2\.1, 2\.0[^]*2 sessions open/);
  // One whose file has no entry comes another way, and is connected all the same.
  const codex = await agent(here, "codex", "1.0");
  await shows("client codex", /Connected[^]*this file does not name mcpproxy[^]*1 session open/);
  await codex.end();
  await silent.end();
  await newer.end();
  await shows("client cursor", /Versions 2\.1, 2\.0(?![^]*open)/);
  const other = await agent(here, "my-own-agent");
  await shows("program my-own-agent", /Connected[^]*1 session open/);
  await page.route("**/api/v1/sessions", async (route) => {
    const open = await (await route.fetch()).json();
    await route.fulfill({ json: { ...open, sessions: open.sessions.map((one) => ({ ...one, silent: true })) } });
  });
  await shows("program my-own-agent", /Last seen \d+ s ago[^]*1 session open/);
  await page.unroute("**/api/v1/sessions");
  await agentCalls(here, "bookings__find_rooms", {}, "my-script");
  await shows("program my-script", /No open session/);
  assert.match(await page.locator("tr.group").allInnerTexts().then((groups) => groups.join()), /Called before/);
  await isSound({ page, width: 1280 }, "clients with sessions");
  await other.end();
  await close();
  await here.end();
});

test("a search shows what a certain agent would get, and a hidden tool is in no list of theirs", async () => {
  const rules = [
    { subjects: ["ci-agent"], tools: ["bookings:find_rooms"], policy: "allow" },
    { subjects: ["ci-agent"], tools: ["*"], policy: "deny" },
  ];
  const more = {
    serverAuth: { provider: "bearer", bearer: { tokens: { "0123456789abcdef-ci": "ci-agent" } }, acl: { default: "allow", rules } },
    profiles: { plans: { tools: ["bookings:floor_plan"] } },
  };
  const here = await world({ entries: (place) => ({ bookings: servers(place).bookings }), more });
  await eventually("the tools", async () => (await here.rest("GET", "/tools")).total >= 5);
  const who = await visitor(here);
  const { page, go, title, close } = who;
  await go("/ui/tools?q=rooms+booking+plan&as=ci-agent");
  await isSoundEverywhere(who, "search as somebody", "search-as");
  await go("/ui/tools?q=rooms+booking+plan");
  const hits = () => page.locator("li.hit h3 a").allInnerTexts();
  assert.ok((await hits()).length >= 3);
  await page.locator("select[name=as]").selectOption("ci-agent");
  await page.waitForURL(/as=ci-agent/);
  await eventually("the focus", () => page.evaluate(() => document.activeElement?.getAttribute("name") === "as"));
  await eventually("their tools", async () => (await hits()).join() === "bookings:find_rooms");
  await page.locator("select[name=as]").selectOption("");
  await page.locator("select[name=profile]").selectOption("plans");
  await eventually("the profile's tools", async () => (await hits()).join() === "bookings:floor_plan");
  await page.locator("select[name=profile]").selectOption("");
  await page.getByLabel("read only").check();
  await page.waitForURL(/read_only=true/);
  await eventually("what reads", async () => !(await hits()).includes("bookings:create_booking"));

  await go("/ui/tools/bookings:create_booking");
  await page.getByText(/anonymous may; ci-agent may not, by rule 2/).waitFor();
  await page.getByRole("button", { name: "Hide from agents" }).click();
  await page.getByText("Hidden from agents: create_booking").waitFor();
  await page.getByText("Hidden from agents by its name in disabled_tools.").waitFor();
  assert.match(here.text(), /"disabled_tools": \[\s*"create_booking"\s*\]/);
  const found = async () => (await here.rest("GET", "/tools?q=create%20booking")).tools.map((tool) => tool.name);
  assert.ok(!(await found()).includes("bookings:create_booking"));
  await isSound({ page, width: 1280 }, "a hidden tool");
  await page.getByRole("button", { name: "Offer to agents" }).waitFor();
  await go("/ui/servers/bookings");
  await page.locator('tr[data-key="bookings:create_booking"]').getByText("hidden").waitFor();
  await go("/ui/tools/bookings:create_booking");
  await page.getByRole("button", { name: "Offer to agents" }).click();
  await page.getByRole("button", { name: "Hide from agents" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Offer to agents" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Hide from agents" }).waitFor();
  assert.doesNotMatch(here.text(), /disabled_tools/);
  assert.ok((await found()).includes("bookings:create_booking"));
  await go("/ui/servers/bookings");
  await title("bookings");
  assert.match(await page.locator("dl.strip").innerText(), /Running calls\s+0\s/);
  await close();
  await here.end();
});

test("the page and an import name a secret by one rule", async () => {
  const here = await world({ entries: () => ({}) });
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const env = { API_TOKEN: token, "rooms-key": token, "ro/KEY": token, [`L${"o".repeat(120)}NG_TOKEN`]: token };
  const entries = { rooms: { command: "true", env }, "a.b_c": { url: "http://127.0.0.1:9/mcp", headers: { Authorization: `Bearer ${token}`, "X-Api-Key": token } } };
  mkdirSync(join(here.home, ".cursor"));
  writeFileSync(join(here.home, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: entries }));
  const report = JSON.stringify(await here.rest("GET", "/import"));
  const theirs = [...report.matchAll(/mcpproxy secret set ([^`\s]+)/g)].map(([, name]) => name).sort();
  const { page, go, close } = await visitor(here);
  await go("/ui/add/form");
  const ours = await page.evaluate(async (all) => {
    const { secretName } = await import("/ui/assets/entry.js");
    return Object.entries(all).flatMap(([server, { env: variables, headers }]) => Object.keys({ ...variables, ...headers }).map((key) => secretName(server, key)));
  }, entries);
  assert.equal(theirs.length, 6);
  assert.deepEqual(ours.sort(), theirs);
  // What stands before a secret stays in the file.
  await page.getByText("a URL", { exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill("docs");
  await page.getByRole("textbox", { name: "URL" }).fill("http://127.0.0.1:9/mcp");
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.keyboard.type("Authorization");
  await page.getByLabel("Value of Authorization").fill(`Bearer ${token}`);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.waitForURL(/\/ui\/servers\/docs$/);
  assert.match(here.text(), /"Authorization": "Bearer \$\{keyring:docs-Authorization\}"/);
  assert.equal(JSON.parse(readFileSync(join(here.folder, "data", "secrets.json"), "utf8")).secrets["docs-Authorization"], token);
  await close();
  await here.end();
});

test("requiring tokens names the clients that would be refused, and gives each a token of its own in the same step", async () => {
  const here = await furnished({ entries: () => ({}) });
  const before_ = here.read(".cursor/mcp.json");
  const status = async (authorization) => (await fetch(`${here.base}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...(authorization && { authorization }) },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
  })).status;
  await agentCalls(here, "retrieve_tools", { query: "rooms" }, "ci-runner");
  const listener = await agent(here, "listener");
  const who = await visitor(here);
  const { page, go, title, close } = who;
  await go("/ui/access");
  await page.getByRole("button", { name: "Require tokens…" }).click();
  await page.getByText("mcpproxy would refuse Cursor, which has no token. In the last 7 days, ci-runner, listener connected without a token; over HTTP, mcpproxy would refuse them.").waitFor();
  await listener.end();
  await isSoundEverywhere(who, "requiring tokens", "access-first");
  await go("/ui/clients");
  await page.locator("tr[data-key='client cursor']").getByText("Never called").waitFor();
  await go("/ui/access");
  await page.getByRole("button", { name: "Require tokens…" }).click();
  const question = page.getByRole("group", { name: "Require tokens?" });
  await question.getByText("mcpproxy would refuse Cursor, which has no token.").waitFor();
  assert.ok(await question.getByLabel("Write a new token into each client’s file").isChecked());
  await question.getByRole("button", { name: "Require tokens" }).click();
  await page.locator("#toast", { hasText: "Tokens are required; restart Cursor" }).waitFor();
  const token = /"Authorization": "(Bearer mcpp_[\w-]+)"/.exec(here.read(".cursor/mcp.json"))?.[1];
  assert.deepEqual([await status(), await status(token)], [401, 200]);
  await page.locator("tr[data-key='token cursor']").waitFor();
  assert.ok(!(await page.content()).includes(token.slice("Bearer ".length)), "nobody needs to see it");
  // Nobody is let in again before a restart, so whoever has a token keeps it until then.
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await page.locator("#toast", { hasText: "Undone. Tokens are required until the daemon restarts" }).waitFor();
  assert.deepEqual([await status(), await status(token)], [401, 200]);
  await here.rest("DELETE", "/clients/cursor/token");
  assert.equal(here.read(".cursor/mcp.json"), before_);
  assert.equal(await status(token), 401);
  await here.rest("POST", "/clients/cursor/token");
  const another = /"Authorization": "(Bearer mcpp_[\w-]+)"/.exec(here.read(".cursor/mcp.json"))?.[1];
  assert.equal(await status(another), 200);
  await go("/ui/clients");
  await page.getByRole("heading", { name: /^\d clients?, 1 needs you$/ }).waitFor();
  assert.equal(await page.getByText("The client’s file has no token.").count(), 0);
  await page.locator("tr[data-key='client cursor']").getByText("Connected", { exact: true }).waitFor();
  // A client that is disconnected needs its token no more.
  await page.getByRole("button", { name: "Disconnect Cursor" }).click();
  const leaving = page.getByRole("group", { name: "Disconnect Cursor?" });
  await leaving.getByText("mcpproxy revokes the client’s own token.").waitFor();
  await leaving.getByRole("button", { name: "Disconnect Cursor" }).click();
  await page.locator("#toast", { hasText: "Restored the earlier entry of Cursor" }).waitFor();
  assert.equal(here.read(".cursor/mcp.json"), before_);
  assert.equal(await status(another), 401);
  await go("/ui/settings");
  await page.getByText("tokens required").waitFor();
  await close();
  await here.end();
});

test("a connected client's own servers are moved here in one step, and put back byte for byte", async () => {
  const here = await furnished({ entries: () => ({}) });
  const who = await visitor(here);
  const { page, go, title, close } = who;
  await go("/ui/clients");
  await title("1 client, 1 needs you");
  const row = page.locator("tr[data-key='client cursor']");
  await row.getByText("The client also starts 2 servers itself: rooms, my notes.").waitFor();
  await isSoundEverywhere(who, "clients with servers of their own", "clients-own");
  await page.getByRole("button", { name: "Move 2 servers from Cursor" }).click();
  await page.getByRole("group", { name: "Move servers from Cursor?" }).getByRole("button", { name: "Move 2 servers" }).click();
  await page.locator("#toast", { hasText: "Moved 2 servers to mcpproxy. Restart Cursor." }).waitFor();
  const names = (await here.rest("GET", "/servers")).servers.map((one) => one.name);
  assert.deepEqual(names.sort(), ["my-notes", "rooms"]);
  assert.deepEqual(Object.keys(JSON.parse(here.read(".cursor/mcp.json").replace("// mine", "")).mcpServers), ["us"]);
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await row.getByText("The client also starts 2 servers itself").waitFor();
  assert.equal(here.read(".cursor/mcp.json"), here.cursor);
  await close();
  await here.end();
});

/** A server whose variable `key` has a placeholder, and servers in a file. */
const lacks = (here, key) => ({ ...here.server("bookings", here.marker), env: { [key]: "<YOUR_TOKEN>" } });
const putServers = (here, path, mcpServers) => writeFileSync(join(here.home, path), JSON.stringify({ mcpServers }));

test("a server of a name that another has is imported where somebody chooses it", async () => {
  const here = await furnished({ entries: () => ({}) });
  putServers(here, ".gemini/settings.json", { rooms: { ...here.server("bookings", here.marker), env: { OTHER: "x" } } });
  const { page, go, close } = await visitor(here);
  await go("/ui/add");
  await page.getByRole("button", { name: "Import 2 servers" }).waitFor();
  await page.getByRole("checkbox", { name: "rooms-gemini-cli" }).check();
  await page.getByRole("button", { name: "Import 3 servers" }).waitFor();
  await close();
  await here.end();
});

test("an import asks for the value of a placeholder, and imports nothing without it", async () => {
  const here = await furnished({ entries: () => ({}) });
  putServers(here, ".cursor/mcp.json", {});
  putServers(here, ".gemini/settings.json", {});
  mkdirSync(join(here.home, ".qwen"));
  putServers(here, ".qwen/settings.json", { wiki: lacks(here, "WIKI_TOKEN") });
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/add");
  await page.getByText("To move the servers of Qwen Code, connect the client first.").waitFor();
  await page.getByRole("button", { name: "Import 1 server" }).click();
  await page.getByText("1 field needs a value: WIKI_TOKEN").waitFor();
  assert.deepEqual((await here.rest("GET", "/servers")).servers, []);
  await isSoundEverywhere(who, "an import of a placeholder", "add-import-lacking");
  await page.getByLabel("WIKI_TOKEN").fill("w1ki-s3cret-value");
  await page.getByRole("button", { name: "Import 1 server" }).click();
  await page.locator("#toast", { hasText: "Imported 1 server" }).waitFor();
  assert.doesNotMatch(here.text(), /YOUR_TOKEN/);
  assert.match(here.text(), /keyring:wiki-WIKI_TOKEN/);
  await close();
  await here.end();
});

test("a move leaves a server without its value to its client, and imports nothing from a client that is not connected", async () => {
  const here = await furnished({ entries: () => ({}) });
  putServers(here, ".cursor/mcp.json", { rooms: lacks(here, "ROOMS_TOKEN"), "my notes": { url: "http://127.0.0.1:9/mcp" }, us: { url: `${here.base}/mcp` } });
  putServers(here, ".gemini/settings.json", { wiki: lacks(here, "WIKI_TOKEN") });
  const who = await visitor(here);
  const { page, go, close } = who;
  const names = async () => (await here.rest("GET", "/servers")).servers.map((one) => one.name).sort();
  const theirs = () => Object.keys(JSON.parse(here.read(".cursor/mcp.json")).mcpServers);
  await go("/ui/clients");
  assert.equal(await page.getByRole("button", { name: /^Move .* from Gemini CLI/ }).count(), 0);
  await assert.rejects(here.rest("POST", "/clients/gemini-cli/move", { values: { wiki: { "env.WIKI_TOKEN": "x" } } }), /409 [^]*is not connected[^]*"connect_client"/);
  assert.deepEqual(await names(), []);
  const sure = page.getByRole("group", { name: "Move servers from Cursor?" });
  await page.getByRole("button", { name: "Move 2 servers from Cursor" }).click();
  await sure.getByLabel("ROOMS_TOKEN").waitFor();
  await isSoundEverywhere(who, "a move with a placeholder", "clients-move");
  await sure.getByRole("button", { name: "Move 2 servers" }).click();
  await page.locator("#toast", { hasText: "Moved 1 server to mcpproxy. Restart Cursor. Not moved: rooms." }).waitFor();
  assert.deepEqual([await names(), theirs()], [["my-notes"], ["rooms", "us"]]);
  await page.getByRole("button", { name: "Move 1 server from Cursor" }).click();
  await sure.getByLabel("ROOMS_TOKEN").fill("r00ms-s3cret-value");
  await sure.getByRole("button", { name: "Move 1 server" }).click();
  await eventually("the move", async () => (await names()).length === 2 && theirs().join() === "us");
  assert.doesNotMatch(here.text(), /YOUR_TOKEN/);
  assert.match(here.text(), /keyring:rooms-ROOMS_TOKEN/);
  await close();
  await here.end();
});
