// Calling a tool from its page: a form for objects within objects, results of every kind, and strangers' texts as texts.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { copied, isSound, visitor, world } from "../world.mjs";

let here;
before(async () => {
  here = await world();
  await here.settled();
});

const result = (page) => page.getByRole("heading", { name: "Result", exact: true });

test("a form for objects within objects, by keyboard", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/bookings:create_booking");
  await page.getByRole("button", { name: "Call as write" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Required: 1 to 80 characters").waitFor();
  await page.getByText(/^Nothing ran. Correct title/).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.labels?.[0]?.textContent), "title");
  await page.keyboard.type("Planning");
  await page.getByLabel("date").fill("2026-11-22");
  await page.getByLabel("seats").fill("400");
  await page.getByRole("button", { name: "Add guests" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("Ada");
  await page.getByLabel(/^tags/).fill("host\nspeaker");
  await page.getByLabel(/^extra/).fill("{\"coffee\": true}");
  await page.getByRole("button", { name: "Call as write" }).click();
  await page.getByText("The number must be from 1 to 40").waitFor();
  await page.getByLabel("seats").fill("4");
  await page.keyboard.press("Enter");
  await result(page).waitFor();
  const text = await page.getByRole("region", { name: "Text 1" }).innerText();
  const { args } = JSON.parse(text);
  assert.deepEqual(args, { title: "Planning", when: { date: "2026-11-22" }, seats: 4, guests: [{ name: "Ada", tags: ["host", "speaker"] }], extra: { coffee: true } });
  // The same as JSON, and back.
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel("Arguments as JSON").inputValue()), args);
  await page.getByLabel("Arguments as JSON").fill("{\"title\": ");
  await page.getByRole("button", { name: "Call as write" }).click();
  await page.getByText(/not valid JSON/).waitFor();
  await page.getByLabel("Arguments as JSON").fill(JSON.stringify({ ...args, title: "Second" }));
  await page.getByRole("button", { name: "Form", exact: true }).click();
  assert.equal(await page.getByLabel("title").inputValue(), "Second");
  await page.getByRole("button", { name: "Copy as command" }).click();
  assert.match(await copied(page), /^mcpproxy call write bookings:create_booking --args '\{"title":"Second"/);
  // The call stands in the tool's history.
  await page.locator("td", { hasText: "operator" }).first().waitFor();
  await close();
});

test("images, resources, structured content and errors", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/bookings:floor_plan");
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByRole("img", { name: "Image 2 of the result" }).waitFor();
  assert.equal(await page.locator("img").count(), 1);
  await page.getByText("this page cannot display images of this type").waitFor();
  await page.getByText("Amber | Birch").waitFor();
  assert.equal(await page.locator("a", { hasText: "whole building" }).count(), 0);
  await page.getByText("audio/wav").waitFor();
  await go("/ui/tools/bookings:find_rooms");
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByRole("heading", { name: "Structured content" }).waitFor();
  await go("/ui/tools/bookings:fail");
  await page.getByRole("button", { name: "Call as read" }).click();
  await page.getByText("the tool reports an error").waitFor();
  await page.getByRole("region", { name: "Text 1" }).getByText("The booking system says no.").waitFor();
  await close();
});

test("a call that was refused leads to what allows it", async () => {
  const { page, go, close } = await visitor(here, { expected: [/status of 40\d/] });
  await here.rest("PATCH", "/servers/bookings", { disabled_tools: ["cancel_all"] });
  await go("/ui/tools/bookings:cancel_all");
  await page.getByLabel("date").fill("today");
  await page.getByRole("button", { name: "Call as destructive" }).click();
  await page.getByRole("group", { name: "Call bookings:cancel_all?" }).getByRole("button", { name: "Call as destructive" }).click();
  await page.locator(".note.err").getByRole("link", { name: "Open server" }).waitFor();
  await page.getByRole("button", { name: "Offer to agents" }).click();
  await page.getByRole("button", { name: "Hide from agents" }).waitFor();
  await close();
});

test("what is destructive is asked about first", async () => {
  const { page, go, close } = await visitor(here);
  await go("/ui/tools/bookings:cancel_all");
  await page.getByLabel("date").fill("today");
  await page.getByRole("button", { name: "Call as destructive" }).click();
  await page.getByText("Call bookings:cancel_all?").waitFor();
  await page.getByRole("button", { name: "Do not call" }).click();
  assert.equal(await result(page).count(), 0);
  await page.getByRole("button", { name: "Call as destructive" }).click();
  await page.getByRole("group", { name: "Call bookings:cancel_all?" }).getByRole("button", { name: "Call as destructive" }).click();
  await page.getByText("called cancel_all").waitFor();
  await close();
});

test("markup and scripts of a server are shown as what they are", async () => {
  const expected = [/status of 4\d\d/];
  const who = await visitor(here, { expected });
  const { page, go, close } = who;
  for (const path of ["/ui/servers/hostile", "/ui/tools", "/ui/tools?q=markup", "/ui/tools/hostile:markup", "/ui/review/hostile", `/ui/tools/${encodeURIComponent("hostile:<img src=x onerror=window.pwned=1>")}`]) {
    await go(path);
    await isSound(who, path);
    assert.equal(await page.locator("main img, main script, main i:not([class])").count(), 0, path);
  }
  await go("/ui/tools/hostile:markup");
  await page.getByText("<script>window.pwned").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Call as" }).count(), 0, "nobody can call what is held");
  await go("/ui/activity");
  await isSound(who, "the activity");
  await close();
});
