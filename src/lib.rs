//! mcpproxy: one daemon between every AI client and every MCP server on a machine.
//!
//! This file is the map. Modules stand floor by floor; a module uses lower floors only, and modules of one floor are strangers
//! to each other (`tests/house` keeps it so). `docs/ARCHITECTURE.md` tells how a request travels through them.

// Floor 0: words and files. Pure texts, and private files that know nothing of what is in them.
pub mod storage;
pub mod text;

// Floor 1: messages, and all that differs between revisions of the protocol.
pub mod wire;

// Floor 2: failures with their codes.
pub mod failure;

// Floor 3: what every task stands on.
pub mod runtime;

// Floor 4: settings; what the daemon tells about itself.
pub mod config;
pub mod telemetry;

// Floor 5: who connects and to what: children, connections, secrets by name, scripts of agents, kept sessions, and whether servers may be believed.
pub mod code_execution;
pub mod keyring;
pub mod link;
pub mod process;
pub mod sessions;
pub mod trust;

// Floor 6: who asks, the log of calls, logging in to servers.
pub mod access;
pub mod activity;
pub mod authorization;

// Floor 7: what the upstreams offer, and one request in flight.
pub mod call_context;
pub mod catalog;

// Floor 8: the one door to an upstream.
pub mod gate;

// Floor 9: the upstream servers.
pub mod upstream;

// Floor 10: what an operator can do, and how a client's request reaches an upstream.
pub mod forward;
pub mod management;

// Floor 11: what an MCP client can ask, and what is done with the files of clients.
pub mod clients;
pub mod router;

// Floor 12: what may be wrong.
pub mod doctor;

// Floor 13: the faces.
pub mod api;
pub mod inbound;

// Floor 14: the client of a daemon, and the bridge of pipes to it.
pub mod daemon_client;

// Floor 15: everything put together.
pub mod daemon;

// Floor 16: the command line.
pub mod cli;
