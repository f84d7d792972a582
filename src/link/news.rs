//! Messages on a connection that belong to no request: one bounded queue to the owner of the connection.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::mpsc;

use crate::{
    telemetry::log_throttle::LogThrottle,
    wire::{Notification, Raw, Request},
};

/// Limit: messages that wait in the queue. A worker only sorts them, so this fills up only under attack; further ones are dropped
/// and counted.
pub const NEWS_CAPACITY: usize = 1024;

/// Limit: the largest message that may wait for the worker, which has little use for large ones.
const NEWS_SIZE: usize = 64 << 10;

/// A message that belongs to no request.
#[derive(Debug)]
pub enum News {
    /// A list changed, a resource was updated, a log line came outside of requests.
    Notification(Notification),
    /// The upstream asks something, and does not say for which request.
    Question(Request),
    /// The session had expired and was opened again: the worker lists anew. Carries the raw result of `initialize`.
    Renewed(Raw),
    /// For a while no announcement of changes could come: the worker lists anew.
    Missed,
    /// The link is over; the reason, for the operator.
    Closed(String),
}

impl News {
    /// The same with memory of its own, so that it does not keep the buffer it came in; nothing if it is too large to wait.
    fn small(self) -> Option<Self> {
        let fits = |params: &Option<Raw>| {
            let size = params.as_ref().map_or(0, |params| params.as_bytes().len());
            size <= NEWS_SIZE
        };
        match self {
            Self::Notification(notice) => fits(&notice.params).then(|| {
                Self::Notification(Notification {
                    params: notice.params.map(|params| params.detached()),
                    ..notice
                })
            }),
            Self::Question(question) => fits(&question.params).then(|| {
                Self::Question(Request {
                    id: question.id.detached(),
                    params: question.params.map(|params| params.detached()),
                    ..question
                })
            }),
            other => Some(other),
        }
    }
}

/// The writing end of the queue. Cheap to clone.
#[derive(Clone)]
pub struct NewsSender {
    queue: mpsc::Sender<News>,
    /// Messages that found no room.
    dropped: Arc<LogThrottle>,
    /// Whether any message came since somebody looked.
    heard: Arc<AtomicBool>,
}

/// A queue for one connection.
pub(super) fn news_queue() -> (NewsSender, mpsc::Receiver<News>) {
    let (queue, news) = mpsc::channel(NEWS_CAPACITY);
    let sender = NewsSender {
        queue,
        dropped: Arc::default(),
        heard: Arc::default(),
    };
    (sender, news)
}

impl NewsSender {
    /// Notes that a message of the protocol came, whatever it is.
    pub(super) fn note_heard(&self) {
        // A store on every message would have the processors pass its place round.
        if !self.heard.load(Ordering::Relaxed) {
            self.heard.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one came since the last call.
    pub fn was_heard(&self) -> bool {
        self.heard.swap(false, Ordering::Relaxed)
    }

    /// Hands a message over unless too many wait or it is too large. Never waits.
    pub fn post(&self, news: News) {
        let sent = news.small().map(|news| self.queue.try_send(news));
        if matches!(sent, None | Some(Err(mpsc::error::TrySendError::Full(_))))
            && let Some(dropped) = self.dropped.due()
        {
            tracing::warn!(
                dropped,
                "messages of the server were dropped: too many or too large"
            );
        }
    }

    /// Hands over what must not be lost, however busy the worker is.
    pub(super) async fn send(&self, news: News) {
        // The worker is gone, and the connection with it, if this fails.
        let _ = self.queue.send(news).await;
    }
}
