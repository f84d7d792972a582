//! The names of the built-in tools, for access rules that name them. The tools themselves belong to the router.

/// The names of all built-in tools, and of tools that later versions may have.
#[rustfmt::skip]
pub const BUILT_IN_TOOLS: &[&str] = &[
    "retrieve_tools", "describe_tool", "call_tool_read", "call_tool_write", "call_tool_destructive", "call_tool",
    "quarantine_security", "upstream_servers", "code_execution", "read_cache", "proxy",
];
