// Reviews show all that agents read, and one approval approves one thing.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { eventually, isSound, shot, visitor, world } from "../world.mjs";

const KINDS = ["aa", "bb", "wordy"];

let here;
before(async () => {
  const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });
  const held = (...args) => ({ ...kind(...args), quarantined: true });
  here = await world({
    entries: (of) => ({ wordy: held("wordy"), aa: held("bookings"), bb: held("bookings"), pair: kind("pair", of.marker), off: kind("bookings") }),
  });
  for (const name of KINDS) await eventually(`the list of ${name}`, async () => (await here.rest("GET", `/servers/${name}/inspect`)).inspected);
  for (const name of ["pair", "off"]) await here.rest("POST", `/servers/${name}/restart`);
});

const quarantined = async () => (await here.rest("GET", "/servers")).servers.filter((one) => one.quarantined).map((one) => one.name).sort();

/** Presses a button where it stands, and once more in the same place when it was approved. */
async function pressTwice(page, name) {
  const pressed = page.getByRole("button", { name }).first();
  await pressed.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await pressed.boundingBox();
  const press = () => page.mouse.click(x + width / 2, y + height / 2);
  await press();
  await eventually("the focus on what was approved", () => page.evaluate(() => document.activeElement.hasAttribute("data-approved")));
  await press();
}

test("a review shows every word that agents read", async () => {
  const who = await visitor(here);
  const { page, go, close } = who;
  await go("/ui/review/wordy");
  for (const heading of ["Its instructions", "Tools", "Prompts", "Resources", "Resource templates"]) await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  await page.getByText("1 prompt, 1 resource, 1 resource template, instructions").waitFor();
  await page.getByText(/clients can use its 1 tool\./).waitFor();
  await page.getByText("left out: inputSchema is not an object").waitFor();
  for (const thing of ["weather", "ask", "note://x", "note://t/{n}"]) {
    // What looks dangerous is open from the start.
    const detail = page.locator("details.offer").filter({ has: page.locator("summary code").getByText(thing, { exact: true }) });
    if (!(await detail.evaluate((one) => one.open))) await detail.locator("summary").click();
    await page.getByRole("region", { name: `Whole definition of ${thing}` }).waitFor();
  }
  const text = await page.locator("main").innerText();
  for (const word of ["TITLE", "HINT", "META", "PTITLE", "DEFAULT", "ENUM", "SCHEMA", "DEFS", "OUT", "SAYS", "PROMPT", "ARGUMENT", "RESOURCE", "TEMPLATE"]) assert.ok(text.includes(`${word}-T`), word);
  await isSound(who, "a review with everything opened");
  await shot(who, "review-whole");
  await close();
});

test("pressing twice approves one server, and says which", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/review/aa");
  await pressTwice(page, "Approve aa");
  await page.getByText("Approved aa.").waitFor();
  assert.equal(new URL(page.url()).pathname, "/ui/review/aa");
  assert.deepEqual(await quarantined(), KINDS.filter((name) => name !== "aa"));
  await page.getByRole("link", { name: "Review bb" }).or(page.getByRole("link", { name: "Review wordy" })).click();
  await page.waitForURL(/\/ui\/review\/(bb|wordy)$/);
  await close();
});

test("pressing twice approves one of two definitions", async () => {
  writeFileSync(here.marker, "");
  await here.rest("POST", "/servers/pair/restart");
  const { page, go, close } = await visitor(here);
  await go("/ui/review/pair");
  const second = page.getByRole("region", { name: "second" });
  const held = async () => (await here.rest("GET", "/servers/pair")).server.held;
  await second.getByRole("button", { name: "Disable" }).click();
  await second.waitFor({ state: "detached" });
  assert.equal(await held(), 1, "what is disabled is settled");
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await eventually("it to wait again", async () => (await held()) === 2);
  await go("/ui/review");
  await go("/ui/review/pair");
  await second.waitFor();
  await pressTwice(page, "Approve this definition");
  await page.getByText("1 more awaits your approval.").waitFor();
  const { things } = await here.rest("GET", "/servers/pair/inspect");
  assert.equal(things.filter((thing) => thing.held).length, 1);
  await page.getByRole("button", { name: "Approve this definition" }).click();
  await page.getByRole("link", { name: /^Review / }).last().waitFor();
  await close();
});

test("the tools of a disabled server are not called held, and what was decided is all there behind the latest", async () => {
  await here.rest("POST", "/servers/off/disable");
  const { page, go, close } = await visitor(here);
  await go("/ui/servers/off");
  const row = page.getByRole("row", { name: /find_rooms/ });
  assert.match(await row.innerText(), /disabled/);
  assert.doesNotMatch(await row.innerText(), /held/);
  await here.rest("POST", "/servers/off/enable");
  for (let i = 0; i < 4; i += 1) {
    await here.rest("POST", "/servers/off/quarantine");
    await here.rest("PATCH", "/servers/off", { quarantined: false });
  }
  await go("/ui/review");
  await page.getByText(/^The newest 5 of \d+ are shown\./).getByRole("link", { name: "Show all" }).click();
  await page.waitForURL(/\/ui\/activity\?kind=decision&since=7d/);
  await close();
});

test("an approval is undone where it was given, and in the list of the week", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/review/bb");
  const isHeld = async () => (await quarantined()).includes("bb");
  const approve = async () => {
    await page.getByRole("button", { name: "Approve bb" }).click();
    await eventually("the approval", async () => !(await isHeld()));
  };
  await approve();
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await page.locator("#toast", { hasText: "bb is quarantined again" }).waitFor();
  assert.ok(await isHeld());
  await approve();
  await go("/ui/review");
  await page.getByRole("button", { name: "Undo the approval of bb" }).first().click();
  await eventually("the undo", isHeld);
  await page.locator(".decided li", { hasText: "approved bb, undone" }).first().waitFor();
  await close();
});
