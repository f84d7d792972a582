//! The language of the tests: fake upstreams, a raw client, and waiting with a deadline.

pub mod authorization_server;
pub mod balancer;
pub mod behaviours;
pub mod client;
mod control;
mod cuttable;
pub mod daemon;
pub mod event_stream;
pub mod fake_collector;
pub mod fake_docker;
mod fake_http;
#[cfg(target_os = "linux")]
pub mod fake_secret_service;
mod fake_sse;
pub mod fake_upstream;
pub mod feed;
pub mod http;
mod interpreter;
pub mod modern;
pub mod modern_client;
mod moving;
pub mod patience;
mod person;
pub mod pipe_client;
pub mod prelude;
mod presentation;
pub mod processes;
pub mod random;
pub mod record;
mod request;
pub mod script;
pub mod sse;
pub mod texts;
mod troubles;

impl http::Reachable for fake_upstream::Upstream {
    fn address(&self) -> std::net::SocketAddr {
        fake_upstream::Upstream::address(self)
    }
}
