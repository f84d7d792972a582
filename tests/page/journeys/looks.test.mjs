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

/** Where what is shown of a selector stands. */
const boxes = (page, selector) => page.locator(selector).filter({ visible: true }).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));

test("a notice has one mark and names what is held, bars have a ground, and columns, distances and toasts leave room", async () => {
  const who = await visitor(here);
  const { page, go } = who;
  await go("/ui/servers/bookings");
  const notice = page.locator(".note.held");
  assert.match(await notice.innerText(), /^1 held until you approve it: cancel_all/);
  assert.equal(await notice.locator("svg").count(), 1);
  await go("/ui/");
  assert.ok(await page.locator(".spark").count());
  assert.equal(await page.locator(".spark:not(:has(.bgd))").count(), 0);
  await go("/ui/tools/bookings:find_rooms");
  const [name, ...others] = await boxes(page, "table >> nth=0 >> tbody tr >> nth=0 >> th, td");
  assert.ok(name.width <= 200, `the names of parameters have ${name.width} pixels`);
  assert.deepEqual(others.slice(0, 3).map(({ top }) => top), Array(3).fill(name.top));
  await go("/ui/access");
  const gaps = await page.locator(".sec > header").evaluateAll((all) => all.map((one) => one.nextElementSibling.getBoundingClientRect().top - one.getBoundingClientRect().bottom));
  assert.deepEqual(new Set(gaps).size, 1, `distances below headings: ${gaps}`);
  await go("/ui/add/form");
  await page.getByRole("button", { name: "Add server" }).click();
  const [[told], [acts]] = [await boxes(page, "form [role=status] > .hint.bad"), await boxes(page, "form > .acts")];
  assert.ok(acts.top - told.bottom >= 4, "what is wrong touches the buttons");
  await go("/ui/servers/hostile");
  await page.getByRole("button", { name: "Disable" }).click();
  await page.locator("#toast", { hasText: "Disabled hostile" }).waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).last().click();
  const [[asked], [toast]] = [await boxes(page, ".confirm"), await boxes(page, "#toast")];
  assert.ok(asked.bottom <= toast.top || toast.bottom <= asked.top || asked.right <= toast.left || toast.right <= asked.left, "the toast is over the question");
  await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Disable" }).waitFor();
  await who.wear({ width: 390 });
  await go("/ui/activity");
  const [[call], [live]] = [await boxes(page, "[data-row]"), await boxes(page, "#live svg")];
  assert.ok(call.bottom <= 450 && live.width > 0, `on a phone the first call ends at ${call.bottom}`);
  await who.close();
});

test("on a phone there is room for a finger on all that is pressed", async () => {
  const who = await visitor(here, { width: 390 });
  // Links within sentences are as high as their line.
  const narrow = () => who.page.evaluate(() => [...document.querySelectorAll("a, button, input, select, textarea, summary")].filter((one) => one.checkVisibility() && !one.closest("label") && !one.matches(".skip") && !(one.matches("a") && getComputedStyle(one).display === "inline"))
    .map((one) => [one.getBoundingClientRect(), one]).filter(([{ width, height }]) => width > 1 && (height < 24 || width < 24)).map(([{ width, height }, one]) => `${one.outerHTML.slice(0, 80)} ${width}x${height}`));
  for (const place of ["", "tools", "tools?q=book", "servers/bookings", "servers/broken", "add", "activity", "activity/session", "settings", "usage"]) {
    await who.go(`/ui/${place}`);
    assert.deepEqual(await narrow(), [], place);
  }
  await who.close();
});
