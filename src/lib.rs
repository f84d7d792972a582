//! mcpproxy: one daemon between every AI client and every MCP server on a machine.
//!
//! This file is the map. Modules stand floor by floor; a module uses lower floors only, and modules of one floor are strangers
//! to each other (`tests/it/house.rs` keeps it so). `docs/ARCHITECTURE.md` tells how a request travels through them.

// Floor 0: words. Pure, no I/O, no clock.
pub mod caller;
pub mod error_code;
pub mod fingerprint;
pub mod names;
pub mod secret;
pub mod wire;

// Floor 1: ground. Settings, disk.
pub mod config;
pub mod storage;

// Floor 3: what the upstreams offer.
pub mod catalog;

// Floor 5: the upstream servers.
pub mod upstream;

// Floor 10: the command line.
pub mod cli;
