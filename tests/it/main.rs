//! The integration tests.

#[cfg(unix)]
mod cli;
mod demo_server;
