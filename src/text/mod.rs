//! Texts that mean something everywhere: names of servers and tools, moments, secrets and what looks like one, and characters that
//! cannot be seen.

pub mod cut;
pub mod moment;
pub mod names;
pub mod percent;
pub mod redact;
pub mod secret;
pub mod visible;
