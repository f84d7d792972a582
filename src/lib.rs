//! mcpproxy: one daemon between every AI client and every MCP server on a machine.
//!
//! This file is the map. Modules stand floor by floor; a module uses lower floors only, and modules of one floor are strangers
//! to each other (`tests/it/house.rs` keeps it so). `docs/ARCHITECTURE.md` tells how a request travels through them.

// Floor 0: words. Pure, no I/O, no clock.
pub mod caller;
pub mod error_code;
pub mod names;
pub mod secret;
pub mod wire;

// Floor 1: ground. Settings, disk, fingerprints, one request in flight.
pub mod call_context;
pub mod config;
pub mod fingerprint;
pub mod lines;
pub mod long_work;
pub mod storage;

// Floor 2: what we know and say.
pub mod logging;

// Floor 3: what the upstreams offer.
pub mod catalog;

// Floor 4: the one door to an upstream.
pub mod gate;

// Floor 5: the upstream servers.
pub mod upstream;

// Floor 6: what an operator can do.
pub mod management;

// Floor 7: what an MCP client can ask.
pub mod router;

// Floor 8: the faces.
pub mod api;
pub mod inbound;

// Floor 9: everything put together.
pub mod daemon;

// Floor 10: the command line.
pub mod cli;
