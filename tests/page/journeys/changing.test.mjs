// Changing things: approving what is held, adding, editing and removing servers, signing in.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentCalls, eventually, isSound, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world();
  await here.settled();
});

const held = async (name) => (await here.rest("GET", `/servers/${name}`)).server.held ?? 0;

test("a changed tool is compared and approved, and only as it was shown", async () => {
  writeFileSync(here.marker, "");
  await here.rest("POST", "/servers/bookings/restart");
  assert.equal(await held("bookings"), 1);
  const who = await visitor(here, { expected: [/status of 409/, /status of 4\d\d/] });
  const { page, go, close } = who;
  await go("/ui/review/bookings");
  // On a phone nothing is offered before it was seen.
  await who.wear({ width: 390 });
  const top = async (what) => (await page.locator(what).first().boundingBox()).y;
  const order = await Promise.all([".diff", ".decide", ".decided, .cols > .hint"].map(top));
  assert.deepEqual(order, [...order].sort((a, b) => a - b), "the change, the decision, and what was decided before");
  await who.wear({ width: 1280 });
  await page.getByText(/What matters:.*No longer declares itself destructive/).waitFor();
  assert.match(await page.locator(".diff ins", { hasText: "tell the guests" }).innerText(), /and tell the guests/);
  // It changes back and forth while somebody reads: what was shown cannot be approved any more.
  rmSync(here.marker);
  await here.rest("POST", "/servers/bookings/restart");
  writeFileSync(here.marker, "");
  const { seen } = await here.rest("GET", "/servers/bookings/inspect");
  await assert.rejects(here.rest("POST", "/servers/bookings/approve", { seen: "0000000000000000", names: ["cancel_all"] }));
  assert.ok(seen);
  await page.getByText("The server’s list has changed.").waitFor();
  await page.getByRole("button", { name: "Approve this definition" }).click();
  await page.locator(".note.err").first().waitFor();
  await here.rest("POST", "/servers/bookings/restart");
  await page.getByRole("button", { name: "Show the current list" }).first().click();
  await eventually("the notice to go", async () => (await page.getByText("The server’s list has changed.").count()) === 0);
  await page.getByRole("button", { name: "Approve this definition" }).click();
  await page.locator("#toast", { hasText: "Approved cancel_all" }).waitFor();
  assert.equal(await held("bookings"), 0);
  // It is a change like any other: in the history, and undone there.
  await go("/ui/settings");
  const change = page.locator("tr", { hasText: "approvals.bookings.cancel_all" }).first();
  await change.getByRole("button", { name: "Undo" }).click();
  await page.locator("#toast", { hasText: "Undid change" }).waitFor();
  assert.equal(await held("bookings"), 1);
  assert.equal(await change.getByRole("button").count(), 0);
  await here.rest("POST", "/servers/bookings/approve", { seen: (await here.rest("GET", "/servers/bookings/inspect")).seen, names: ["cancel_all"] });
  await close();
});

test("a quarantined server is approved in spite of findings, which are shown with their evidence", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/");
  await page.getByRole("link", { name: "Review", exact: true }).last().click();
  await go("/ui/review/clipper");
  await page.getByRole("heading", { name: /\d+ findings/ }).waitFor();
  assert.ok((await page.locator(".sev.high").count()) >= 3);
  assert.ok((await page.locator(".esc", { hasText: "U+200B" }).count()) >= 2);
  await page.getByRole("button", { name: "Approve clipper" }).click();
  assert.equal((await here.rest("GET", "/servers/clipper")).server.quarantined, true, "it is a question first");
  await page.getByRole("group", { name: /in spite of \d+ dangerous findings/ }).getByRole("button", { name: "Approve anyway" }).click();
  await page.locator("#toast", { hasText: "Approved clipper" }).waitFor();
  const { server } = await here.rest("GET", "/servers/clipper");
  assert.equal(server.quarantined, false);
  await close();
});

