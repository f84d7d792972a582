// A daemon with scripted servers, in a folder of its own, and a browser that is logged in to its page. What the browser complains about,
// and whatever it asks of another host, fails the test that closes it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { browserOfRun, installed } from "./browser.mjs";

const AXE = readFileSync(installed.resolve("axe-core/axe.min.js"), "utf8");
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** A value that must never reach a browser. */
export const SECRET = "sk-live-0123456789abcdef0123456789";

const server = (kind, ...args) => ({ command: process.execPath, args: [join(HERE, "server.mjs"), kind, ...args] });

/** Milliseconds that anything may take. */
const PATIENCE = 60_000;

/** Looks until there is something. A look that fails was too early, too. */
async function eventually(what, look) {
  const until = Date.now() + PATIENCE;
  for (;;) {
    let cause;
    const found = await (async () => look())().catch((error) => { cause = error; });
    if (found) return found;
    if (Date.now() > until) throw new Error(`${what} did not come about`, { cause });
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** Processes that were started: none is there any more when this one ends, however it does. */
const children = new Set();
process.once("exit", () => children.forEach((child) => child.kill("SIGKILL")));
process.once("SIGTERM", () => process.exit(1));

function started(...how) {
  const child = spawn(...how);
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** A process, and the first line that it prints. */
function program(...args) {
  const child = started(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const line = new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data).trim())));
  return { child, line };
}

/** The servers of most journeys. */
export function servers(world) {
  return {
    bookings: { ...server("bookings", world.marker), env: { LOG: "debug", API_TOKEN: SECRET } },
    clipper: { ...server("clipper"), quarantined: true },
    hostile: server("hostile"),
    broken: server("broken"),
    tickets: { url: `http://127.0.0.1:${world.oauthPort}/mcp` },
    crm: { url: "http://127.0.0.1:9/mcp", enabled: false, headers: { Authorization: `Bearer ${SECRET}` } },
  };
}

/** What ends the worlds that there are. */
const open = new Set();

/** Starts a world; `entries` gives its servers, `more` further keys of the configuration. */
export async function world({ entries = servers, more = {}, args = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "mcpproxy-page-"));
  const oauth = program(join(HERE, "oauth.mjs"));
  const here = { folder, marker: join(folder, "changed"), oauthPort: await oauth.line };
  const config = join(folder, "mcp_config.json");
  const write = (mcpServers) => writeFileSync(config, `// comments stay\n${JSON.stringify({ mcpServers, ...more }, null, 2)}\n`);
  write(entries(here));
  // Files of clients are read and written there.
  const home = join(folder, "home");
  mkdirSync(home);
  const own = { ...process.env, HOME: home, MCPPROXY_KEYRING: "file" };
  for (const elsewhere of ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "MAGG_CONFIG_PATH"]) delete own[elsewhere];
  let daemon;
  const rest = (method, path, body) => ask(join(folder, "data"), method, path, body);

  async function start(port = 0) {
    daemon = started(process.env.MCPPROXY_BINARY, ["serve", "--config", config, "--data-dir", join(folder, "data"), "--listen", `127.0.0.1:${port}`, "--log-file", join(folder, "daemon.log"), ...args], { stdio: "ignore", env: own });
    const status = await eventually("the daemon", () => rest("GET", "/status"));
    return status.url.replace(/\/mcp$/, "");
  }

  async function stop() {
    const ended = new Promise((resolve) => daemon.once("exit", resolve));
    daemon.kill("SIGTERM");
    await ended;
  }

  async function end() {
    open.delete(end);
    if (daemon.exitCode === null) await stop();
    oauth.child.kill();
    // What its servers started may still write there.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }

  open.add(end);
  const base = await start();
  return {
    ...here, base, home, config, write, rest, start, stop,
    server,
    text: () => readFileSync(config, "utf8"),
    port: Number(new URL(base).port),
    settled: () => eventually("the servers", async () => {
      const { servers: rows } = await rest("GET", "/servers");
      const state = (name) => rows.find((row) => row.name === name);
      const { total } = await rest("GET", "/tools");
      return state("broken")?.last_error && state("tickets")?.state === "Authenticating" && total >= 9;
    }),
    link: async () => (await rest("POST", "/ui/links")).url,
    end,
  };
}

