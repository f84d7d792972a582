// The evidence: what a record says of the gate, the time and the answer; when a server was awake; what a finding is about and why it matters; and
// what people decided. And what would be too much to show at once.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { agentCalls, copied, eventually, isSound, isSoundEverywhere, SECRET, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world({
    entries: (of) => ({ bookings: kind("bookings", of.marker), clipper: { ...kind("clipper"), quarantined: true }, broken: kind("broken"), huge: kind("huge"), large: kind("large", `${of.marker}-large`), leaky: { ...kind("leaky"), env: { API_TOKEN: SECRET } } }),
    more: { serverAuth: { acl: { default: "allow", rules: [{ subjects: ["*"], tools: ["bookings:cancel_all"], policy: "deny" }, { subjects: ["*"], tools: ["bookings:find_*"], policy: "allow" }] } } },
  });
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args_json: "{\"seats\":3}" });
  await agentCalls(here, "call_tool_destructive", { name: "bookings:cancel_all", args_json: "{\"date\":\"x\"}" }, "codex");
});

const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });

/** The newest record of a tool of a server. */
async function recordOf(tool) {
  const { records } = await here.rest("GET", `/activity?kind=call&tool=${tool}&limit=1`);
  return records[0];
}

/** What stands beside a term of a section. */
const fact = (page, section, term) => page.getByRole("region", { name: section, exact: true }).locator("dt", { hasText: term }).locator("xpath=following-sibling::dd[1]").innerText();

test("a record says what the gate decided, where the time went, and that the log has no result", async () => {
  const record = await recordOf("bookings:find_rooms");
  const who = await visitor(here);
  await who.go(`/ui/activity/${record.id}`);
  assert.equal(await fact(who.page, "Checks", "Access rule"), "allowed by rule 2");
  assert.equal(await fact(who.page, "Checks", "Quarantine"), "not quarantined");
  assert.match(await fact(who.page, "Checks", "Definition"), /^as approved, [0-9a-f]{4} [0-9a-f]{4}$/);
  assert.equal(await fact(who.page, "Checks", "Call type"), "read, as the tool requires");
  const time = who.page.getByRole("region", { name: "Time", exact: true });
  assert.match(await time.innerText(), /checks[^]*wait[^]*bookings[^]*answer/);
  assert.equal(await time.locator("rect").count(), 4);
  await who.page.getByRole("region", { name: "Answer" }).getByRole("link", { name: "Keep answers" }).waitFor();
  await isSoundEverywhere(who, "a record", "activity-allowed");
  await who.close();
  assert.ok(record.spent.waiting_us > 0 && record.spent.server_us > 0, JSON.stringify(record));
});

