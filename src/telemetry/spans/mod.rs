//! Spans of calls for a collector that speaks OTLP over HTTP. [`Spans`] takes ended calls and never waits: a thread of the SDK gathers spans
//! and posts them. Spans that find no room or no collector are lost.
//!
//! The only door to the OpenTelemetry crates. Knows no settings: `daemon` says where the collector is and how requests get there.

mod call_trace;
mod collector;
mod ended_call;

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};

pub use self::{
    call_trace::{CallTrace, TracedRequest},
    collector::{BadCollector, Collector, PostSpans},
    ended_call::EndedCall,
};
use crate::wire::RequestTrace;

/// Takes spans, if there is a collector. Cheap to clone; clones share the collector.
#[derive(Clone, Default)]
pub struct Spans(Arc<ArcSwapOption<BatchSpanProcessor>>);

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spans").field(&self.is_on()).finish()
    }
}

impl Spans {
    /// Whether there is a collector.
    pub fn is_on(&self) -> bool {
        self.0.load().is_some()
    }

    /// The place of a call that begins: in the client's trace, or in a new one. `None` if there is no collector, or if the client says that
    /// its trace is not recorded.
    pub fn begin(
        &self,
        remote: Option<RequestTrace>,
        request: TracedRequest<'_>,
    ) -> Option<Arc<CallTrace>> {
        if !self.is_on() {
            return None;
        }
        CallTrace::begin(remote, request).map(Arc::new)
    }

    /// Hands over the spans of an ended call.
    pub fn export(&self, ended: &EndedCall<'_>) {
        if let Some(processor) = &*self.0.load() {
            for span in ended.spans() {
                processor.on_end(span);
            }
        }
    }

    /// Sends spans to this collector from now on; to none if it is `None` or cannot be used. Gives the collector of before either way.
    pub fn send_to(
        &self,
        collector: Option<Collector>,
    ) -> (FormerCollector, Result<(), BadCollector>) {
        let (processor, used) = match collector.map(Collector::into_processor).transpose() {
            Ok(processor) => (processor, Ok(())),
            Err(why) => (None, Err(why)),
        };
        let former = FormerCollector(self.0.swap(processor.map(Arc::new)));
        (former, used)
    }
}

/// A collector that gets no new spans. Those that wait for it are sent by [`FormerCollector::flush`].
#[must_use = "spans may wait for it"]
pub struct FormerCollector(Option<Arc<BatchSpanProcessor>>);

impl FormerCollector {
    /// Posts the spans that wait, within the deadline. False if not all were posted.
    pub async fn flush(self, deadline: Duration) -> bool {
        let Some(processor) = self.0 else {
            return true;
        };
        // This blocks until the thread of the SDK is done.
        let flushing = move || processor.shutdown_with_timeout(deadline).is_ok();
        tokio::task::spawn_blocking(flushing).await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use futures_util::FutureExt;
    use http::Response;

    use super::{Collector, Spans};
    use crate::text::secret::Secret;

    fn collector(url: &str) -> Collector {
        Collector {
            url: Secret::new(url.to_owned()),
            post: Arc::new(|_| async { Ok(Response::new(Vec::new())) }.boxed()),
        }
    }

    #[tokio::test]
    async fn the_former_collector_is_given_also_where_the_new_one_cannot_be_used() {
        let spans = Spans::default();
        let (_, used) = spans.send_to(Some(collector("http://127.0.0.1/v1/traces")));
        used.expect("a collector");
        let (former, used) = spans.send_to(Some(collector("http://[")));
        assert!(used.is_err());
        assert!(!spans.is_on());
        assert!(former.0.is_some());
        assert!(former.flush(Duration::from_secs(3)).await);
    }
}
