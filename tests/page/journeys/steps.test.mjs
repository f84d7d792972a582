// Filters are steps that Back undoes; a long call tells how far it is; commands and reviews say what is so.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { eventually, visitor, world } from "../world.mjs";

let here;
before(async () => {
  const closed = (i) => [`server-${i}`, { url: `http://127.0.0.1:9/${i}`, enabled: false }];
  here = await world({
    entries: (of) => ({ bookings: kind("bookings", of.marker), slow: kind("slow"), ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => closed(i))) }),
  });
  await here.rest("POST", "/call", { name: "bookings:fail", variant: "read", args: {} });
  await here.rest("POST", "/call", { name: "bookings:find_rooms", variant: "read", args: {} });
});

const kind = (...args) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, ...args] });

test("Back undoes a filter", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/activity");
  await page.locator("label", { hasText: "Outcome" }).locator("select").selectOption("tool_error");
  await page.waitForURL(/outcome=tool_error/);
  await eventually("only errors", async () => !(await page.locator("tbody").innerText()).includes("find_rooms"));
  await page.goBack();
  await page.waitForURL(/\/ui\/activity$/);
  await page.locator("tbody").getByText("find_rooms").first().waitFor();

  await go("/ui/");
  const field = page.getByLabel("Filter servers by name");
  await field.pressSequentially("slow");
  await page.waitForURL(/name=slow/);
  await eventually("one row", async () => (await page.locator("[data-row]").count()) === 1);
  await page.reload();
  assert.equal(await field.inputValue(), "slow");
  await page.goBack();
  await page.waitForURL(/\/ui\/$/);
  await eventually("all rows", async () => (await page.locator("[data-row]").count()) === 22);
  assert.equal(await field.inputValue(), "");

  await go("/ui/tools?q=rooms");
  await page.getByRole("group", { name: "Search settings" }).getByText("all words").click();
  await page.waitForURL(/match=all/);
  await page.goBack();
  await page.waitForURL((url) => url.searchParams.get("q") === "rooms" && url.searchParams.get("match") !== "all");

  await go("/ui/tools/bookings:find_rooms");
  await page.getByRole("button", { name: "Show JSON Schema" }).click();
  await page.getByRole("region", { name: "JSON Schema" }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Show JSON Schema" }).waitFor();

  await go("/ui/servers/bookings");
  await page.getByLabel("Lowest level").selectOption("error");
  await page.waitForURL(/log=error/);
  const begins = page.getByRole("log").getByText("bookings begins").first();
  await begins.waitFor({ state: "hidden" });
  await page.goBack();
  await begins.waitFor();
  await close();
});

test("a long call says how far it is, and can be withdrawn", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/slow:measure");
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByText("1 of 4 done: reading").waitFor();
  await page.locator(".results").getByText(/^[1-9]\d* s$/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled. mcpproxy told the server").waitFor();
  await eventually("its record", async () => {
    const { records } = await here.rest("GET", "/activity?tool=slow:measure&outcome=withdrawn");
    return records.length === 1;
  });
  await close();
});

test("a server that is added held is added held by the command as well, and its review waits for its list", async () => {
  const { page, go, title, close } = await visitor(here);
  await go("/ui/add/form");
  await page.getByLabel("Name", { exact: true }).fill("held");
  await page.getByRole("textbox", { name: "Command" }).fill(process.execPath);
  await page.getByLabel(/^Arguments/).fill(kind("bookings", here.marker).args.join("\n"));
  await page.getByText("Quarantine it").click();
  await page.getByText(/mcpproxy upstream add held --quarantined/).waitFor();
  await page.getByRole("button", { name: "Add server" }).click();
  await title(/awaits? your approval/);
  await page.getByRole("heading", { name: "Tools", exact: true }).waitFor();
  assert.equal(await page.getByText("The server’s list has changed").count(), 0);
  await close();
});

test("a search says which tools with its words are held, and a finding which characters it is about", async () => {
  const { page, go, close } = await visitor(here);
  const clipper = kind("clipper");
  await here.rest("POST", "/servers", { name: "clipper", ...clipper, quarantined: true });
  await here.rest("POST", "/servers/clipper/inspect?wait=60");
  await go("/ui/tools?q=clips");
  await page.getByText("2 matching tools are left out").click();
  await page.locator("main").getByRole("link", { name: "clipper:list_clips" }).click();
  // What agents cannot call is not called here either, and the way out is where that is said.
  await page.locator(".note", { hasText: "quarantined" }).getByRole("link", { name: "Review" }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "Try it" }).count(), 0);
  await go("/ui/review/clipper");
  await page.getByText(/characters \d+ to \d+/).first().waitFor();
  await close();
});

test("a review of what there is not asks once", async () => {
  const { page, go, close } = await visitor(here, { expected: [/status of 404/] });
  let asked = 0;
  page.on("request", (request) => { asked += Number(request.url().includes("/servers/nobody/")); });
  await go("/ui/review/nobody");
  await page.locator(".empty .bad").waitFor();
  // Something happens meanwhile, which the page looks at.
  const looked = page.waitForResponse(/\/api\/v1\/status/);
  await here.rest("POST", "/call", { name: "bookings:find_rooms", variant: "read", args: {} });
  await looked;
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
  assert.equal(asked, 1);
  await close();
});
