//! The `mcpproxy` program.

use std::process::ExitCode;

/// Gives memory back after a burst, which the system's allocator does not.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How it is set up: a thread looks for memory that it could give back after a mebibyte, not after 64 KiB, which is each call or two. Threads
/// share one arena, and what is unused goes back after a second: docs/decisions/allocator.md.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "jemalloc reads a symbol of this name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 59] =
    b"tcache_gc_incr_bytes:1048576,narenas:1,dirty_decay_ms:1000\0";

fn main() -> ExitCode {
    mcpproxy::cli::main()
}
