// What settings are called in words, in the groups in which they are shown. A key that is not here is shown by itself, last.

/** `[group, [[key, name, how?]]]`: `how` has words for values, and the `unit` of a number. */
export const GROUPS = [
  ["Tools for agents", [
    ["routing_mode", "Tools at /mcp", { retrieve_tools: "found by search", direct: "all listed", code_execution: "found and called by scripts", proxy: "behind one tool" }],
    ["tools_limit", "Maximum search results", { unit: "tools" }],
    ["top_k", "Search results with their full schema", { unit: "tools" }],
    ["tool_response_limit", "Long results are cut after", { unit: "characters", 0: "never" }],
    ["legacy_call_tool", "Also list call_tool"],
  ]],
  ["Agent permissions", [
    ["management", "Add and change servers", { full: "yes, held until you approve them", read: "only list servers and read logs", off: "no" }],
    ["enable_code_execution", "Run scripts"],
    ["code_execution_timeout_ms", "Time limit for a script", { unit: "ms" }],
    ["code_execution_max_tool_calls", "Maximum tool calls per script", { 0: "any number" }],
    ["intent_declaration.strict_server_validation", "Refuse calls whose type allows less than the tool does"],
    ["rate_limit.per_caller", "Requests per caller"],
    ["rate_limit.burst", "Requests at once per caller", { unit: "requests" }],
  ]],
  ["Servers", [
    ["new_tools", "New tools of a trusted server", { hold: "held until you approve them", allow: "usable at once" }],
    ["tool_discovery_interval", "Ask servers for their tools every"],
    ["idle_check_interval", "Check for idle servers every"],
    ["health_check_interval", "Ping a silent server after"],
    ["environment.inherit", "Variables that servers inherit"],
    ["environment.set", "Variables for every server"],
    ["keyring", "Secrets are stored in", { auto: "the keyring, else a private file", platform: "the keyring only", file: "a private file only" }],
  ]],
  ["Containers", [
    ["docker_isolation.enabled", "Run local servers in containers"],
    ["docker_isolation.default_images", "Images by command"],
    ["docker_isolation.network_mode", "Container network"],
    ["docker_isolation.memory_limit", "Maximum memory per container"],
    ["docker_isolation.cpu_limit", "Maximum CPUs per container"],
    ["docker_isolation.extra_args", "Additional arguments for docker run"],
  ]],
  ["Activity", [
    ["activity.max_age", "Keep records for"],
    ["activity.max_records", "Maximum records", { unit: "records", 0: "none" }],
    ["activity.max_size_mb", "Maximum size of the log", { unit: "MB" }],
    ["activity.arguments", "Keep arguments", { off: "no", redacted: "masked", full: "whole" }],
    ["activity.results", "Keep answers", { off: "no", redacted: "masked", full: "whole" }],
    ["otlp_endpoint", "Send OpenTelemetry traces to"],
  ]],
  ["Network", [
    ["listen", "Address"],
    ["serverAuth.required", "Require tokens"],
    ["trusted_hosts", "Additional accepted host names"],
    ["trusted_origins", "Additional accepted origins"],
    ["data_dir", "Data folder"],
    ["lock_file", "Lock file"],
    ["api_key", "API key"],
    ["session_key", "Session key"],
  ]],
];

/** Other spellings, and what has a place of its own. */
export const ELSEWHERE = new Set(["$schema", "mcpServers", "profiles", "serverAuth.provider", "serverAuth.providers", "serverAuth.bearer", "serverAuth.forwarded", "serverAuth.acl", "read_only_mode", "disable_management", "require_mcp_auth"]);

/** Values that are never shown. */
export const SECRET = new Set(["api_key", "session_key"]);
