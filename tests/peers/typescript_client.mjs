// The official TypeScript SDK as a client: what many desktop clients are built on.
// Usage: node typescript_client.mjs NODE_MODULES URL; prints what it saw as one JSON line.
import { pathToFileURL } from "node:url";

const [modules, url] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/${path}`));
const { Client } = await sdk("index.js");
const { StreamableHTTPClientTransport } = await sdk("streamableHttp.js");

const client = new Client({ name: "peers", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

const { tools } = await client.listTools();
const progress = [];
const long = tools.find((tool) => tool.description.includes("long running operation"));
const answers = {
  echo: await client.callTool({ name: "everything__echo", arguments: { message: "servus" } }),
  weather: await client.callTool({ name: "web__get-structured-content", arguments: { location: "Chicago" } }),
  time: await client.callTool({ name: "time__get_current_time", arguments: { timezone: "UTC" } }),
  long: await client.callTool({ name: long.name, arguments: { duration: 1, steps: 2 } }, undefined, {
    onprogress: (step) => progress.push(step),
  }),
};
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers, progress }));
await transport.terminateSession();
await client.close();
