// One server with everything, made with the official TypeScript SDK 2.
// Usage: node server.mjs MODULES MODE [PORT]; without a port on its pipes. MODE: `both` eras, `modern` alone, or over HTTP `sessions`: both, and
// a session for whoever shakes hands.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [modules, mode, port] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const sdk = await load("@modelcontextprotocol/server/dist/index.mjs");
const { serveStdio } = await load("@modelcontextprotocol/server/dist/stdio.mjs");

const PAGE = "https://login.example/page";
const object = (name) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });
const NAMED = object("name");
const FORM = { message: "Who?", requestedSchema: NAMED };
const POEM = { messages: [{ role: "user", content: { type: "text", text: "A poem." } }], maxTokens: 9 };

const text = (said) => ({ content: [{ type: "text", text: said }] });
const schema = (of) => (of ? { inputSchema: sdk.fromJsonSchema(of) } : {});
const opened = new Set();
// What was added at run time, for servers that are made for each request.
const added = { tool: new Set(), prompt: new Set(), resource: new Set() };
let handler;

function made() {
  const listed = { listChanged: true };
  const capabilities = { tools: listed, prompts: listed, resources: { ...listed, subscribe: true }, logging: {}, completions: {} };
  const server = new sdk.McpServer({ name: "matrix", version: "1" }, { capabilities, instructions: "Has everything." });
  const tool = (name, description, does, takes) => {
    const call = takes ? does : (context) => does({}, context);
    return server.registerTool(name, { description, ...schema(takes) }, call);
  };
  const add = {
    tool: (name) => tool(name, "Was added.", () => text("added")),
    prompt: (name) => server.registerPrompt(name, {}, () => ({ messages: [{ role: "user", content: { type: "text", text: "added" } }] })),
    resource: (name) => server.registerResource(name, `added://${name}`, {}, (uri) => contents(uri, "added")),
  };
  const contents = (uri, said) => ({ contents: [{ uri: String(uri), mimeType: "text/plain", text: said }] });

  const greeting = { description: "Greets somebody.", ...schema(NAMED), outputSchema: sdk.fromJsonSchema(object("text")) };
  server.registerTool("greet", greeting, ({ name }) => {
    const structuredContent = { text: `Hello, ${name}!` };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  tool("fail", "Fails.", () => {
    throw new Error("on purpose");
  });
  tool("steps", "Takes two steps.", async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2])
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
    return text("done");
  });
  tool("say", "Logs a line.", async (_, { mcpReq }) => {
    await mcpReq.log("warning", "a line");
    return text("done");
  });
  tool("form", "Asks who is there.", async (_, { mcpReq }) => {
    const { action, content } = await mcpReq.elicitInput(FORM);
    return text(`${action} ${content?.name}`);
  });
  tool("page", "Wants a page opened.", async (_, { mcpReq }) => {
    return text((await mcpReq.elicitInput({ mode: "url", message: "Log in.", url: PAGE, elicitationId: "one" })).action);
  });
  tool("sample", "Has the client's model write something.", async (_, { mcpReq }) => {
    return text((await mcpReq.requestSampling(POEM)).content.text);
  });
  tool("roots", "Tells the client's roots.", async (_, { mcpReq }) => {
    const { roots } = await mcpReq.send({ method: "roots/list" });
    return text(roots.map((root) => root.uri).join(" "));
  });
  tool("withdraw", "Asks who is there, and takes the question back.", async (_, { mcpReq }) => {
    const taken = new AbortController();
    setTimeout(() => taken.abort(), 400);
    const answer = await mcpReq.elicitInput({ ...FORM, message: "Anybody?" }, { signal: taken.signal }).catch((error) => {
      if (!taken.signal.aborted) throw error;
    });
    return text(answer ? "answered" : "withdrawn");
  });
  const visit = ({ key }) => {
    if (opened.has(key)) return text("visited");
    opened.add(key);
    throw new sdk.UrlElicitationRequiredError([{ mode: "url", message: "Log in.", url: PAGE, elicitationId: "two" }]);
  };
  tool("visit", "Cannot be used before a page was opened.", visit, object("key"));
  const wait = async ({ path }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    await sleep(30_000, undefined, { signal: mcpReq.signal }).catch(() => writeFileSync(path, ""));
    return text("over");
  };
  tool("wait", "Waits for its end, and leaves a file where it was withdrawn.", wait, object("path"));
  for (const [kind, lists] of [["tool", "tools"], ["prompt", "prompts"], ["resource", "resources"]]) {
    const does = ({ name }) => {
      added[kind].add(name);
      add[kind](name);
      handler?.notify[`${lists}Changed`]();
      return text("done");
    };
    tool(`add_${kind}`, `Adds a ${kind}.`, does, NAMED);
  }
  tool("touch", "Says that the note has changed.", async () => {
    await server.server.sendResourceUpdated({ uri: "note://one" }).catch(() => {});
    handler?.notify.resourceUpdated("note://one");
    return text("done");
  });
  tool("ask", "Asks who is there, by its result.", (_, { mcpReq }) => {
    const who = sdk.acceptedContent(mcpReq.inputResponses, "who");
    return who ? text(`Hello, ${who.name}!`) : sdk.inputRequired({ inputRequests: { who: sdk.inputRequired.elicit(FORM) } });
  });

  server.registerResource("note", "note://one", { mimeType: "text/plain" }, (uri) => contents(uri, "a note"));
  const template = new sdk.ResourceTemplate("note://of/{person}", { list: undefined });
  server.registerResource("note_of", template, { mimeType: "text/plain" }, (uri, { person }) => contents(uri, `a note of ${person}`));
  const hello = { description: "Greets.", argsSchema: sdk.fromJsonSchema(NAMED) };
  server.registerPrompt("hello", hello, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Say hello to ${name}.` } }],
  }));
  server.server.setRequestHandler("completion/complete", ({ params }) => ({ completion: { values: [`${params.argument.value}da`] } }));
  for (const method of ["resources/subscribe", "resources/unsubscribe"]) server.server.setRequestHandler(method, () => ({}));
  for (const [kind, names] of Object.entries(added)) for (const name of names) add[kind](name);
  return server;
}

const sessions = new Map();

async function ofSession(request) {
  const known = sessions.get(request.headers.get("mcp-session-id"));
  if (known) return known.handleRequest(request);
  const onsessioninitialized = (id) => sessions.set(id, transport);
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
  await made().connect(transport);
  return transport.handleRequest(request);
}

async function served(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = parts.length ? Buffer.concat(parts) : undefined;
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const asked = new Request(`http://127.0.0.1:${port}${request.url}`, {
    method: request.method,
    headers: request.headers,
    body,
    signal: gone.signal,
  });
  const isOfSession = mode === "sessions" && (await sdk.isLegacyRequest(asked.clone()));
  const answer = await (isOfSession ? ofSession(asked) : handler.fetch(asked));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  const reader = answer.body?.getReader();
  response.on("close", () => reader?.cancel().catch(() => {}));
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    response.write(value);
  }
  response.end();
}

if (port) {
  handler = sdk.createMcpHandler(made, { legacy: mode === "both" ? "stateless" : "reject" });
  const failed = (error) => console.error(error);
  createServer((request, response) => served(request, response).catch(failed)).listen(Number(port), "127.0.0.1");
} else {
  serveStdio(made, { legacy: mode === "modern" ? "reject" : "serve" });
}