/** A question over the local socket. */
function ask(data, method, path, body) {
  const socketPath = join(data, "mcpproxy.sock");
  if (!existsSync(socketPath)) return Promise.reject(new Error("no socket"));
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path: `/api/v1${path}`, headers: { host: "localhost", "content-type": "application/json" } }, (response) => {
      let text = "";
      response.on("data", (piece) => { text += piece; });
      response.on("end", () => (response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

let browser;

/** Windows that are logged in to a world and wait to be used again: a new one costs more than most journeys. */
const idle = new Map();

async function opened(of, login) {
  const { MCPPROXY_PAGE_ASSETS } = process.env;
  browser ??= await browserOfRun();
  const context = await browser.newContext({ reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] });
  // The clipboard is that of all windows of the browser.
  await context.addInitScript(() => {
    const { clipboard } = navigator;
    const write = clipboard?.writeText.bind(clipboard);
    if (clipboard) clipboard.writeText = (text) => {
      globalThis.copied = undefined;
      return write(text).then(() => { globalThis.copied = text; });
    };
  });
  if (MCPPROXY_PAGE_ASSETS) await context.route("**/ui/assets/*", (route) => route.fulfill({ path: join(MCPPROXY_PAGE_ASSETS, new URL(route.request().url()).pathname.split("/").pop()) }));
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const window = { page, context, login };
  const complain = (text) => window.expected.some((pattern) => pattern.test(text)) || window.complaints.push(text);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complain(`${message.type()}: ${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => complain(`exception: ${error.stack}`));
  page.on("request", (asked) => {
    const url = asked.url();
    if (!url.startsWith(of.base) && !url.startsWith("data:") && !url.startsWith("blob:")) complain(`another host: ${url}`);
  });
  return window;
}

/** Leads the page to another place of its own, as its links do. False where it has to be loaded anew for that. */
const led = (page, path) => page.evaluate((to) => {
  const [now, { pathname }] = [document.querySelector("#main > div"), new URL(to, location)];
  const place = (path) => path.replace(/^(\/ui\/activity).*/, "$1");
  if (!now || "out" in document.body.dataset || place(pathname) === place(location.pathname)) return false;
  now.dataset.left = "";
  const link = document.createElement("a");
  link.href = to;
  document.body.append(link);
  link.click();
  link.remove();
  return true;
}, path);

/** A browser window that is logged in. `expected` are patterns of complaints that belong to the journey. */
export async function visitor(of, { theme = "light", width = 1280, login = true, expected = [] } = {}) {
  const known = idle.get(of) ?? [];
  idle.set(of, known);
  const window = (login && known.pop()) || await opened(of, login);
  const { page, context } = window;
  Object.assign(window, { expected, complaints: [] });
  const who = {
    page,
    context,
    /** Makes the window as wide as that, and light or dark. */
    async wear(looks) {
      Object.assign(who, { theme: "light" }, looks);
      await page.setViewportSize({ width: who.width, height: 900 });
      await page.emulateMedia({ colorScheme: who.theme });
    },
    go: async (path) => {
      if (await led(page, path).catch(() => false)) await page.locator("#main > [data-left]").waitFor({ state: "detached" });
      else await page.goto(of.base + path);
      await page.locator("main h1, main .empty").first().waitFor();
    },
    title: (text) => page.getByRole("heading", { level: 1, name: text }).waitFor(),
    async close() {
      for (const other of context.pages()) if (other !== page) await other.close();
      await page.unrouteAll();
      if (login) known.push(window);
      else await context.close();
      assert.deepEqual(window.complaints, []);
    },
  };
  await who.wear({ theme, width });
  const isIn = login && (await context.request.get(`${of.base}/api/v1/status`)).ok();
  await page.goto(login && !isIn ? await of.link() : `${of.base}/ui/`);
  // What stood there before may have complained until it was left.
  if (isIn) window.complaints = [];
  return who;
}

/** For the page, a minute passes. */
export const later = (page) => page.evaluate(() => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + 60_000;
});

/** What the page copied last. */
export const copied = async (page) => (await page.waitForFunction(() => globalThis.copied)).jsonValue();

after(async () => {
  await browser?.close();
  for (const end of [...open]) await end();
});

const LEVEL_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

const LOOKS = [{ theme: "light", width: 1440 }, { theme: "dark", width: 1024 }, { theme: "light", width: 390 }];

/** What is shown is sound in a wide window, a dark one and on a phone; and its pictures. */
export async function isSoundEverywhere(who, what, name) {
  const { theme, width } = who;
  for (const looks of LOOKS) {
    await who.wear(looks);
    await isSound(who, what);
    if (name) await shot(who, name);
  }
  await who.wear({ theme, width });
}

/** No violation of level AA, no texts over each other, nothing wider than the window, and nothing of a secret. What is dark differs by its
 * contrast alone. */
export async function isSound({ page, width, theme }, place) {
  const what = `${place}, ${theme} ${width}`;
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const only = theme === "dark" ? { type: "rule", values: ["color-contrast"] } : { type: "tag", values: LEVEL_AA };
  const rules = theme === "dark" ? {} : { "landmark-unique": { enabled: true } };
  const { violations } = await page.evaluate((how) => globalThis.axe.run(document, how), { runOnly: only, rules });
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`), [], `${what}: axe`);
  assert.deepEqual(await overprinted(page), [], `${what}: printed over each other`);
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.ok(wide <= width, `${what}: ${wide} pixels wide in ${width}`);
  assert.ok(!(await page.content()).includes(SECRET), `${what}: a secret`);
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined, `${what}: a stranger's script ran`);
}

