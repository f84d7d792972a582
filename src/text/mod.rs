//! Texts that mean something everywhere: names of servers and tools, secrets, moments, and characters that cannot be seen.

pub mod moment;
pub mod names;
pub mod secret;
pub mod visible;
