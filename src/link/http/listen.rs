//! The server's stream of notifications (Streamable HTTP, "Listening for Messages from the Server"), and where messages go that
//! belong to no call.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::sync::oneshot;

use super::{exchange::concerns_all, server::HttpShared, session::HttpSession};
use crate::{
    link::{
        News,
        remote::{Events, ServerBody, is_event_stream},
        sorter::progress_token,
    },
    wire::{Message, Notification, method},
};

/// How long to wait at least before the stream is opened again, whatever the server says. A stream that lasted no longer ended too soon.
const RETRY: Duration = Duration::from_secs(1);

/// The longest of the waits, which double while the stream brings nothing or ends too soon.
const MAX_RETRY: Duration = Duration::from_mins(1);

/// How long to wait for a server to open the stream. Some send nothing before they have a message.
const OPENED: Duration = Duration::from_millis(500);

impl HttpShared {
    /// Listens in the session of the moment, and no more in any other. Comes back when the stream is open, because many servers lose
    /// what they send before: a question of the very first call, for example.
    pub(super) async fn listen(self: &Arc<Self>) {
        let (shared, session) = (self.clone(), self.session());
        let (open, opened) = oneshot::channel();
        let listener = self
            .tasks
            .spawn(async move { shared.keep_listening(&session, open).await });
        let earlier = std::mem::replace(&mut *self.listener.lock(), listener);
        if let Some(earlier) = earlier {
            earlier.abort();
        }
        let _ = tokio::time::timeout(OPENED, opened).await;
    }

    /// Returns when the server has no such stream, or does not know the session: the next request will find out.
    async fn keep_listening(&self, session: &HttpSession, open: oneshot::Sender<()>) {
        let (mut last_id, mut backoff) = (None::<Bytes>, RETRY);
        let mut open = Some(open);
        loop {
            let opened = Instant::now();
            let mut wanted = RETRY;
            let response = self.server.get(session, last_id.as_ref()).await;
            drop(open.take());
            match response {
                Ok(response) if is_stream(&response) => {
                    let mut events = Events::of(response, last_id.take());
                    while let Ok(frame) = events.next().await {
                        self.arrived(&frame);
                        events.note_beside(&frame);
                    }
                    let lasted = opened.elapsed();
                    if lasted > MAX_RETRY || (lasted > RETRY && events.has_moved()) {
                        backoff = RETRY;
                    }
                    wanted = events.retry().unwrap_or(RETRY);
                    last_id = events.last_id().cloned();
                }
                Ok(response) if is_final(response.status()) => return,
                Ok(_) | Err(_) => (),
            }
            tokio::time::sleep(backoff.max(wanted).min(MAX_RETRY)).await;
            backoff = (backoff * 2).min(MAX_RETRY);
        }
    }

    /// Sorts a message from the stream of notifications.
    fn arrived(&self, frame: &Bytes) {
        self.in_flight.news().note_heard();
        match Message::parse(frame) {
            Ok(Message::Notification(notice)) => self.notice(notice),
            Ok(Message::Request(question)) => self.in_flight.news().post(News::Question(question)),
            Ok(Message::Response(_)) => {
                tracing::debug!("an answer on the notification stream was ignored");
            }
            Err(error) => {
                tracing::debug!(%error, "a message of the server could not be read");
            }
        }
    }

    /// Progress belongs to the request that its token names; log lines, and what we do not know, to the only client that can be meant;
    /// the rest to the worker.
    fn notice(&self, notice: Notification) {
        let stranger = match &*notice.method {
            method::PROGRESS => match progress_token(&notice) {
                // Nobody waits for it if it is not there any more.
                Some(number) => return drop(self.in_flight.notice(number, notice)),
                None => Err(notice),
            },
            name if concerns_all(name) => Err(notice),
            _ => self.in_flight.attribute_notice(notice),
        };
        if let Err(notice) = stranger {
            self.in_flight.news().post(News::Notification(notice));
        }
    }
}

fn is_stream(response: &Response<ServerBody>) -> bool {
    response.status().is_success() && is_event_stream(response.headers())
}

/// Whether asking again is of no use.
fn is_final(status: StatusCode) -> bool {
    let passing = matches!(
        status,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
    );
    !status.is_server_error() && !passing || status == StatusCode::NOT_IMPLEMENTED
}
