//! A collector, and the way there: what the SDK puts together is encoded by the exporter for OTLP over HTTP and posted by whoever gave the way.

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

/// Limit: spans that wait, more finding no room; and spans in one request.
const MOST_WAITING: usize = 2_048;
const MOST_AT_ONCE: usize = 512;

/// How long spans wait for others.
const GATHER: Duration = Duration::from_secs(1);

/// How long one batch may take, with what is tried again.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What we are called where neither `OTEL_SERVICE_NAME` nor `OTEL_RESOURCE_ATTRIBUTES` says it.
const SERVICE: &str = env!("CARGO_PKG_NAME");

/// Posts a request: a deadline of its own bounds it, and its error names nothing of the address.
pub type PostSpans = Arc<
    dyn Fn(Request<Vec<u8>>) -> BoxFuture<'static, Result<Response<Vec<u8>>, String>> + Send + Sync,
>;

/// Where spans go.
pub struct Collector {
    /// The address that they are posted to.
    pub url: Secret,
    /// How.
    pub post: PostSpans,
}

/// Why nothing can be sent to a collector.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadCollector(String);

impl Collector {
    /// Called within a runtime, on which requests are made.
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
        // What the library says of an address shows it.
        let unusable = |_| BadCollector("its address cannot be used".to_owned());
        let mut exporter = exporter.map_err(unusable)?;
        exporter.set_resource(&resource());
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MOST_WAITING)
            .with_max_export_batch_size(MOST_AT_ONCE)
            .with_scheduled_delay(GATHER)
            .build();
        // The library panics where the system has no room for its thread.
        let begin = AssertUnwindSafe(|| BatchSpanProcessor::new(exporter, config));
        panic::catch_unwind(begin)
            .map_err(|_| BadCollector("the thread that exports cannot be started".to_owned()))
    }
}

/// What spans are spans of.
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

/// Lets the exporter's thread, on which no runtime is, use a client that needs one.
struct CollectorClient {
    post: PostSpans,
    runtime: Handle,
    failures: LogThrottle,
}

impl CollectorClient {
    /// Logs that something was not taken, now and then. The reason holds nothing of the address.
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
    // As the library's attribute would write it.
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
            // Waited for at once; a runtime that ends drops it, and nobody waits then.
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
