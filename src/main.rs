//! The `mcpproxy` program.

use std::process::ExitCode;

/// Gives memory back after a burst, which the system's allocator does not.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    mcpproxy::cli::main()
}
