//! A scripted MCP server on stdio, for the tests.

fn main() {}
