//! Has the spans of calls go to the collector that the settings name, from the moment they name it.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{OtlpEndpoint, Settings},
    link::{AddressReach, Fetching},
    telemetry::spans::{Collector, FormerCollector, PostSpans, Spans},
};

/// How long one request to a collector may take (the exporter's own default).
const DEADLINE: Duration = Duration::from_secs(10);

/// Limit: bytes of an answer of a collector, of which nothing is used but its status.
const LARGEST: usize = 1 << 20;

/// How long the last spans may take to be posted.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Follows the settings; [`SpanExport::run`] ends with the daemon.
pub(super) struct SpanExport {
    spans: Spans,
    settings: watch::Receiver<Arc<Settings>>,
    in_force: Option<OtlpEndpoint>,
}

impl SpanExport {
    /// Spans go where the settings say from here on.
    pub(super) fn begin(spans: &Spans, settings: watch::Receiver<Arc<Settings>>) -> Self {
        let mut export = Self {
            spans: spans.clone(),
            settings,
            in_force: None,
        };
        // Nothing was in force before.
        drop(export.follow());
        export
    }

    /// Follows until it is cancelled, and then has what waits posted.
    pub(super) async fn run(mut self, ending: CancellationToken) {
        let follow = async {
            while self.settings.changed().await.is_ok() {
                if let Some(former) = self.follow() {
                    // The former collector still gets what waited for it.
                    former.flush(LAST_SPANS).await;
                }
            }
        };
        ending.run_until_cancelled(follow).await;
        ending.cancelled().await;
        let (last, _) = self.spans.send_to(None);
        if !last.flush(LAST_SPANS).await {
            tracing::warn!("the last spans of calls were not exported");
        }
    }

    /// Takes over what the settings say, if it is something else than before; gives what was in force.
    fn follow(&mut self) -> Option<FormerCollector> {
        let wanted = self.settings.borrow_and_update().otlp_endpoint.clone();
        if wanted == self.in_force {
            return None;
        }
        let collector = wanted.as_ref().map(|endpoint| Collector {
            url: endpoint.url().clone(),
            post: post_spans(),
        });
        let (former, used) = self.spans.send_to(collector);
        self.in_force = wanted;
        match (used, &self.in_force) {
            (Err(why), _) => tracing::warn!(%why, "no spans are exported"),
            (Ok(()), Some(collector)) => tracing::info!(%collector, "span export began"),
            (Ok(()), None) => tracing::info!("span export ended"),
        }
        Some(former)
    }
}

/// By the client that serves all requests beside connections.
fn post_spans() -> PostSpans {
    Arc::new(|request| {
        let fetching = Fetching {
            ca_file: None,
            deadline: DEADLINE,
            largest: LARGEST,
        };
        async move {
            let posted = fetching.fetch(request, AddressReach::Anywhere).await;
            posted.map_err(|error| error.to_string())
        }
        .boxed()
    })
}
