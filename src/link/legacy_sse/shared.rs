//! What the reader and the callers of a link stand on: the server and its addresses, the requests in flight, and the end.

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Uri;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::link::{in_flight::RequestsInFlight, remote::HttpClient, tasks::LinkTasks};

pub(super) struct LegacySseShared {
    pub(super) client: HttpClient,
    /// Where the stream comes from.
    pub(super) uri: Uri,
    /// Where messages are posted.
    pub(super) address: ArcSwap<Uri>,
    pub(super) in_flight: RequestsInFlight,
    /// Messages that came in the response to a POST, on their way to the reader, which sorts them.
    pub(super) answered: mpsc::Sender<Bytes>,
    pub(super) tasks: LinkTasks,
}

impl LegacySseShared {
    pub(super) fn new(
        client: HttpClient,
        uri: Uri,
        address: Uri,
        answered: mpsc::Sender<Bytes>,
        in_flight: RequestsInFlight,
    ) -> Self {
        Self {
            client,
            uri,
            address: ArcSwap::from_pointee(address),
            in_flight,
            answered,
            tasks: LinkTasks::new(CancellationToken::new()),
        }
    }

    /// Ends the link: everything in flight fails, and nothing more is sent. The first reason counts.
    pub(super) fn end(&self, reason: &str) {
        self.in_flight.close(reason);
        self.tasks.end(reason);
    }
}
