//! The names of the tools of our own, for rules that name them. The tools themselves are the router's.

/// Every name, those of tools included that this version does not have yet.
#[rustfmt::skip]
pub const BUILT_IN_TOOLS: &[&str] = &[
    "retrieve_tools", "describe_tool", "call_tool_read", "call_tool_write", "call_tool_destructive", "call_tool",
    "quarantine_security", "upstream_servers", "code_execution", "read_cache", "proxy",
];
