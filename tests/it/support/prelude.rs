//! The words that most tests use.

pub use serde_json::{Value, json};

pub(crate) use super::texts::{has, is_like, lacks};
pub use super::{
    behaviours::*,
    client::{Exchange, Reply, TestClient, call_params, entries},
    daemon::{Builder, DaemonProcess, Home, TestDaemon},
    event_stream::EventStream,
    fake_upstream::{FakeUpstream, Upstream, plain_tool},
    http::{self, BOTH, HttpAnswer, JSON, PING, Reachable},
    modern,
    modern_client::{MODERN, ModernClient},
    patience::{until, until_async, within},
    pipe_client::{PipeClient, program},
    processes,
    record::How,
    script::{HttpAnswers, UnknownMethods},
    texts::rows,
};
