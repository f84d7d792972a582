//! mcpproxy: one daemon between every AI client and every MCP server on a machine.
//!
//! This file is the map. Modules stand floor by floor; a module uses lower floors only, and modules of one floor are strangers
//! to each other (`tests/it/house.rs` keeps it so). `docs/ARCHITECTURE.md` tells how a request travels through them.

// Floor 0: words. Pure, no I/O, no clock.
pub mod error_code;
pub mod instance;
pub mod loopback;
pub mod memory_budget;
pub mod moment;
pub mod names;
pub mod quick_map;
pub mod secret;
pub mod sync;
pub mod visible;
pub mod wire;

// Floor 0: files on disk. Knows nothing of what is in them.
pub mod storage;

// Floor 1: ground. Settings, fingerprints, long computations, counts, spans, sealed texts, failures as JSON, where in a list a text stands.
pub mod config;
pub mod fingerprint;
pub mod lines;
pub mod log_context;
pub mod log_limit;
pub mod long_work;
pub mod metrics;
pub mod sealing;
pub mod shown_failure;
pub mod spans;
pub mod text_index;

// Floor 2: what we say and write down, who asks, what was approved, secrets by name, children, connections, what strangers' texts are up to, what is kept
// of sessions, scripts of agents.
pub mod access;
pub mod activity;
pub mod approvals;
pub mod code_execution;
pub mod keyring;
pub mod link;
pub mod logging;
pub mod process;
pub mod scanner;
pub mod session_records;

// Floor 3: what the upstreams offer, one request in flight, logging in to servers, and texts too long for their readers.
pub mod authorization;
pub mod call_context;
pub mod catalog;
pub mod large_results;

// Floor 4: the one door to an upstream.
pub mod gate;

// Floor 5: the upstream servers.
pub mod upstream;

// Floor 6: what an operator can do, what a search finds, and how a client's request reaches an upstream.
pub mod forward;
pub mod management;
pub mod search;

// Floor 7: what an MCP client can ask, and what is done with the files of clients.
pub mod clients;
pub mod router;

// Floor 8: what may be wrong.
pub mod doctor;

// Floor 9: the faces, and the client of one of them.
pub mod api;
pub mod daemon_client;
pub mod inbound;
pub mod page;

// Floor 10: everything put together, and the programs that run beside it.
pub mod bridge;
pub mod daemon;
pub mod demo_server;

// Floor 11: the command line.
pub mod cli;
