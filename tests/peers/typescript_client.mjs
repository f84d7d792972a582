// The official TypeScript SDK as a client, in either major version: what many desktop clients are built on.
// Takes visits on its standard input, a line of JSON each, and prints for each what it saw as a line of JSON:
// {modules, major, negotiation, target: {transport, url | command, args}, calls: [{name, arguments, wait}], replies: {form, text}}.
// With replies it can be asked things, and answers each form and each prompt so.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const files = {
  1: ["types.js", "client/index.js", "client/streamableHttp.js", "client/sse.js", "client/stdio.js"].map((it) => `sdk/dist/esm/${it}`),
  2: ["client/dist/index.mjs", "client/dist/stdio.mjs"],
};

async function visit({ modules, major, negotiation, target, calls, replies }) {
  const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`));
  const sdk = Object.assign({}, ...(await Promise.all(files[major].map(load))));

  const transports = {
    http: () => new sdk.StreamableHTTPClientTransport(new URL(target.url)),
    sse: () => new sdk.SSEClientTransport(new URL(target.url)),
    stdio: () => new sdk.StdioClientTransport({ command: target.command, args: target.args }),
  };
  const options = negotiation ? { versionNegotiation: { mode: negotiation } } : {};
  const capabilities = replies ? { elicitation: { form: {} }, sampling: {} } : {};
  const client = new sdk.Client({ name: "peers", version: "1" }, { capabilities, ...options });
  const asked = [];
  function answer(method, schema, reply) {
    const heard = ({ params }) => {
      asked.push(params.message ?? params.messages[0].content.text);
      return reply;
    };
    client.setRequestHandler(major === 1 ? schema : method, heard);
  }
  if (replies) {
    answer("elicitation/create", sdk.ElicitRequestSchema, { action: "accept", content: replies.form });
    const content = { type: "text", text: replies.text };
    answer("sampling/createMessage", sdk.CreateMessageRequestSchema, { model: "scripted", role: "assistant", content });
  }
  const transport = transports[target.transport]();
  await client.connect(transport);

  const revision = client.getNegotiatedProtocolVersion?.();
  const news = revision === "2026-07-28" ? await client.listen({ toolsListChanged: true }) : undefined;
  const { tools } = await client.listTools();
  const progress = [];
  const answers = [];
  for (const call of calls) {
    // A call that waits says so, and is made when a line comes.
    if (call.wait) {
      console.log("waiting");
      await lines.next();
    }
    const onprogress = call.progress && ((step) => progress.push(step));
    // The second argument went with version 1.
    const rest = major === 1 ? [undefined, { onprogress }] : [{ onprogress }];
    answers.push(await client.callTool({ name: call.name, arguments: call.arguments }, ...rest));
  }
  await news?.close();
  await transport.terminateSession?.();
  await client.close();
  return { tools: tools.map((tool) => tool.name), answers, progress, revision, honored: news?.honoredFilter, asked };
}

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  console.log(JSON.stringify(await visit(JSON.parse(line.value))));
}
