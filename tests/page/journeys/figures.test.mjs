// What calls add up to: all of them, also where there are more than a page of the log has.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentCalls, visitor, world } from "../world.mjs";

/** More than one page of the log has. */
const CALLS = 1_040;

let here;
before(async () => {
  here = await world({ entries: ({ marker }) => ({ bookings: here_server(marker) }) });
  const call = (tool) => here.rest("POST", "/call", { name: `bookings:${tool}`, variant: "read", args: {} });
  await call("fail");
  await agentCalls(here, "call_tool_read", { name: "bookings:fail", args_json: "{}" }, "claude-code");
  await agentCalls(here, "call_tool_read", { name: "bookings:create_booking", args_json: "{}" }, "claude-code");
  for (let made = 0; made < CALLS; made += 40) await Promise.all(Array.from({ length: 40 }, () => call("find_rooms")));
});

const here_server = (marker) => ({ command: process.execPath, args: [new URL("../server.mjs", import.meta.url).pathname, "bookings", marker] });

/** The definition beside a term. */
const fact = (page, term) => page.locator("dl > div, dl").locator("dt", { hasText: term }).first().locator("xpath=following-sibling::dd[1]").innerText();

test("the overview, the server and the tool say how many calls there were, and what of them failed", async () => {
  const { page, go, title, close } = await visitor(here);
  await title(/server/);
  assert.equal(await fact(page, "Calls"), "1,043");
  assert.match(await fact(page, "Failed"), /^2, 0\.2 %/);
  assert.equal(await fact(page, "Clients"), "claude-code");
  await page.locator("tr", { hasText: "bookings" }).getByText("1,043").waitFor();
  await go("/ui/servers/bookings");
  assert.equal(await fact(page, "Calls, 24 h"), "1,043, 2 failed, 1 refused");
  const row = page.locator("tr", { has: page.getByRole("link", { name: "find_rooms" }) });
  assert.match(await row.innerText(), /1,040/);
  await page.locator("tr", { hasText: "create_booking" }).getByText("0, 1 refused").waitFor();
  await go("/ui/activity?outcome=refused");
  const refused = page.locator("tbody tr", { hasText: "bookings:create_booking" });
  await refused.getByText("called as read, but the tool is write").waitFor();
  assert.equal(await refused.locator(".kind").innerText(), "write");
  await go("/ui/tools/bookings:find_rooms");
  await page.getByText("1,040 calls in 24 hours, 0 failed").waitFor();
  await close();
});

test("no page reads many records for its figures", async () => {
  const { page, go, close } = await visitor(here);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  for (const place of ["/ui/", "/ui/servers/bookings", "/ui/tools/bookings:find_rooms"]) await go(place);
  const many = asked.filter((url) => /activity\?/.test(url) && /limit=1000/.test(url) && !/kind=server/.test(url));
  assert.deepEqual(many, []);
  await close();
});
