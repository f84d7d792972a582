//! The `mcpproxy` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcpproxy::cli::main()
}
