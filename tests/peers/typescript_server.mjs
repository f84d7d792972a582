// A server made with the official TypeScript SDK 2, which speaks both eras.
// Usage: node typescript_server.mjs MODULES [PORT]; without a port on its pipes.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, port] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired, inputResponse } = await load(
  "@modelcontextprotocol/server/dist/index.mjs",
);
const { serveStdio } = await load("@modelcontextprotocol/server/dist/stdio.mjs");

const text = (said) => ({ content: [{ type: "text", text: said }] });
const object = (...names) =>
  ({ type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])), required: names });
const annotations = { readOnlyHint: true };

function made() {
  const server = new McpServer({ name: "typescript", version: "1" }, { capabilities: { tools: {} }, instructions: "Greets." });
  const greeting = { description: "Greets somebody.", annotations, inputSchema: fromJsonSchema(object("name")) };
  server.registerTool("greet", { ...greeting, outputSchema: fromJsonSchema(object("text")) }, async ({ name }) => {
    const structuredContent = { text: `Hello, ${name}!` };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  server.registerTool("ask", { description: "Asks who is there.", annotations }, async (context) => {
    const person = acceptedContent(context.mcpReq.inputResponses, "person");
    if (person) return text(`Hello, ${person.name}!`);
    const question = { message: "Who are you?", requestedSchema: object("name") };
    return inputRequired({ inputRequests: { person: inputRequired.elicit(question) } });
  });
  server.registerTool("write", { description: "Has the client's model write something.", annotations }, async (context) => {
    const poem = inputResponse(context.mcpReq.inputResponses, "poem");
    if (poem.kind === "sampling") return text(`It said: ${poem.result.content.text}`);
    const messages = [{ role: "user", content: { type: "text", text: "A poem, please." } }];
    return inputRequired({ inputRequests: { poem: inputRequired.createMessage({ messages, maxTokens: 9 }) } });
  });
  return server;
}

async function served(handler, request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = parts.length ? Buffer.concat(parts) : undefined;
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const asked = { method: request.method, headers: request.headers, body, signal: gone.signal };
  const answer = await handler.fetch(new Request(`http://127.0.0.1:${port}${request.url}`, asked));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const part of answer.body ?? []) response.write(part);
  response.end();
}

if (port) {
  const handler = createMcpHandler(made);
  const failed = (error) => console.error(error);
  createServer((request, response) => served(handler, request, response).catch(failed)).listen(Number(port), "127.0.0.1");
} else {
  serveStdio(made);
}
