//! The `mcpproxy` program.

fn main() {}
