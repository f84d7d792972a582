// A remote MCP server that wants a login, and the authorization server for it, for the tests of the page: prints its port.
import { createServer } from "node:http";

let origin = "";
const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

async function body(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

const TOOLS = [{ name: "list_tickets", description: "List tickets.", annotations: { readOnlyHint: true }, inputSchema: { type: "object", properties: {} } }];

async function mcp(request, response) {
  const metadata = `${origin}/.well-known/oauth-protected-resource`;
  const sent = await body(request);
  if (request.headers.authorization !== "Bearer good") {
    json(response, 401, { error: "login" }, { "www-authenticate": `Bearer resource_metadata="${metadata}"` });
    return;
  }
  if (request.method !== "POST") { response.writeHead(405).end(); return; }
  const { id, method, params } = JSON.parse(sent);
  if (id === undefined) { response.writeHead(202).end(); return; }
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tickets", version: "1" } },
    "tools/list": { tools: TOOLS },
    "tools/call": { content: [{ type: "text", text: "none" }] },
  };
  if (results[method]) json(response, 200, { jsonrpc: "2.0", id, result: results[method] });
  else json(response, 200, { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
}

createServer(async (request, response) => {
  const address = new URL(request.url, origin);
  switch (address.pathname) {
    case "/mcp": return mcp(request, response);
    case "/.well-known/oauth-protected-resource":
    case "/.well-known/oauth-protected-resource/mcp":
      return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    case "/.well-known/oauth-authorization-server":
      return json(response, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
      });
    case "/register": {
      const asked = JSON.parse(await body(request));
      return json(response, 201, { ...asked, client_id: "page-test" });
    }
    case "/authorize": {
      const back = new URL(address.searchParams.get("redirect_uri"));
      back.searchParams.set("code", "abc");
      back.searchParams.set("iss", origin);
      back.searchParams.set("state", address.searchParams.get("state"));
      response.writeHead(302, { location: back.href });
      return response.end();
    }
    case "/token":
      await body(request);
      return json(response, 200, { access_token: "good", token_type: "Bearer", expires_in: 3600, refresh_token: "more" });
    default:
      return json(response, 404, { error: "not found" });
  }
}).listen(0, "127.0.0.1", function () {
  origin = `http://127.0.0.1:${this.address().port}`;
  console.log(this.address().port);
});
