// Well-known servers, with blanks where a value of one's own belongs. They are read as what is pasted is: nothing is fetched here.

const npx = (...args) => ({ command: "npx", args: ["-y", ...args] });
const uvx = (...args) => ({ command: "uvx", args });

/** `[title, its use, what it asks for, name, entry]`. */
export const KNOWN = [
  ["Files", "Read and write in one folder", "folder", "files", npx("@modelcontextprotocol/server-filesystem", "<folder>")],
  ["Git", "History and diffs of a repository", "folder", "git", uvx("mcp-server-git", "--repository", "<folder of the repository>")],
  ["GitHub", "Issues, pull requests, code", "token", "github", { url: "https://api.githubcopilot.com/mcp/", headers: { Authorization: "Bearer <token>" } }],
  ["Postgres", "Query a database", "URL of the database", "postgres", { ...uvx("postgres-mcp", "--access-mode=restricted"), env: { DATABASE_URI: "<database URL>" } }],
  ["SQLite", "Query one file", "file", "sqlite", uvx("mcp-server-sqlite", "--db-path", "<file>")],
  ["Browser", "Open pages, click, take screenshots", "nothing", "browser", npx("@playwright/mcp@latest")],
  ["Fetch", "Web pages as text", "nothing", "fetch", uvx("mcp-server-fetch")],
  ["Memory", "Notes that stay between chats", "file", "memory", { ...npx("@modelcontextprotocol/server-memory"), env: { MEMORY_FILE_PATH: "<file>" } }],
  ["Time", "The time, and time zones", "nothing", "time", uvx("mcp-server-time")],
  ["Context7", "Current documentation of libraries", "nothing", "context7", npx("@upstash/context7-mcp")],
  ["Sentry", "Errors of your programs", "a login", "sentry", { url: "https://mcp.sentry.dev/mcp" }],
  ["Notion", "Pages and databases", "a login", "notion", { url: "https://mcp.notion.com/mcp" }],
  ["Linear", "Issues and projects", "a login", "linear", { url: "https://mcp.linear.app/mcp" }],
  ["Slack", "Channels and messages", "token", "slack", { ...npx("slack-mcp-server@latest", "--transport", "stdio"), env: { SLACK_MCP_XOXP_TOKEN: "<token>" } }],
];

/** One of them as a README gives it. */
export const asText = ([, , , name, entry]) => JSON.stringify({ mcpServers: { [name]: entry } }, null, 2);
