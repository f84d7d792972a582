//! Limit: what a script may use. Numbers only; each says who enforces it.

use std::time::Duration;

/// Processor time of a script, calls not included. Enforced by the engine, and by the system while the engine runs native code.
pub const CPU: Duration = Duration::from_secs(10);

/// Time after the deadline of a script in which the engine can still report where it stopped; then its process is killed.
pub const GRACE: Duration = Duration::from_millis(500);

/// Bytes of a script's objects. Enforced by the engine.
pub const HEAP: usize = 64 << 20;

/// Bytes of address space of a script's process. Enforced by the system, where it can.
pub const ADDRESS_SPACE: u64 = 4 << 30;

/// Bytes of a script's stack. Enforced by the engine.
pub const STACK: usize = 512 << 10;

/// Bytes of the stack of the thread that runs the script: larger than [`STACK`], because the engine itself needs some.
pub const THREAD_STACK: usize = 4 << 20;

/// Bytes of a script's text. Enforced by the tool that takes it.
pub const CODE: usize = 256 << 10;

/// Bytes that a script may log. Enforced by the engine and again by the daemon.
pub const CONSOLE: usize = 64 << 10;

/// Bytes of a script's value as JSON. Enforced by the engine and again by the daemon.
pub const VALUE: usize = 1 << 20;

/// Levels to which the value and the arguments of calls may nest.
pub const DEPTH: usize = 128;

/// Bytes of one message of a script: calls with their arguments, or its value. Enforced by the daemon.
pub const MESSAGE: usize = 8 << 20;

/// Bytes of the results of one batch of calls. An error takes the place of each further result.
pub const RESULTS: usize = 32 << 20;

/// Calls of one batch.
pub const BATCH: usize = 100;

/// The most calls of a batch that run at once.
pub const MAX_PARALLEL: usize = 32;
/// Calls of a batch that run at once if the script names no number.
pub const DEFAULT_PARALLEL: usize = 8;

/// Scripts that run at once. They wait for calls most of their time.
pub const PLACES: usize = 8;

/// Scripts that wait for a place. One more is refused.
pub const QUEUE: usize = 32;

/// Bytes of an error's message, and of the stack that is shown with it.
pub const SHOWN: usize = 2 << 10;
