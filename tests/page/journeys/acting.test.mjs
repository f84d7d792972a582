// Acting where one stands: tokens made and revoked, settings changed, undone, and profiles made, on the page alone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readFileSync, writeFileSync } from "node:fs";
import { eventually, isSound, isSoundEverywhere, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({ more: { tools_limit: 12 } });
  await here.settled();
});

const say = (token, path = "/mcp") => fetch(`${here.base}${path}`, {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${token}` },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
});

test("a token for a colleague is made, shown once, used and revoked", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await title("Access");
  const form = page.getByRole("form", { name: "New token" });
  await form.getByRole("button", { name: "Create token" }).click();
  await form.getByText("A name is required.").waitFor();
  assert.equal(await form.getByLabel("Name").getAttribute("aria-invalid"), "true");
  await form.getByLabel("Name").fill("ben");
  await form.getByText("A name is required.").waitFor({ state: "hidden" });
  await form.getByRole("radio", { name: /^read and write/ }).check();
  await form.getByText("these servers").click();
  await form.getByRole("checkbox", { name: "bookings" }).check();
  await form.getByLabel("Expires").selectOption("30d");
  await form.getByRole("button", { name: "Create token" }).click();
  const text = page.getByRole("region", { name: "Text for ben" });
  await text.waitFor();
  assert.match(await text.innerText(), /The token expires on 20\d\d-\d\d-\d\d at \d\d:\d\d UTC\./);
  await page.getByText("The address in the text works on this machine only.").waitFor();
  await page.getByText(/^claude mcp add --transport http mcpproxy http:\/\/\S+\/mcp --header "Authorization: Bearer mcpp_/).waitFor();
  const token = /mcpp_[\w-]+/.exec(await text.innerText())[0];
  assert.equal((await say(token)).status, 200);
  await isSound({ page, width: 1280 }, "a token that was just made");
  const row = page.locator("tr[data-key='token ben']");
  assert.match(await row.innerText(), /read and write[^]*bookings/);
  assert.ok(!(await row.innerText()).includes("soon"), "it ends in 30 days");
  await page.getByRole("button", { name: "Done" }).click();
  await go("/ui/settings");
  await go("/ui/access");
  assert.ok(!(await page.content()).includes(token), "it is shown once");
  await page.getByRole("button", { name: "Revoke ben" }).click();
  await page.locator("[data-safe]:focus").waitFor();
  await page.getByRole("group", { name: "Revoke ben?" }).getByRole("button", { name: "Revoke ben" }).click();
  await row.waitFor({ state: "detached" });
  assert.equal((await say(token)).status, 401);
  await close();
});

test("a setting is changed in its field, shown before it is saved, and undone", async () => {
  const { page, go, close } = await visitor(here);
  const file = (await here.rest("GET", "/config")).config_file;
  const before_ = readFileSync(file, "utf8");
  await go("/ui/settings");
  const limit = page.getByRole("spinbutton", { name: "Maximum search results" });
  await limit.fill("25");
  await limit.press("Tab");
  await page.getByText("1 unsaved change").waitFor();
  // It is still there after a look at another place.
  await page.getByRole("navigation").getByRole("link", { name: "Usage" }).click();
  await page.waitForURL(/usage/);
  await page.goBack();
  await page.getByText("1 unsaved change").waitFor();
  // What is changed, and what stands in the file, can be shown alone; units stand beside the fields.
  assert.match(await page.locator("tr[data-key='tools_limit']").innerText(), /tools[^]*was 12 tools/);
  assert.match(await page.locator("tr[data-key='activity.max_age']").innerText(), /90 days/);
  await page.getByRole("button", { name: "Unsaved 1" }).click();
  const settings = page.getByRole("form", { name: "Settings" }).locator("tr[data-row]");
  await eventually("one setting", async () => (await settings.count()) === 1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByRole("switch", { name: "Run scripts" }).check();
  await page.getByText("2 unsaved changes").waitFor();
  await isSound({ page, width: 1280 }, "settings that are not saved");
  await page.getByRole("button", { name: "Reset Run scripts" }).click();
  await page.getByText("1 unsaved change").waitFor();
  await page.getByRole("button", { name: "Review" }).click();
  await page.locator("tr[data-key='review tools_limit']").waitFor();
  assert.equal(readFileSync(file, "utf8"), before_, "nothing is written before it is saved");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator("#toast", { hasText: "Saved 1 change" }).waitFor();
  assert.equal((await here.rest("GET", "/config")).settings.tools_limit, 25);
  await page.locator("tr[data-key^='change ']").first().getByRole("button", { name: /^Undo/ }).click();
  await page.locator("#toast", { hasText: "Undid" }).waitFor();
  assert.equal(readFileSync(file, "utf8"), before_);
  await eventually("the field to follow", async () => (await limit.inputValue()) === "12");
  await close();
});

test("a wrong value is refused with the reason, and what was typed stays", async () => {
  const { page, go, close } = await visitor(here, { expected: [/status of 4\d\d/] });
  await go("/ui/settings");
  const field = page.getByRole("textbox", { name: "Ask servers for their tools every" });
  await field.fill("sometimes");
  await field.press("Tab");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".note.err", { hasText: /tool_discovery_interval.*Correct the value, then try again\./ }).waitFor();
  assert.equal(await field.inputValue(), "sometimes");
  await page.getByRole("button", { name: "Discard" }).click();
  await eventually("the field to be as before", async () => (await field.inputValue()) === "");
  await close();
});

test("a key that is unknown is renamed where that is said, and can be put back", async () => {
  const { page, go, close } = await visitor(here);
  const file = (await here.rest("GET", "/config")).config_file;
  const before_ = readFileSync(file, "utf8");
  writeFileSync(file, before_.replace("{", "{\n  \"top_kk\": 7,\n  \"actvity_of\": {},"));
  await go("/ui/settings");
  const warning = page.locator(".note", { hasText: "top_kk is unknown and ignored" });
  await warning.waitFor();
  await isSound({ page, width: 1280 }, "a key that is unknown");
  await warning.getByRole("button", { name: "Rename to top_k" }).click();
  await page.locator("#toast", { hasText: "Saved" }).waitFor();
  await warning.waitFor({ state: "detached" });
  const { settings } = await here.rest("GET", "/config");
  assert.deepEqual([settings.top_k, settings.top_kk], [7, undefined]);
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await warning.getByRole("button", { name: "Remove top_kk" }).click();
  await warning.waitFor({ state: "detached" });
  assert.equal((await here.rest("GET", "/config")).settings.top_k, undefined);
  // The overview says it, too, and ends it.
  await go("/ui/");
  await page.getByRole("button", { name: "Remove actvity_of" }).click();
  await page.locator("main .note.warn").waitFor({ state: "detached" });
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Remove actvity_of" }).waitFor();
  // No form can show an entry that is no object.
  writeFileSync(file, before_.replace(/"mcpServers":\s*\{/, '$&"odd": 5, '));
  await eventually("the entry to be read", async () => (await here.rest("GET", "/servers")).servers.some((one) => one.name === "odd"));
  for (const [place, said] of [["/edit", /must be an object\. Correct it in .*\.json\./], ["", /cannot be used\.\s*Correct it in .*\.json\./]]) {
    await go(`/ui/servers/odd${place}`);
    await page.locator(".empty", { hasText: said }).waitFor();
  }
  writeFileSync(file, before_);
  await eventually("the file to be read", async () => !(await here.rest("GET", "/status")).warnings.length);
  await close();
});

test("a profile is made by ticking servers, and has an address", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/access");
  await page.getByRole("button", { name: "New profile" }).click();
  const form = page.getByRole("form", { name: "New profile" });
  await form.getByLabel("Name").fill("desk");
  await form.getByText("No server is chosen, so the profile has all servers").waitFor();
  await form.getByRole("checkbox", { name: "bookings" }).check();
  await form.getByText(/^1 server with [1-9]\d* tools;/).waitFor();
  assert.equal(await form.getByLabel("Name").inputValue(), "desk");
  await form.getByRole("button", { name: "Save profile" }).click();
  const row = page.locator("tr[data-key='profile desk']");
  await row.getByText("/mcp/p/desk").waitFor();
  assert.deepEqual((await here.rest("GET", "/config")).settings.profiles, { desk: { servers: ["bookings"] } });
  // Another of that name replaces nothing.
  await page.getByRole("button", { name: "New profile" }).click();
  await form.getByLabel("Name").fill("desk");
  await form.getByRole("button", { name: "Save profile" }).click();
  assert.equal(await form.getByLabel("Name").evaluate((field) => field.validationMessage), "Nothing was saved: a profile named desk already exists.");
  assert.deepEqual((await here.rest("GET", "/config")).settings.profiles, { desk: { servers: ["bookings"] } });
  // One without servers has all of them.
  await form.getByLabel("Name").fill("whole");
  await form.getByRole("button", { name: "Save profile" }).click();
  await page.locator("tr[data-key='profile whole']").getByText("all servers").waitFor();
  assert.deepEqual((await here.rest("GET", "/config")).settings.profiles, { desk: { servers: ["bookings"] }, whole: {} });
  await page.getByRole("button", { name: "Edit whole" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.locator("tr[data-key='profile whole']").waitFor({ state: "detached" });
  // Single tools of it, by patterns; without one again all of them.
  const patterns = page.getByRole("textbox", { name: /^Tools/ });
  await page.getByRole("button", { name: "Edit desk" }).click();
  await patterns.fill("*__find_*\n\n bookings__floor_plan ");
  await isSoundEverywhere(who, "the tools of a profile");
  await page.getByRole("button", { name: "Save desk" }).click();
  await row.getByText("*__find_*").waitFor();
  const desk = async () => (await here.rest("GET", "/config")).settings.profiles.desk;
  assert.deepEqual(await desk(), { servers: ["bookings"], tools: ["*__find_*", "bookings__floor_plan"] });
  await page.getByRole("button", { name: "Edit desk" }).click();
  assert.equal(await patterns.inputValue(), "*__find_*\nbookings__floor_plan");
  await patterns.fill("");
  await page.getByRole("button", { name: "Save desk" }).click();
  await row.getByText("*__find_*").waitFor({ state: "detached" });
  assert.deepEqual(await desk(), { servers: ["bookings"] });
  await page.getByRole("button", { name: "Edit desk" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await row.waitFor({ state: "detached" });
  await close();
});

test("a secret that is missing is asked for where its server is, and the server starts", async () => {
  const { command, args } = here.server("bookings", here.marker);
  await here.rest("POST", "/servers", { name: "needy", command, args, env: { ROOM_TOKEN: "${keyring:needy-token}" } });
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/needy");
  const form = page.getByRole("form", { name: "Needs a secret: needy-token" });
  await form.waitFor();
  await isSound({ page, width: 1280 }, "a server that needs a secret");
  assert.equal(await page.locator("#main .note").count(), 0, "the field says it and is the step");
  await page.getByText("The server can start once you have entered its secret.").waitFor();
  // The variables stand before what came of that, and lead to the field.
  assert.equal(await page.locator("h2").first().innerText(), "Variables");
  await page.getByText("not stored yet").waitFor();
  await page.getByRole("button", { name: "Enter it: ROOM_TOKEN" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "fix-value");
  await page.getByText("The server has not been started yet, so it has written nothing.").waitFor();
  await form.getByLabel("needy-token").fill("r00m-s3cret-value");
  await form.getByRole("button", { name: "Save and start" }).click();
  await page.locator(".tags", { hasText: "Ready" }).waitFor();
  await form.waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes("r00m-s3cret"));
  const tool = page.getByRole("switch", { name: /^Offer find_rooms/ });
  await tool.click();
  await page.locator("#toast", { hasText: "Hidden from agents: find_rooms" }).waitFor();
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await eventually("it to be offered again", async () => (await here.rest("GET", "/servers/needy")).entry.disabled_tools === undefined);
  await close();
  await here.rest("DELETE", "/servers/needy");
});

test("the places where one acts are sound at every width", async () => {
  const who = await visitor(here);
  for (const place of ["access", "clients", "settings"]) {
    await who.go(`/ui/${place}`);
    await isSoundEverywhere(who, place, place);
  }
  await who.close();
});

test("a variable is changed where it stands, and a value in the entry is moved to where secrets are kept", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/servers/bookings");
  const text = () => here.text();
  await page.getByRole("button", { name: "Move to a private file: API_TOKEN" }).click();
  await eventually("the reference", () => text().includes("\"API_TOKEN\": \"${keyring:bookings-API_TOKEN}\""));
  await page.getByText("${keyring:bookings-API_TOKEN}").first().waitFor();
  await page.getByRole("button", { name: "Change LOG" }).click();
  await page.keyboard.type("info");
  await isSound(who, "a variable that is changed");
  await page.getByRole("form", { name: "Change LOG" }).getByRole("button", { name: "Save" }).click();
  await eventually("the new value", () => text().includes("\"LOG\": \"info\""));
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.keyboard.type("WIKI_TOKEN");
  await page.getByLabel("Value", { exact: true }).fill("ghp_0123456789abcdefghijABCDEFGHIJ012345");
  await page.getByRole("form", { name: "New variable" }).getByRole("button", { name: "Save" }).click();
  await eventually("its reference", () => text().includes("\"WIKI_TOKEN\": \"${keyring:bookings-WIKI_TOKEN}\""));
  await page.getByRole("button", { name: "Remove WIKI_TOKEN" }).click();
  await eventually("its end", () => !text().includes("WIKI_TOKEN"));
  await page.getByRole("radio", { name: /Accept changed tools/ }).check();
  await eventually("trust", () => text().includes("\"tool_changes\": \"allow\""));
  await page.getByRole("radio", { name: /Hold changed tools/ }).check();
  await eventually("trust again", () => !text().includes("tool_changes"));
  await close();
});

test("a rule is added, changed and removed in fields, and says in words what it does", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  const rules = async () => (await here.rest("GET", "/config")).settings.serverAuth?.acl?.rules ?? [];
  const before = (await rules()).length;
  await go("/ui/access");
  await page.getByRole("button", { name: "Add a rule" }).click();
  const form = page.getByRole("form", { name: "New rule" });
  await isSound(who, "a new rule");
  await form.getByLabel("Callers").fill("ci, anna");
  await form.getByLabel("Tools").fill("rooms__cancel_*");
  await form.getByRole("button", { name: "Save rule" }).click();
  await page.locator("#toast", { hasText: `Saved rule ${before + 1}` }).waitFor();
  assert.deepEqual((await rules())[before], { policy: "deny", subjects: ["ci", "anna"], tools: ["rooms__cancel_*"] });
  await page.getByText("ci, anna may not use").waitFor();
  await page.getByRole("button", { name: `Edit rule ${before + 1}` }).click();
  const edit = page.getByRole("form", { name: `Rule ${before + 1}` });
  assert.equal(await edit.getByLabel("Callers").inputValue(), "ci, anna");
  await edit.getByLabel("may use", { exact: true }).check();
  await edit.getByRole("button", { name: "Save rule" }).click();
  await page.getByText("ci, anna may use").waitFor();
  await page.getByRole("button", { name: `Edit rule ${before + 1}` }).click();
  await edit.getByLabel("Callers").fill("");
  await edit.getByLabel("may not use", { exact: true }).check();
  await edit.getByRole("button", { name: "Save rule" }).click();
  await page.getByText("No caller may use rooms__cancel_*").waitFor();
  await page.getByRole("button", { name: `Edit rule ${before + 1}` }).click();
  await page.getByRole("form", { name: `Rule ${before + 1}` }).getByRole("button", { name: "Remove" }).click();
  await page.locator("#toast", { hasText: `Removed rule ${before + 1}` }).waitFor();
  assert.equal((await rules()).length, before);
  await close();
});
