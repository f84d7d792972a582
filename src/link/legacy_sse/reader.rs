//! The stream: its opening, the task that sorts what comes on it, and its end.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Uri, header};
use tokio::{sync::mpsc, time::Instant};

use super::{LegacySseShared, address};
use crate::{
    link::{
        LinkError, News, TOO_LARGE,
        remote::{End, Event, Events, HttpClient, Posted, is_event_stream, wrong_type},
        sorter::Sorter,
    },
    text::one_line,
    wire::IdFinder,
};

/// How long a server may take to open the stream and to name the address.
const OPENING: Duration = Duration::from_secs(30);

/// A stream that brings nothing, no comment either, for this long while a request waits for its answer is taken for dead. Servers
/// send comments every few seconds or not at all; those that do not still answer the pings which a worker sends meanwhile.
const SILENCE: Duration = Duration::from_mins(5);

/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(30);

/// Opens the stream and reads up to the address that it names for messages.
pub(super) async fn open(client: &HttpClient, uri: &Uri) -> Result<(Events, Uri), LinkError> {
    let opening = async {
        let mut events = match client.submit(|| client.stream(uri)).await? {
            Posted::Accepted(response) if is_event_stream(response.headers()) => {
                Events::of(response, None)
            }
            Posted::Accepted(response) => {
                let kind = response.headers().get(header::CONTENT_TYPE);
                let why = wrong_type(kind, "an event stream", "text/event-stream");
                return Err(LinkError::Broken(why));
            }
            Posted::Refused(refusal) => return Err(refusal.into_error()),
        };
        loop {
            let event = events.next_event().await.map_err(|end| match end {
                End::Cut(_) => LinkError::Lost(NO_ADDRESS.to_owned()),
                End::TooLarge => LinkError::Broken(TOO_LARGE.to_owned()),
            })?;
            if let Some(address) = named_address(client, uri, &event) {
                return Ok((events, address.map_err(LinkError::OddEndpoint)?));
            }
        }
    };
    match tokio::time::timeout(OPENING, opening).await {
        Ok(opened) => opened,
        Err(_) => Err(LinkError::Broken(
            "the stream named no address to post to within 30 s".to_owned(),
        )),
    }
}

const NO_ADDRESS: &str = "the stream ended before it named an address to post to";

/// The address in an `endpoint` event.
fn named_address(client: &HttpClient, stream: &Uri, event: &Event) -> Option<Result<Uri, String>> {
    /// Bytes of what is said of a bad one.
    const LONGEST: usize = 400;
    if event.name.as_deref() != Some(b"endpoint") {
        return None;
    }
    let reference = String::from_utf8_lossy(&event.data);
    let address = address::resolve(stream, &reference);
    Some(address.map_err(|error| one_line(&error.to_string(), &client.secrets(), LONGEST)))
}

/// The task that sorts what comes. The link is over when it ends, in whatever way.
pub(super) struct StreamReader {
    shared: Arc<LegacySseShared>,
    events: Events,
    answers: mpsc::Receiver<Bytes>,
    /// Taken when it says goodbye.
    sorter: Option<Sorter>,
}

impl StreamReader {
    pub(super) fn new(
        shared: Arc<LegacySseShared>,
        events: Events,
        answers: mpsc::Receiver<Bytes>,
        sorter: Sorter,
    ) -> Self {
        Self {
            shared,
            events,
            answers,
            sorter: Some(sorter),
        }
    }

    /// Reads until the stream ends or the link is over.
    pub(super) async fn run(mut self) {
        let Some(mut sorter) = self.sorter.take() else {
            return;
        };
        let shared = self.shared.clone();
        let why = tokio::select! {
            why = self.read(&mut sorter) => why,
            () = shared.tasks.ended() => shared.tasks.reason(),
        };
        shared.end(&why);
        // Nobody else holds the connection: it is closed now, not when the worker has read the news.
        drop(self);
        let end = News::Closed(shared.tasks.reason());
        shared.in_flight.news().send(end).await;
    }

    /// Gives the reason why the stream is over.
    async fn read(&mut self, sorter: &mut Sorter) -> String {
        let (mut idle, mut look) = (Instant::now(), tokio::time::interval(LOOK));
        loop {
            let in_flight = &self.shared.in_flight;
            tokio::select! {
                event = self.events.next_event() => match event {
                    Ok(event) if event.is_message() => {
                        if !sorter.sort(in_flight, &event.data) {
                            self.events.note_beside(&event.data);
                        }
                    }
                    Ok(event) => match named_address(&self.shared.client, &self.shared.uri, &event) {
                        Some(Ok(address)) => self.shared.address.store(Arc::new(address)),
                        Some(Err(why)) => return why,
                        // Other kinds of events are not ours.
                        None => (),
                    },
                    Err(End::TooLarge) => {
                        let mut finder = IdFinder::default();
                        finder.feed(&self.events.skip());
                        let (id, text) = (finder.finish(), TOO_LARGE.as_bytes());
                        if !sorter.broken(in_flight, id.as_ref(), TOO_LARGE, text) {
                            return format!("a message in it is broken: {TOO_LARGE}");
                        }
                    }
                    Err(End::Cut(why)) => return why,
                },
                Some(frame) = self.answers.recv() => {
                    sorter.sort(in_flight, &frame);
                }
                _ = look.tick() => {
                    if in_flight.is_empty() {
                        idle = Instant::now();
                    } else if idle.max(self.events.heard()).elapsed() > SILENCE {
                        return "the stream was silent for 5 minutes".to_owned();
                    }
                }
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.shared.end("the link was closed");
        self.shared
            .in_flight
            .news()
            .post(News::Closed(self.shared.tasks.reason()));
    }
}
