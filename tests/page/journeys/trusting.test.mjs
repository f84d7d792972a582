// Whom one trusts, and what of that lasts: new tools, logins, tokens in the history, and a command or an address that is wrong.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { eventually, isSound, isSoundEverywhere, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({ entries: (of) => ({ shop: kind("growing", `${of.marker}-shop`), till: kind("growing", `${of.marker}-till`), lost: { command: "bashh", args: ["--stdio"] } }) });
  for (const name of ["shop", "till"]) await here.rest("POST", `/servers/${name}/restart`);
});

const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });

/** Has a server list one more tool. */
async function grow(name) {
  writeFileSync(`${here.marker}-${name}`, "");
  await here.rest("POST", `/servers/${name}/restart`);
}
const held = async (name) => (await here.rest("GET", `/servers/${name}/inspect`)).things.filter((thing) => thing.held).map((thing) => `${thing.name} ${thing.reason}`);

test("new tools of all servers wait once that is chosen in the review, and one server can say otherwise", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/review");
  await isSound(who, "trust of all servers");
  const all = page.getByRole("group", { name: "New tools from all servers" });
  assert.ok(await all.getByRole("radio", { name: /^Accept new tools/ }).isChecked());
  await all.getByRole("radio", { name: /^Hold new tools/ }).check();
  await eventually("the setting", () => here.text().includes("\"new_tools\": \"hold\""));
  await go("/ui/servers/till");
  await page.getByRole("group", { name: "New tools" }).getByRole("radio", { name: /^Accept new tools/ }).check();
  await eventually("the choice of one", async () => (await here.rest("GET", "/servers/till")).entry.new_tools === "allow");
  await Promise.all([grow("shop"), grow("till")]);
  await eventually("the new tool", async () => (await held("shop")).join() === "second new");
  assert.deepEqual(await held("till"), []);
  await go("/ui/review/shop");
  await page.getByText("It is new and was never approved").waitFor();
  await isSoundEverywhere(who, "a new tool", "review-new");
  await go("/ui/servers/till");
  await isSoundEverywhere(who, "a server", "server-trust");
  await go("/ui/review/shop");
  await page.getByRole("button", { name: "Approve this definition" }).click();
  await eventually("the approval", async () => (await held("shop")).length === 0);
  await page.getByRole("group", { name: "New tools from all servers" }).getByRole("radio", { name: /^Accept new tools/ }).check();
  await eventually("the setting to be gone", async () => (await here.rest("GET", "/config")).settings.new_tools === undefined);
  await close();
});

test("whoever is logged in stays so when the daemon is started again, and whoever logged out does not", async () => {
  const GONE = { expected: [/ERR_|status of 401/] };
  const [stays, leaves] = [await visitor(here, GONE), await visitor(here, GONE)];
  await stays.go("/ui/settings");
  await leaves.go("/ui/settings");
  await leaves.page.getByRole("button", { name: "Log out" }).click();
  await leaves.page.getByText("Logged out").first().waitFor();
  await here.stop();
  await stays.page.getByText("The daemon does not answer.").waitFor();
  await here.start(here.port);
  await stays.page.locator("#live", { hasText: "Live" }).waitFor();
  await stays.go("/ui/");
  await stays.title(/server/);
  await leaves.page.goto(`${here.base}/ui/`);
  await leaves.page.getByText("mcpproxy ui").first().waitFor();
  await stays.close();
  await leaves.close();
});

test("a token is in the history, and undoing that revokes it", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await here.rest("POST", "/tokens", { name: "ben" });
  await go("/ui/settings");
  const row = page.locator("tr[data-key^='change ']", { hasText: "Token ben issued" }).first();
  await row.getByRole("button", { name: /^Undo/ }).click();
  await page.locator("#toast", { hasText: "Undid" }).waitFor();
  assert.deepEqual((await here.rest("GET", "/tokens")).tokens, []);
  await isSound(who, "tokens in the history");
  await here.rest("POST", "/tokens", { name: "eve" });
  await here.rest("DELETE", "/tokens/eve");
  await here.rest("POST", "/tokens", { name: "mia", expires: "2d" });
  await go("/ui/access");
  await page.locator("tr[data-key='token mia']").getByText("soon:").waitFor();
  await here.rest("DELETE", "/tokens/mia");
  await go("/ui/settings");
  const ofEve = page.locator("tr[data-key^='change ']", { hasText: "Token eve" });
  await ofEve.first().getByText("cannot be undone").waitFor();
  await ofEve.last().getByText("replaced by a later change").waitFor();
  await close();
});

test("a command that is not there is corrected where that is said, and its arguments where it starts and ends", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await eventually("its failure", async () => (await here.rest("GET", "/servers/lost")).server.state === "Error");
  await go("/ui/servers/lost");
  const form = page.getByRole("form", { name: "Correct the command" });
  await form.getByText("bashh not found on PATH.").first().waitFor();
  const field = form.getByLabel("Command");
  assert.equal(await field.inputValue(), "bash");
  await isSoundEverywhere(who, "a command that is not there", "server-command");
  await field.fill("nodee");
  await field.blur();
  await form.getByText("nodee not found on PATH").waitFor();
  await field.fill("node");
  await field.blur();
  await form.getByText(/^Found: .*node$/).waitFor();
  await form.getByRole("button", { name: "Save and restart" }).click();
  await form.getByText("Saving…").waitFor();
  await eventually("the command", async () => (await here.rest("GET", "/servers/lost")).entry.command === "node");
  // It starts now and ends at once: its arguments are mended in the same block.
  await form.getByText(/bad option: --stdio/).first().waitFor();
  assert.equal(await form.getByLabel("Arguments").inputValue(), "--stdio");
  await isSoundEverywhere(who, "a command that ends", "server-arguments");
  await form.getByLabel("Arguments").fill(kind("growing", `${here.marker}-lost`).args.join("\n"));
  await form.getByRole("button", { name: "Save and restart" }).click();
  await form.waitFor({ state: "detached" });
  await page.locator("h1 ~ p .state", { hasText: "Ready" }).waitFor();
  await close();
});

test("an address at which nothing listens is named before it is saved, and saved all the same", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/add");
  await page.getByLabel("Configuration, command or URL").fill("http://127.0.0.1:9/mcp");
  await page.getByText("Nothing listens at 127.0.0.1:9").waitFor();
  await isSound(who, "an address that is pasted");
  await go("/ui/add/form");
  await page.getByLabel("a URL").check();
  await page.getByLabel("Name", { exact: true }).fill("far");
  const url = page.getByLabel("URL", { exact: true });
  await url.fill("http://127.0.0.1:9/mcp");
  await url.press("Tab");
  await page.getByText("Nothing listens at 127.0.0.1:9. You can save the URL anyway.").waitFor();
  await isSound(who, "an address in the form");
  await page.getByRole("button", { name: "Add server" }).click();
  await eventually("the server", async () => (await here.rest("GET", "/servers")).servers.some((one) => one.name === "far"));
  await close();
});

test("what is chosen while something else is done is done after it", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/clients");
  await page.getByRole("button", { name: /not found$/ }).click();
  let free;
  const waits = new Promise((next) => { free = next; });
  await page.route("**/api/v1/clients/cursor/connect", async (route) => { await waits; await route.continue(); });
  await page.getByRole("button", { name: "Connect Cursor" }).click();
  await page.getByRole("button", { name: "Connect VS Code" }).click();
  free();
  await page.getByRole("group", { name: "Connect VS Code?" }).waitFor();
  await close();
});