test("a refusal says which rule decided, and what the agent was told as it was told", async () => {
  const { page, go, close } = await visitor(here);
  const record = await recordOf("bookings:cancel_all");
  await go(`/ui/activity/${record.id}`);
  assert.equal(await fact(page, "Checks", "Access rule"), "refused: denied by rule 1");
  assert.match(await fact(page, "Checks", "Not checked"), /^Server, quarantine, tool/);
  const told = page.getByRole("region", { name: "Answer" }).first();
  const shown = JSON.parse(await told.locator("pre").innerText());
  assert.deepEqual([shown.code, shown.server, shown.tool], ["access_denied", "bookings", "cancel_all"]);
  const answered = JSON.parse((await agentCalls(here, "call_tool_destructive", { name: "bookings:cancel_all", args_json: "{}" })).replace(/^[^{]*/, ""));
  assert.deepEqual(shown, JSON.parse(answered.result.content[0].text));
  await close();
});

test("a server says when it was awake and how long its starts took", async () => {
  await eventually("a failed start", async () => {
    await here.rest("POST", "/servers/broken/restart").catch(() => null);
    const { records } = await here.rest("GET", "/activity?kind=server&server=broken");
    return records.some((record) => record.action === "failed");
  });
  const who = await visitor(here);
  await who.go("/ui/servers/bookings");
  await who.page.getByRole("img", { name: /^Last 24 hours: ran once, .* in all, and is still running; no failed start or lost connection$/ }).waitFor();
  const start = who.page.locator("tr", { hasText: "5 tools. Up " });
  assert.match(await start.innerText(), /\d (ms|s)/);
  await who.page.getByText("line 4 of the configuration file; without defaults, secrets masked").waitFor();
  await who.go("/ui/servers/broken");
  await who.page.getByRole("img", { name: /^Last 24 hours: did not run; \d+ failed start/ }).waitFor();
  assert.ok(await who.page.locator("svg.starts .fail").count() > 0);
  // Its log names a variable that it does not need.
  await who.page.getByRole("form", { name: "Correct the command" }).waitFor();
  await isSoundEverywhere(who, "starts", "server-broken");
  await who.close();
});

test("a finding marks what it is about and says why it matters; what was decided is listed", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/review/clipper");
  await page.getByText("Nothing was approved or quarantined in the last 7 days").waitFor();
  const finding = page.locator(".finding", { hasText: "Tells the model to hide something from the user" });
  assert.equal(await finding.locator("mark").innerText(), "Do not tell the user");
  await finding.getByText("no reason to hide its work").waitFor();
  const unseen = page.locator(".finding", { hasText: "Has invisible text" });
  assert.match(await unseen.locator("mark").innerText(), /U\+200B/);
  await page.getByRole("button", { name: "Approve clipper" }).click();
  await page.getByRole("button", { name: "Approve anyway" }).click();
  await page.locator("#toast").getByText("Approved clipper").waitFor();
  await here.rest("POST", "/servers/bookings/quarantine");
  await go("/ui/review");
  const decided = page.getByRole("region", { name: /^Decided in the last 7 days: 1 approval, 1 quarantined/ });
  assert.match(await decided.innerText(), /quarantined bookings[^]*approved clipper/);
  await here.rest("PATCH", "/servers/bookings", { quarantined: false });
  await close();
});

test("a tool with 70,000 parameters is there at once, and all of it can be had", async () => {
  const { page, go, close } = await visitor(here);
  await here.rest("POST", "/servers/huge/restart");
  const began = performance.now();
  await go("/ui/tools/huge:fill_form");
  const parameters = page.getByRole("region", { name: "Parameters" });
  await parameters.getByText("The table shows the first 200 parameters. The schema has 70,000").waitFor();
  // A busy machine takes longer; without a bound it was most of a minute.
  assert.ok(performance.now() - began < 40_000, `${performance.now() - began} ms`);
  assert.ok(await page.locator("main *").count() < 5_000);
  await page.getByText("69,900 more parameters have no field here").waitFor();
  assert.equal(await page.getByLabel("f69999").count(), 1, "what is required has a field");
  await parameters.getByRole("button", { name: "Show 1,000 more" }).click();
  await parameters.getByText("The table shows the first 1,200 parameters").waitFor();
  await page.getByRole("button", { name: "Show JSON Schema" }).click();
  await page.getByRole("button", { name: "Copy all" }).click();
  await page.getByText("Copied the text").waitFor();
  const told = JSON.parse(await copied(page));
  assert.equal(Object.keys(told.properties).length, 70_000);
  await close();
});

test("a change of thousands of lines is shown in part, and all of it can be had", async () => {
  await here.rest("POST", "/servers/large/restart");
  writeFileSync(`${here.marker}-large`, "");
  await here.rest("POST", "/servers/large/restart");
  const { page, go, close } = await visitor(here);
  await go("/ui/review/large");
  await page.getByText(/^[\d,]+ lines changed; the first 1,000 rows are shown/).waitFor();
  assert.ok(await page.locator("main *").count() < 12_000);
  await page.getByRole("button", { name: "Copy all" }).first().click();
  await eventually("the whole change", async () => (await copied(page)).includes("+      \"g1999\""));
  await close();
});

test("what a server repeats of its secrets is masked in searches as it is in lists", async () => {
  await here.rest("POST", "/servers/leaky/restart");
  const who = await visitor(here);
  await who.go("/ui/tools?q=logged+in");
  await who.page.locator(".hit", { hasText: "whoami" }).getByText("***").first().waitFor();
  await isSound(who, "a search that finds a repeated secret");
  await who.go("/ui/tools/leaky:whoami");
  await isSound(who, "a tool that repeats a secret");
  await who.close();
  const answer = await agentCalls(here, "retrieve_tools", { query: "logged in" });
  assert.ok(answer.includes("leaky:whoami") && !answer.includes(SECRET), answer);
});
