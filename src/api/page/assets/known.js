// Well-known servers, with blanks where a value of one's own belongs. They are read as what is pasted is: nothing is fetched here.

const npx = (...args) => ({ command: "npx", args: ["-y", ...args] });
const uvx = (...args) => ({ command: "uvx", args });

/** `[title, its use, what it asks for, name, entry]`. */
export const KNOWN = [
  ["Files", "Read and write files in one folder", "a folder", "files", npx("@modelcontextprotocol/server-filesystem", "<folder>")],
  ["Git", "Show the history and changes of a repository", "a folder", "git", uvx("mcp-server-git", "--repository", "<folder of the repository>")],
  ["GitHub", "Work with issues, pull requests and code", "a token", "github", { url: "https://api.githubcopilot.com/mcp/", headers: { Authorization: "Bearer <token>" } }],
  ["Postgres", "Query a database", "the database’s URL", "postgres", { ...uvx("postgres-mcp", "--access-mode=restricted"), env: { DATABASE_URI: "<database URL>" } }],
  ["SQLite", "Query a database stored in a file", "a file", "sqlite", uvx("mcp-server-sqlite", "--db-path", "<file>")],
  ["Browser", "Open web pages, click, take screenshots", "nothing", "browser", npx("@playwright/mcp@latest")],
  ["Fetch", "Read web pages as text", "nothing", "fetch", uvx("mcp-server-fetch")],
  ["Memory", "Keep notes between chats", "a file", "memory", { ...npx("@modelcontextprotocol/server-memory"), env: { MEMORY_FILE_PATH: "<file>" } }],
  ["Time", "Tell the time in any time zone", "nothing", "time", uvx("mcp-server-time")],
  ["Context7", "Read current documentation for libraries", "nothing", "context7", npx("@upstash/context7-mcp")],
  ["Sentry", "Investigate errors in your programs", "a login", "sentry", { url: "https://mcp.sentry.dev/mcp" }],
  ["Notion", "Read and edit pages and databases", "a login", "notion", { url: "https://mcp.notion.com/mcp" }],
  ["Linear", "Read and edit issues and projects", "a login", "linear", { url: "https://mcp.linear.app/mcp" }],
  ["Slack", "Read channels and messages", "a token", "slack", { ...npx("slack-mcp-server@latest", "--transport", "stdio"), env: { SLACK_MCP_XOXP_TOKEN: "<token>" } }],
];

/** One of them as a README gives it. */
export const asText = ([, , , name, entry]) => JSON.stringify({ mcpServers: { [name]: entry } }, null, 2);