/** Texts of the page that are printed over each other, as pairs. What is scrolled away, cut off, or floats above the page is none. */
export function overprinted(page) {
  return page.evaluate(() => {
    const CLIPS = /hidden|clip|auto|scroll/;
    const boxes = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const of = node.parentElement;
      if (!node.data.trim() || !of.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const clips = [];
      let floats = Boolean(of.closest("option, script, style, svg"));
      for (let at = of; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at);
        floats ||= style.position === "fixed" || (style.position === "sticky" && (style.bottom !== "auto" || at.tagName === "HEADER")) || style.clipPath !== "none";
        if (CLIPS.test(style.overflowX) || CLIPS.test(style.overflowY)) clips.push(at.getBoundingClientRect());
      }
      if (floats) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const { left, right, top, bottom } of range.getClientRects()) {
        const box = { left, right, top, bottom, node, text: node.data.trim().slice(0, 40) };
        for (const clip of clips) {
          box.left = Math.max(box.left, clip.left);
          box.right = Math.min(box.right, clip.right);
          box.top = Math.max(box.top, clip.top);
          box.bottom = Math.min(box.bottom, clip.bottom);
        }
        if (box.right - box.left > 1 && box.bottom - box.top > 1) boxes.push(box);
      }
    }
    boxes.sort((a, b) => a.top - b.top);
    const found = [];
    boxes.forEach((a, i) => {
      for (const b of boxes.slice(i + 1)) {
        if (b.top >= a.bottom) break;
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // Lines of one text stand close to each other; their boxes touch.
        if (a.node !== b.node && wide > 2 && high > Math.min(a.bottom - a.top, b.bottom - b.top) / 2) found.push(`“${a.text}” and “${b.text}”`);
      }
    });
    return found;
  });
}

/** A picture of the whole page, where pictures are wanted. */
export async function shot({ page, width, theme }, name) {
  if (!process.env.SHOTS) return;
  await page.screenshot({ path: join(process.env.SHOTS, `${name}.${width === 390 ? "phone-390" : `${theme}-${width}`}.png`), fullPage: true });
}

/** An MCP client of revision 2025-06-18 that calls one tool. */
export async function agentCalls(of, name, args, client = "claude-code") {
  const here = await agent(of, client);
  const answer = await here.call(name, args);
  await here.end();
  return answer;
}

/** A session of a client, until it ends it. */
export async function agent(of, name, version = "1.0") {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const send = (body, session) => fetch(`${of.base}/mcp`, { method: "POST", headers: session ? { ...headers, "mcp-session-id": session } : headers, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
  const opened = await send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version } } });
  const session = opened.headers.get("mcp-session-id");
  await opened.text();
  await (await send({ method: "notifications/initialized" }, session)).text();
  return {
    call: async (tool, args) => (await send({ id: 2, method: "tools/call", params: { name: tool, arguments: args } }, session)).text(),
    end: () => fetch(`${of.base}/mcp`, { method: "DELETE", headers: { "mcp-session-id": session } }),
  };
}

export { eventually };
