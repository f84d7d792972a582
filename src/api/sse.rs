//! Event streams of the API. Nothing waits in them: a slow reader gets the current state when it reads on.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::header;
use serde::Serialize;
use tokio::time::Instant;

use super::routes::EVENTS;
use crate::wire::Raw;

/// How often a source is looked at for news.
const LOOK: Duration = Duration::from_millis(500);

/// A stream on which nothing came for this long gets a comment, so that nobody between takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A source of events that is looked at again and again.
pub(super) trait StreamNews: Send + 'static {
    /// The events since the last look, which may be none; `None` when no more will come.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// One event.
pub(super) fn event(name: &str, data: &impl Serialize) -> Bytes {
    // Our JSON is on one line.
    let data = Raw::author(data);
    [
        b"event: ",
        name.as_bytes(),
        b"\ndata: ",
        data.as_bytes(),
        b"\n\n",
    ]
    .concat()
    .into()
}

/// The stream: `first` at once, and then the news, until the reader leaves.
pub(super) fn respond(first: Bytes, news: impl StreamNews) -> Response {
    let begun = (Some(first), Some(news), Instant::now());
    let written = stream::unfold(begun, |(first, news, sent_at)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, Infallible>(first), (None, news, sent_at)));
        }
        let mut news = news?;
        loop {
            match news.next().await {
                None => return None,
                Some(new) if !new.is_empty() => {
                    return Some((Ok(new), (None, Some(news), Instant::now())));
                }
                Some(_) if sent_at.elapsed() >= KEEP_ALIVE => {
                    let comment = Bytes::from_static(b": keep-alive\n\n");
                    return Some((Ok(comment), (None, Some(news), Instant::now())));
                }
                Some(_) => tokio::time::sleep(LOOK).await,
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, EVENTS)];
    // Keeps proxies from gathering answers.
    let unbuffered = [("x-accel-buffering", "no")];
    (kind, unbuffered, Body::from_stream(written)).into_response()
}
