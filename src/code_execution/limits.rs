//! Limit: what a script may use. Numbers only; who keeps to them stands beside each.

use std::time::Duration;

/// How long a script may compute, calls not included. Kept by the engine, and by the system where the engine does not look.
pub const CPU: Duration = Duration::from_secs(10);

/// How long the engine gets beyond the time of a script to say where it was, before its process is killed.
pub const GRACE: Duration = Duration::from_millis(500);

/// Bytes of a script's objects. Kept by the engine.
pub const HEAP: usize = 64 << 20;

/// Bytes of address space of a script's process. Kept by the system, where it can.
pub const ADDRESS_SPACE: u64 = 4 << 30;

/// Bytes of a script's stack. Kept by the engine, on a thread that has more.
pub const STACK: usize = 512 << 10;

/// The stack of the thread that it runs on: what the engine itself takes has room, too.
pub const THREAD_STACK: usize = 4 << 20;

/// Bytes of a script's text. Kept by whoever takes it.
pub const CODE: usize = 256 << 10;

/// Bytes that a script may log. Kept by the engine and by the daemon.
pub const CONSOLE: usize = 64 << 10;

/// Bytes of a script's value, as JSON. Kept by the engine and by the daemon.
pub const VALUE: usize = 1 << 20;

/// Levels that the value and the arguments of calls may nest.
pub const DEPTH: usize = 128;

/// Bytes of one message of a script: calls with their arguments, or its value. Kept by the daemon.
pub const MESSAGE: usize = 8 << 20;

/// Bytes of the results that one batch of calls brings into a script. Later ones are left out, each with an error in its place.
pub const RESULTS: usize = 32 << 20;

/// Calls of one batch.
pub const BATCH: usize = 100;

/// Calls of a batch that run at once, and how many do if the script does not say.
pub const MAX_PARALLEL: usize = 32;
/// The same where the script does not say.
pub const DEFAULT_PARALLEL: usize = 8;

/// Scripts that run at once. Most of their time they wait for calls.
pub const PLACES: usize = 8;

/// Scripts that wait for a place, no longer than they may take. One more is refused.
pub const QUEUE: usize = 32;

/// Bytes of an error's message, and of the stack that is shown with it.
pub const SHOWN: usize = 2 << 10;
