// Every page in both themes and on a phone: no violation of WCAG level AA, no texts over each other, nothing wider than the window, no secret; and its picture.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { agentCalls, isSoundEverywhere, overprinted, visitor, world } from "../world.mjs";

let here;
let record;
before(async () => {
  here = await world({ more: { tool_limits: 3 } });
  await here.settled();
  writeFileSync(here.marker, "");
  await here.rest("POST", "/servers/bookings/restart");
  await agentCalls(here, "retrieve_tools", { query: "open tickets assigned to me" });
  await agentCalls(here, "call_tool_read", { name: "bookings:find_rooms", args_json: "{\"seats\":3}" });
  await agentCalls(here, "call_tool_read", { name: "bookings:fail", args_json: "{}" }, "codex");
  await agentCalls(here, "call_tool_destructive", { name: "bookings:cancel_all", args_json: "{\"date\":\"x\"}" }, "codex");
  await agentCalls(here, "call_tool_write", { name: "bookings:create_booking", args_json: "{\"title\":\"Plan\",\"when\":{\"date\":\"2026-11-22\"}}" });
  await agentCalls(here, "call_tool_read", { name: "bookings:a_name_that_is_longer_than_the_line_of_a_phone_has_room_for", args_json: "{}" });
  const { records } = await here.rest("GET", "/activity?outcome=refused&limit=1");
  record = records[0].id;
});

const PAGES = () => ({
  overview: ["/ui/"],
  server: ["/ui/servers/bookings"],
  search: ["/ui/tools?q=book+a+room"],
  tools: ["/ui/tools"],
  tool: ["/ui/tools/bookings:create_booking"],
  result: ["/ui/tools/bookings:floor_plan", async (page) => {
    await page.getByRole("button", { name: "Call as read" }).click();
    await page.getByRole("img").first().waitFor();
  }],
  add: ["/ui/add/form", async (page) => {
    await page.getByLabel("Name", { exact: true }).fill("team wiki");
    await page.getByRole("textbox", { name: "Command" }).fill("npx");
    await page.getByLabel(/^Arguments/).fill("-y\n@acme/wiki-mcp@3.2.0\n--space=ENG");
  }],
  "add-url": ["/ui/add/form", async (page) => {
    await page.getByText("a URL", { exact: true }).click();
    await page.getByText("rarely needed: most servers").click();
    await page.getByRole("button", { name: "Add a header" }).click();
  }],
  edit: ["/ui/servers/bookings/edit", async (page) => {
    await page.getByRole("button", { name: "Remove LOG" }).click();
    await page.getByRole("button", { name: "Show the change" }).click();
    await page.getByRole("button", { name: /^Save/ }).waitFor();
  }],
  login: ["/ui/servers/tickets/login"],
  review: ["/ui/review/clipper"],
  "review-changed": ["/ui/review/bookings"],
  activity: ["/ui/activity"],
  "activity-call": [`/ui/activity/${record}`],
  clients: ["/ui/clients"],
  access: ["/ui/access"],
  settings: ["/ui/settings"],
});

test("texts that are printed over each other are found", async () => {
  const who = await visitor(here);
  await who.title(/servers/);
  await who.page.evaluate(() => {
    for (const [text, above] of [["the one", ""], ["the other", "-1.4em"]]) {
      const line = document.createElement("p");
      line.textContent = text;
      Object.assign(line.style, { margin: 0, marginTop: above });
      document.querySelector("main").append(line);
    }
  });
  const found = await overprinted(who.page);
  assert.ok(found.some((pair) => pair.includes("the one") && pair.includes("the other")), found.join("\n"));
  await who.close();
});

test("every page, wide, dark and on a phone", async () => {
  const who = await visitor(here);
  await who.title(/servers/);
  for (const [name, [path, act]] of Object.entries(PAGES())) {
    await who.go(path);
    await act?.(who.page);
    await isSoundEverywhere(who, name, name);
  }
  await who.page.keyboard.press("?");
  await isSoundEverywhere(who, "the keys");
  await who.close();
});
