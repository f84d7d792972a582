//! Upstream servers: their processes and connections, one worker task each, and the supervisor that keeps the set as the settings
//! want it. Accepts requests only with the gate's ticket.

pub mod process;