test("a server is added by keyboard, with every mistake named beside its field", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/add/form");
  await page.getByRole("button", { name: "Add server" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Nothing was done. Correct Name, Command.").waitFor();
  await page.keyboard.type("team wiki");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Use team-wiki" }).click();
  await page.getByRole("textbox", { name: "Command" }).fill(here.server("bookings").command);
  await page.getByLabel(/^Arguments/).fill(here.server("bookings").args.join("\n"));
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.keyboard.type("WIKI_TOKEN");
  await page.getByLabel("Value of WIKI_TOKEN").fill("wk_live_4f8");
  await page.getByText("WIKI_TOKEN looks like a secret; saving stores it in a private file").waitFor();
  const preview = page.getByRole("region", { name: "The new entry" });
  assert.match(await preview.innerText(), /"team-wiki": \{/);
  assert.match(await preview.innerText(), /"WIKI_TOKEN": "\$\{keyring:team-wiki-WIKI_TOKEN\}"/);
  await page.getByRole("button", { name: "Keep it in the entry" }).click();
  assert.match(await preview.innerText(), /wk_live_4f8/);
  await page.getByRole("button", { name: "Store it in a private file" }).click();
  await page.getByRole("button", { name: "Add server" }).click();
  await title("team-wiki");
  await page.locator(".tags").getByText(/Ready|Connecting|Disconnected/).waitFor();
  assert.match(here.text(), /\/\/ comments stay/);
  assert.match(here.text(), /keyring:team-wiki-WIKI_TOKEN/);
  assert.doesNotMatch(here.text(), /wk_live/);
  const { secrets } = await here.rest("GET", "/secrets");
  assert.ok(secrets.some(({ name }) => name === "team-wiki-WIKI_TOKEN"));
  await close();
});

test("the secret of an OAuth client goes into the keyring, and is shown nowhere", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/crm/edit");
  await page.getByText("rarely needed: most servers").click();
  await page.getByLabel(/^Client id/).fill("my-client");
  await page.getByLabel(/^Client secret/).fill("correct horse");
  await page.getByText("This is a secret; saving stores it in a private file").waitFor();
  const preview = page.getByRole("region", { name: "The changed entry" });
  assert.match(await preview.innerText(), /"client_secret": "\$\{keyring:crm-client_secret\}"/);
  // As JSON the reference stands for it, and back in the form there is what was typed.
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  assert.doesNotMatch(await page.getByLabel("Entry as JSON").inputValue(), /correct horse/);
  await page.getByRole("button", { name: "Edit as form" }).click();
  assert.equal(await page.getByLabel(/^Client secret/).inputValue(), "correct horse");
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("heading", { name: "The change" }).waitFor();
  assert.doesNotMatch(await page.content(), /correct horse/);
  assert.doesNotMatch(await page.locator("main").innerText(), /correct horse/);
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.waitForURL(/\/ui\/servers\/crm$/);
  assert.match(here.text(), /"client_secret": ?"\$\{keyring:crm-client_secret\}"/);
  const { secrets } = await here.rest("GET", "/secrets");
  assert.deepEqual(secrets.find(({ name }) => name === "crm-client_secret").used_by.length, 1);
  await close();
});

test("a whole configuration as JSON and a command line as a command become an entry", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/add/form");
  const preview = page.getByRole("region", { name: "The new entry" });
  await page.getByLabel("Command", { exact: true }).fill("npx -y '@scope/some server' --fast");
  await page.getByLabel("Command", { exact: true }).blur();
  await page.getByRole("button", { name: "Split it" }).click();
  assert.match(await preview.innerText(), /"command": "npx",\s+"args": \[\s*"-y",\s+"@scope\/some server",\s+"--fast"/);
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("Entry as JSON").fill(JSON.stringify({ mcpServers: { pasted: { command: "node", args: ["x.js"] } } }));
  assert.match(await page.getByLabel("Entry as JSON").inputValue(), /^\{\s+"command": "node"/);
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "pasted");
  await page.getByLabel("Entry as JSON").fill(JSON.stringify({ a: { command: "a" }, b: { url: "http://b/mcp" } }));
  await page.getByRole("link", { name: "paste all" }).waitFor();
  await close();
});

test("a server with a URL, headers and a login of its own", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/add/form");
  await page.getByText("a URL", { exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill("remote");
  await page.getByRole("textbox", { name: "URL" }).fill("example.com/mcp");
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText("The URL must begin with").waitFor();
  await page.getByRole("textbox", { name: "URL" }).fill("http://127.0.0.1:9/mcp");
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.keyboard.type("X-Team");
  await page.getByLabel("Value of X-Team").fill("a");
  await page.getByText("rarely needed: most servers").click();
  await page.getByLabel(/^Client id/).fill("page");
  await page.getByLabel(/^Scopes/).fill("read write");
  await page.getByText("Quarantine it").click();
  const preview = await page.getByRole("region", { name: "The new entry" }).innerText();
  assert.match(preview, /"oauth": \{\s+"client_id": "page",\s+"scopes": \[\s+"read",\s+"write"/);
  await page.getByRole("button", { name: "Add server" }).click();
  await title(/awaits? your approval/);
  const { entry } = await here.rest("GET", "/servers/remote");
  assert.deepEqual([entry.url, entry.quarantined], ["http://127.0.0.1:9/mcp", true]);
  await close();
});

test("an edit shows its difference before it is saved, and keeps secrets", async () => {
  const { page, go, close } = await visitor(here, { expected: [/status of 400/] });
  await go("/ui/servers/bookings/edit");
  await page.getByText("You have changed nothing yet.").waitFor();
  assert.equal(await page.getByLabel("Value of API_TOKEN").inputValue(), "***");
  await page.getByRole("button", { name: "Remove LOG" }).click();
  await page.getByText(/^Timing, working folder/).click();
  await page.getByLabel(/^Call timeout without progress/).fill("soon");
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByText("Enter a duration such as 30s").waitFor();
  await page.getByLabel(/^Call timeout without progress/).fill("30s");
  await page.getByRole("button", { name: "Show the change" }).click();
  const diff = page.getByRole("table", { name: "The entry before and after" });
  await diff.getByText("call_tool_timeout").waitFor();
  assert.match(await diff.locator(".del").first().innerText(), /LOG/);
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.waitForURL(/\/ui\/servers\/bookings$/);
  assert.match(here.text(), /"API_TOKEN": "sk-live-/);
  assert.match(here.text(), /"call_tool_timeout": "30s"/);
  assert.doesNotMatch(here.text(), /"LOG"/);
  // The same as JSON.
  await go("/ui/servers/bookings/edit");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  const area = page.getByLabel("Entry as JSON");
  const entry = JSON.parse(await area.inputValue());
  await area.fill(JSON.stringify({ ...entry, call_tool_timeout: "never ever" }));
  await page.getByRole("button", { name: "Show the change" }).click();
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.locator(".note.err").waitFor();
  await close();
});

test("a server is quarantined and removed, each after a question", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/servers/team-wiki");
  await page.getByRole("button", { name: "Quarantine" }).click();
  await page.getByRole("button", { name: "Quarantine team-wiki" }).click();
  await page.locator(".tags").getByText("Quarantined").waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("button", { name: "Remove team-wiki" }).click();
  await title(/servers/);
  assert.doesNotMatch(here.text(), /team-wiki/);
  await close();
});

test("what an agent added is listed only when a person asks for it, and what it changed is compared", async () => {
  await agentCalls(here, "upstream_servers", { operation: "add", name: "from-agent", ...here.server("bookings") });
  const who = await visitor(here);
  const { page, go, title, close } = who;
  await go("/ui/review/from-agent");
  await page.getByText("An agent added this server.").waitFor();
  await page.getByText("mcpproxy does not know the server’s tools.").waitFor();
  await page.getByRole("button", { name: "List its tools" }).click();
  await page.getByText("create_booking").first().waitFor();
  await isSound(who, "an agent's server");
  await page.getByRole("button", { name: "Approve from-agent" }).click();
  await page.locator("#toast", { hasText: "Approved from-agent" }).waitFor();
  await agentCalls(here, "upstream_servers", { operation: "patch", name: "from-agent", args: [...here.server("bookings").args, "more"] });
  await go("/ui/review/from-agent");
  const diff = page.getByRole("table", { name: "The entry before and after an agent changed it" });
  assert.match(await diff.innerText(), /more/);
  await isSound(who, "an agent's change");
  await page.getByRole("button", { name: "Approve from-agent" }).click();
  await page.getByRole("group", { name: "Approve from-agent without knowing its tools?" }).getByRole("button", { name: "Approve anyway" }).click();
  await page.getByText("Approved from-agent.").waitFor();
  await go("/ui/");
  await title(/servers/);
  await close();
});

test("a person signs in to a server, and the page sees it", async () => {
  const { page, context, go, close } = await visitor(here, { expected: [/another host/] });
  await go("/ui/servers/tickets/login");
  await page.getByText(/Waiting for your login/).waitFor();
  const [opened] = await Promise.all([context.waitForEvent("page"), page.getByRole("link", { name: /^Open 127/ }).click()]);
  await opened.waitForLoadState();
  await page.getByText("You are logged in.").waitFor();
  await page.getByRole("link", { name: "Open tickets" }).click();
  await page.locator(".tags").getByText("Ready").waitFor();
  await close();
});

test("a secret is stored over no other: not of another server, of this form, nor of somebody who was faster", async () => {
  const stored = () => JSON.parse(readFileSync(join(here.folder, "data", "secrets.json"), "utf8")).secrets;
  await here.rest("PUT", "/secrets/rooms-api-KEY", { value: "of-rooms" });
  const { page, go, close } = await visitor(here, { expected: [/status of 4\d\d/] });
  await go("/ui/add/form");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("rooms-api");
  await page.getByRole("textbox", { name: "Command" }).fill(here.server("bookings").command);
  await page.getByLabel(/^Arguments/).fill(here.server("bookings").args.join("\n"));
  for (const [key, value] of [["KEY", "ghp_a"], ["A-KEY", "ghp_b"], ["A KEY", "ghp_c"], ["A/KEY", "ghp_d"]]) {
    await page.getByRole("button", { name: "Add a variable" }).click();
    await page.keyboard.type(key);
    await page.getByLabel(`Value of ${key}`, { exact: true }).fill(value);
  }
  const preview = page.getByRole("region", { name: "The new entry" });
  assert.match(await preview.innerText(), /keyring:rooms-api-KEY-2\}/);
  // Somebody takes that name meanwhile: theirs stays, what was stored before it goes, and the next attempt has another.
  await here.rest("PUT", "/secrets/rooms-api-A-KEY-3", { value: "of-another" });
  await page.getByRole("button", { name: "Add server" }).click();
  await page.getByText(/a secret .*rooms-api-A-KEY-3.* already exists/i).first().waitFor();
  assert.equal(stored()["rooms-api-KEY-2"], undefined);
  await page.getByRole("button", { name: "Add server" }).click();
  await page.waitForURL(/\/ui\/servers\/rooms-api$/);
  const { "rooms-api-KEY": first, "rooms-api-KEY-2": a, "rooms-api-A-KEY": b, "rooms-api-A-KEY-2": c, "rooms-api-A-KEY-3": another, "rooms-api-A-KEY-4": d } = stored();
  assert.deepEqual([first, a, b, c, another, d], ["of-rooms", "ghp_a", "ghp_b", "ghp_c", "of-another", "ghp_d"]);
  // An edit that fails leaves no secret, and its JSON has no keys that nobody wrote.
  await go("/ui/servers/rooms-api/edit");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  assert.doesNotMatch(await page.getByLabel("Entry as JSON").inputValue(), /references/);
  await page.getByRole("button", { name: "Edit as form" }).click();
  await page.getByLabel("Value of KEY", { exact: true }).fill("ghp_e");
  await page.getByRole("button", { name: "Show the change" }).click();
  const before = Object.keys(stored());
  // The server goes while its new secret is on the way.
  await page.route(/\/secrets\//, async (route) => {
    await here.rest("DELETE", "/servers/rooms-api");
    await route.continue();
  }, { times: 1 });
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.locator(".note.err").first().waitFor();
  assert.deepEqual(Object.keys(stored()), before);
  await close();
});
