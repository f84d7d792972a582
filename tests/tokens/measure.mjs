// What tools and results cost a model, in tokens of o200k_base: what the three modes list, a task of five calls in each of them, and an
// answer of 200 KiB. Five real servers behind the daemon, the official SDK as the client. Prints tables in Markdown. How it counts and
// why: docs/tokens.md.
import { spawn, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const [binary, peers, own] = process.argv.slice(2);
const ofPeers = createRequire(path.join(peers, "package.json"));
const { Client } = ofPeers("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = ofPeers("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { encode } = createRequire(path.join(own, "package.json"))("gpt-tokenizer/encoding/o200k_base");

const folder = mkdtempSync(path.join(tmpdir(), "mcpproxy-tokens-"));
const files = path.join(folder, "files");
const repository = path.join(folder, "repository");

/** Limit: so long may servers take to be ready, in milliseconds. */
const READY = 120_000;
/** The setting whose effect is measured, in characters. */
const LIMIT = 20_000;
/** Bytes of the large answer. */
const LARGE = 200 * 1024;

const tokens = (value) => encode(typeof value === "string" ? value : JSON.stringify(value)).length;
const number = (count) => count.toLocaleString("en-US");

function prepare() {
  mkdirSync(files);
  mkdirSync(repository);
  const git = (...words) =>
    execFileSync("git", ["-C", repository, "-c", "user.name=A", "-c", "user.email=a@example.com", ...words], { stdio: "pipe" });
  git("init", "--quiet");
  for (const name of ["one", "two", "three"]) {
    writeFileSync(path.join(repository, `${name}.txt`), `${name}\n`);
    git("add", ".");
    git("commit", "--quiet", "--message", `Add ${name}`);
  }
  const records = [];
  let size = 2;
  for (let id = 1; size < LARGE; id += 1) {
    const record = { id, customer: `Customer ${id % 97}`, state: id % 50 === 0 ? "overdue" : "paid", amount: (id * 37) % 1000 };
    size += JSON.stringify(record).length + 1;
    records.push(record);
  }
  writeFileSync(path.join(files, "invoices.json"), JSON.stringify(records));
}

function servers() {
  const npm = (name, ...args) => ({ command: process.execPath, args: [path.join(peers, "node_modules/@modelcontextprotocol", name, "dist/index.js"), ...args] });
  return {
    everything: npm("server-everything", "stdio"),
    filesystem: npm("server-filesystem", files),
    memory: { ...npm("server-memory"), env: { MEMORY_FILE_PATH: path.join(folder, "memory.json") } },
    time: { command: path.join(peers, "requirements/bin/mcp-server-time"), args: ["--local-timezone", "Europe/Berlin"] },
    git: { command: path.join(own, "python/bin/mcp-server-git"), args: ["--repository", repository] },
  };
}

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Runs a daemon with these settings while something is done with it. */
async function withDaemon(name, settings, work) {
  const port = await freePort();
  const data = path.join(folder, name);
  const config = path.join(folder, `${name}.json`);
  const content = { listen: `127.0.0.1:${port}`, data_dir: data, enable_code_execution: true, ...settings, mcpServers: servers() };
  writeFileSync(config, JSON.stringify(content));
  const environment = { ...process.env, HOME: folder };
  const daemon = spawn(binary, ["serve", "--config", config], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  daemon.stderr.on("data", (text) => (log += text));
  const ended = new Promise((done) => daemon.once("exit", done));
  try {
    const base = `http://127.0.0.1:${port}`;
    await allReady(base, daemon).catch((error) => {
      throw new Error(`${error.message}\n${log}`);
    });
    return await work(base);
  } finally {
    daemon.kill("SIGTERM");
    await ended;
  }
}

async function allReady(base, daemon) {
  const wanted = Object.keys(servers());
  const until = Date.now() + READY;
  for (;;) {
    if (daemon.exitCode !== null) throw new Error("the daemon ended");
    const names = await withClient(base, "/mcp/all", async (client) => (await client.listTools()).tools.map((tool) => tool.name)).catch(() => []);
    const missing = wanted.filter((server) => !names.some((name) => name.startsWith(`${server}__`)));
    if (missing.length === 0) return;
    if (Date.now() > until) throw new Error(`not ready: ${missing.join(", ")}`);
    await pause(200);
  }
}

async function withClient(base, endpoint, work) {
  const client = new Client({ name: "tokens", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(base + endpoint)));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** What a model is given of a tool: clients send these three members. */
const shown = ({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema });

/** What a model reads before it does anything. */
async function listed(client) {
  const { tools } = await client.listTools();
  const instructions = client.getInstructions() ?? "";
  return { count: tools.length, tools: tools.reduce((sum, tool) => sum + tokens(shown(tool)), 0), instructions: tokens(instructions) };
}

/** A conversation: what a model writes for each call and reads of its answer. */
class Conversation {
  constructor(client, before) {
    this.client = client;
    this.context = before;
    this.before = before;
    this.read = 0;
    this.turns = 0;
  }

  async call(name, args) {
    this.read += this.context;
    this.turns += 1;
    const result = await this.client.callTool({ name, arguments: args }, undefined, { timeout: 60_000 });
    const text = result.content.map((item) => item.text ?? "").join("\n");
    if (result.isError) throw new Error(`${name}: ${text}`);
    const cost = tokens({ name, arguments: args }) + tokens(text);
    this.context += cost;
    return { text, cost };
  }

  /** The last turn, in which the model answers. */
  end() {
    this.read += this.context;
    return { turns: this.turns + 1, calls: this.context - this.before, context: this.context, read: this.read };
  }
}

/** Five calls of four servers. The words are what a model would search for. */
const STEPS = [
  ["convert a time between timezones", "time:convert_time", { source_timezone: "Europe/Berlin", time: "09:30", target_timezone: "Asia/Tokyo" }],
  ["write a file", "filesystem:write_file", { path: path.join(files, "meeting.txt"), content: "Meeting at 09:30 in Berlin, 16:30 in Tokyo\n" }],
  ["read a text file", "filesystem:read_text_file", { path: path.join(files, "meeting.txt") }],
  ["remember an entity in the knowledge graph", "memory:create_entities", { entities: [{ name: "meeting", entityType: "event", observations: ["09:30 in Berlin"] }] }],
  ["show the commits of a repository", "git:git_log", { repo_path: repository, max_count: 3 }],
];

async function byDirectCalls(client, before) {
  const talk = new Conversation(client, before);
  for (const [, name, args] of STEPS) await talk.call(name.replace(":", "__"), args);
  return talk.end();
}

async function bySearch(client, before, detail) {
  const talk = new Conversation(client, before);
  for (const [query, name, args] of STEPS) {
    const { text } = await talk.call("retrieve_tools", { query, limit: 5, ...detail });
    const found = JSON.parse(text).tools.find((tool) => tool.name === name);
    if (!found) throw new Error(`${query} does not find ${name}`);
    if (detail.detail === "compact") await talk.call("describe_tool", { names: [name] });
    await talk.call(found.call_with, { name, args });
  }
  return talk.end();
}

async function byScript(client, before) {
  const calls = STEPS.map(([, name, args]) => {
    const [server, tool] = name.split(":");
    return `call_tool(${JSON.stringify(server)}, ${JSON.stringify(tool)}, ${JSON.stringify(args)})`;
  });
  const code = `const done = [\n  ${calls.join(",\n  ")},\n];\ndone.map(one => one.ok ? one.value : one.error)`;
  const talk = new Conversation(client, before);
  await talk.call("code_execution", { code, options: { allow_destructive: true } });
  return talk.end();
}

const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);

function table(...heads) {
  console.log();
  row(...heads);
  row(...heads.map(() => "---"));
}

const MODES = [
  ["`direct`", "/mcp/all"],
  ["`retrieve_tools`", "/mcp/call"],
  ["`code_execution`", "/mcp/code"],
  ["`proxy`", "/mcp/proxy"],
];

async function lists(base) {
  table("mode", "tools listed", "tokens of their definitions", "instructions", "together");
  const before = {};
  for (const [mode, endpoint] of MODES) {
    const cost = await withClient(base, endpoint, listed);
    before[endpoint] = cost.tools + cost.instructions;
    row(mode, cost.count, number(cost.tools), number(cost.instructions), number(before[endpoint]));
  }
  return before;
}

async function tasks(base, before) {
  const ways = [
    ["five direct calls", "/mcp/all", byDirectCalls],
    ["five searches with schemas, five calls", "/mcp/call", (client, start) => bySearch(client, start, {})],
    ["five compact searches, five `describe_tool`, five calls", "/mcp/call", (client, start) => bySearch(client, start, { detail: "compact" })],
    ["one script", "/mcp/code", byScript],
  ];
  table("way", "turns", "calls and their answers", "context at the end", "read over all turns");
  for (const [way, endpoint, work] of ways) {
    const cost = await withClient(base, endpoint, (client) => work(client, before[endpoint]));
    row(way, cost.turns, number(cost.calls), number(cost.context), number(cost.read));
  }
}

const FILE = { path: path.join(files, "invoices.json") };

/** A large answer, read as it is or as far as it comes. */
async function large(client) {
  const talk = new Conversation(client, 0);
  const { text, cost } = await talk.call("filesystem__read_text_file", FILE);
  return { text, cost };
}

/** The question behind it, answered by a script. */
async function largeByScript(client) {
  const code = `const {value} = call_tool("filesystem", "read_text_file", ${JSON.stringify(FILE)});
const all = typeof value === "string" ? JSON.parse(value) : JSON.parse(value.content);
all.filter(one => one.state === "overdue").reduce((sum, one) => sum + one.amount, 0)`;
  const talk = new Conversation(client, 0);
  return talk.call("code_execution", { code });
}

try {
  prepare();
  const sizes = await withDaemon("plain", {}, async (base) => {
    const before = await lists(base);
    await tasks(base, before);
    const whole = await withClient(base, "/mcp/all", large);
    if (whole.text !== readFileSync(FILE.path, "utf8")) throw new Error("the large answer is not the file");
    const script = await withClient(base, "/mcp/code", largeByScript);
    return [
      ["as it is", number(whole.text.length), number(whole.cost)],
      ["asked of a script, which returns a sum", number(script.text.length), number(script.cost)],
    ];
  });
  const cut = await withDaemon("limited", { tool_response_limit: LIMIT }, (base) => withClient(base, "/mcp/all", large));
  if (cut.text.length > LIMIT) throw new Error(`${cut.text.length} characters came in spite of the limit`);
  sizes.splice(1, 0, [`with \`tool_response_limit\` ${number(LIMIT)}`, number(cut.text.length), number(cut.cost)]);
  table("an answer of 200 KiB", "characters", "tokens");
  for (const cells of sizes) row(...cells);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
