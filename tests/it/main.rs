//! The integration tests: a file per feature, in the language of `support`.

#![allow(
    unreachable_pub,
    reason = "one binary, nothing is reached from outside"
)]

mod access;
#[cfg(unix)]
mod activity;
mod asking;
mod attribution;
mod byte_identity;
mod call_identity;
mod call_spelling;
mod call_variants;
#[cfg(unix)]
mod cli;
#[cfg(target_os = "linux")]
mod client_limits;
#[cfg(unix)]
mod code_execution;
mod config_history;
mod connections;
mod continued_sessions;
mod credentials;
mod demo_server;
mod documented_tools;
mod examples;
mod failures;
mod fuzz_corpus;
mod gate;
mod http_guard;
mod http_messages;
mod instructions;
mod isolation;
mod large_results;
mod legacy_sse_clients;
mod legacy_sse_servers;
mod lifecycle;
mod list_changes;
mod logs;
mod managing;
mod metrics;
mod modern_clients;
mod modern_upstreams;
mod named_resources;
mod native;
#[cfg(unix)]
mod oauth;
mod operator_log;
#[cfg(unix)]
mod operators;
mod order;
mod page;
mod progress;
mod prompts_and_resources;
mod proxy;
mod questions;
mod reload;
#[cfg(unix)]
mod rest;
mod resuming;
mod retrieval;
#[cfg(unix)]
mod saves;
mod scanner;
mod scope;
mod search;
mod secrets;
mod server_life;
mod shared_uris;
mod spans;
#[cfg(unix)]
mod stdio_face;
mod subscriptions;
mod support;
mod tasks;
mod trust;
mod upstream_habits;
