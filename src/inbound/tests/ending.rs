//! What runs for a client is waited for when the daemon ends.

use futures_util::FutureExt;

use super::{EVENTS, Endpoints, open};

#[tokio::test]
async fn the_writer_of_a_stream_that_can_be_resumed_is_waited_for() {
    let endpoints = Endpoints::new();
    let session = open(&endpoints, "a", "2025-11-25").await;
    let its = [EVENTS, ("mcp-session-id", session.as_str())];
    let stream = endpoints.answer("a", "GET /mcp", &its, "").await;
    let mut ended = Box::pin(endpoints.inbound.all_left());
    assert!((&mut ended).now_or_never().is_none(), "it still writes");
    endpoints.closing.cancel();
    ended.await;
    drop(stream);
}
