//! Upstreams: the MCP servers behind us.

pub mod process;
