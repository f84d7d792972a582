//! Sends spans to a collector: the SDK collects them in batches, its exporter encodes these for OTLP over HTTP, and the function that
//! [`Collector`] brings posts them.

use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanExporter as _},
};
use tokio::runtime::Handle;

use crate::{telemetry::log_throttle::LogThrottle, text::secret::Secret};

/// Limit: spans that wait, further ones being dropped; and spans in one request.
const MOST_WAITING: usize = 2_048;
const MOST_AT_ONCE: usize = 512;

/// How long spans wait for others.
const GATHER: Duration = Duration::from_secs(1);

/// How long one batch may take, with its retries.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the service if neither `OTEL_SERVICE_NAME` nor `OTEL_RESOURCE_ATTRIBUTES` names one.
const SERVICE: &str = env!("CARGO_PKG_NAME");

/// Posts a request. Must have its own deadline, and must not name the address in its error.
pub type PostSpans = Arc<
    dyn Fn(Request<Vec<u8>>) -> BoxFuture<'static, Result<Response<Vec<u8>>, String>> + Send + Sync,
>;

/// Where spans go.
pub struct Collector {
    /// The URL to which they are posted.
    pub url: Secret,
    /// Posts them.
    pub post: PostSpans,
}

/// Why spans cannot be sent to a collector.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadCollector(String);

impl Collector {
    /// Starts the thread that exports. Called within a runtime, on which it makes its requests.
    pub(super) fn into_processor(self) -> Result<BatchSpanProcessor, BadCollector> {
        let client = CollectorClient {
            post: self.post,
            runtime: Handle::current(),
            failures: LogThrottle::default(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(self.url.reveal())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .with_retry_policy(RetryPolicy::recommended())
            .build();
        // The error of the library shows the address.
        let unusable = |_| BadCollector("its address cannot be used".to_owned());
        let mut exporter = exporter.map_err(unusable)?;
        exporter.set_resource(&resource());
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MOST_WAITING)
            .with_max_export_batch_size(MOST_AT_ONCE)
            .with_scheduled_delay(GATHER)
            .build();
        // The library panics if the system cannot start its thread.
        let begin = AssertUnwindSafe(|| BatchSpanProcessor::new(exporter, config));
        panic::catch_unwind(begin)
            .map_err(|_| BadCollector("the thread that exports cannot be started".to_owned()))
    }
}

/// The description of this service in each batch.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let from_environment = Resource::builder().build();
    let builder = Resource::builder().with_attribute(version);
    match from_environment.get(&Key::new("service.name")) {
        Some(Value::String(name)) if !name.as_str().starts_with("unknown_service") => builder,
        _ => builder.with_service_name(SERVICE),
    }
    .build()
}

/// The HTTP client of the exporter: its thread has no runtime, so requests run on that of the daemon.
struct CollectorClient {
    post: PostSpans,
    runtime: Handle,
    failures: LogThrottle,
}

impl CollectorClient {
    /// Logs that batches were lost, at most once a minute.
    fn note_failure(&self, why: &str) {
        if let Some(batches) = self.failures.due() {
            tracing::warn!(why, batches, "spans cannot be exported and are lost");
        }
    }
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorClient").finish_non_exhaustive()
    }
}

impl HttpClient for CollectorClient {
    // The signature that `#[async_trait]` generates.
    fn send_bytes<'s, 'async_trait>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        's: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let posting = (self.post)(request.map(Vec::from));
            // Awaited at once. A runtime that shuts down drops the task, and then the exporter does not wait either.
            let posted = self.runtime.spawn(posting).await;
            let why = match posted {
                Ok(Ok(response)) => {
                    let status = response.status();
                    if !status.is_success() {
                        self.note_failure(&format!("the collector answers with HTTP {status}"));
                    }
                    return Ok(response.map(Bytes::from));
                }
                Ok(Err(why)) => why,
                Err(ended) => ended.to_string(),
            };
            self.note_failure(&why);
            Err(why.into())
        })
    }
}
