//! How the daemon is observed: log lines, metrics for Prometheus, spans for a collector.

pub mod log_context;
pub mod log_throttle;
pub mod logging;
pub mod metrics;
pub mod spans;
