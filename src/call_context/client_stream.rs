//! The stream back of a request: what its client is told before the answer.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::sync::Guarded;

/// Limit: notifications that wait for a client which reads slowly. Later ones are dropped; the answer never is.
const WAITING: usize = 8192;

/// Limit: bytes that wait for a client, beside the frame that passes it. A client that reads never comes near.
const WAITING_BYTES: usize = 64 << 20;

/// The sending end of a request's stream back. Cheap to clone.
#[derive(Clone, Default)]
pub struct ClientSender(Option<Arc<ClientStream>>);

/// The receiving end: what the face writes to its client before the answer.
pub struct ClientReceiver(Arc<ClientStream>);

#[derive(Default)]
struct ClientStream {
    waiting: Guarded<Waiting>,
    news: Notify,
    abandoned: AtomicBool,
    /// Cancelled when too much waits, where nothing may be left out.
    cut: Option<CancellationToken>,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl Drop for ClientReceiver {
    fn drop(&mut self) {
        self.0.abandon(&mut self.0.waiting.lock());
    }
}

impl ClientSender {
    /// Both ends.
    pub fn new() -> (Self, ClientReceiver) {
        let stream = Arc::new(ClientStream::default());
        (Self(Some(stream.clone())), ClientReceiver(stream))
    }

    /// Both ends of a stream that answers take too, in order with everything else. When more waits than a client leaves unread, nothing
    /// is left out: the stream is given up, and `cut` is cancelled.
    pub fn with_answers(cut: CancellationToken) -> (Self, ClientReceiver) {
        let stream = Arc::new(ClientStream {
            cut: Some(cut),
            ..ClientStream::default()
        });
        (Self(Some(stream.clone())), ClientReceiver(stream))
    }

    /// An end that leads nowhere, for callers that can be told nothing before the answer.
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Whether it leads anywhere.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the receiving end is still there.
    pub fn is_heard(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|stream| !stream.abandoned.load(Ordering::Relaxed))
    }

    /// Sends one frame.
    pub fn send(&self, frame: Bytes) {
        let Some(stream) = self
            .0
            .as_ref()
            .filter(|stream| !stream.abandoned.load(Ordering::Relaxed))
        else {
            return;
        };
        let mut waiting = stream.waiting.lock();
        match &stream.cut {
            None if waiting.is_too_much_with(&frame) => {
                tracing::debug!("a notification was dropped: the client reads too slowly");
                return;
            }
            Some(cut) if waiting.is_too_much_with(&frame) => {
                tracing::debug!("a client was given up: it reads too slowly");
                stream.abandon(&mut waiting);
                cut.cancel();
                return;
            }
            _ => waiting.bytes += frame.len(),
        }
        waiting.frames.push_back(frame);
        drop(waiting);
        stream.news.notify_one();
    }
}

impl ClientReceiver {
    /// The next frame; waits for ever if none comes. Cancel-safe.
    pub async fn next(&self) -> Bytes {
        loop {
            if let Some(frame) = self.take() {
                return frame;
            }
            self.0.news.notified().await;
        }
    }

    /// Puts a frame back that was taken too early.
    pub fn put_back(&self, frame: Bytes) {
        let mut waiting = self.0.waiting.lock();
        waiting.bytes += frame.len();
        waiting.frames.push_front(frame);
        drop(waiting);
        self.0.news.notify_one();
    }

    /// A frame that waits already.
    pub fn take(&self) -> Option<Bytes> {
        let mut waiting = self.0.waiting.lock();
        let frame = waiting.frames.pop_front()?;
        waiting.bytes -= frame.len();
        Some(frame)
    }
}

impl Waiting {
    /// One frame always finds room, however large.
    fn is_too_much_with(&self, frame: &Bytes) -> bool {
        let full = self.frames.len() >= WAITING || self.bytes + frame.len() > WAITING_BYTES;
        full && !self.frames.is_empty()
    }
}

impl ClientStream {
    /// Nobody will read what waits, or what comes later.
    fn abandon(&self, waiting: &mut Waiting) {
        self.abandoned.store(true, Ordering::Relaxed);
        *waiting = Waiting::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_left_out_for_a_client_that_does_not_read() {
        let (to_client, receiver) = ClientSender::new();
        for n in 0..WAITING + 10 {
            to_client.send(Bytes::from(n.to_string()));
        }
        assert!(to_client.is_heard());
        let read = std::iter::from_fn(|| receiver.take());
        assert_eq!(
            read.last().as_deref(),
            Some((WAITING - 1).to_string().as_bytes())
        );
    }

    #[test]
    fn a_way_with_answers_is_cut_rather_than_left_with_gaps() {
        let check = |frames: usize, size: usize, whole: bool| {
            let cut = CancellationToken::new();
            let (to_client, receiver) = ClientSender::with_answers(cut.clone());
            for _ in 0..frames {
                to_client.send(Bytes::from(vec![b'x'; size]));
            }
            assert_eq!(cut.is_cancelled(), !whole, "{frames} of {size}");
            assert_eq!(to_client.is_heard(), whole);
            let read = std::iter::from_fn(|| receiver.take()).count();
            assert_eq!(read, if whole { frames } else { 0 });
        };
        check(WAITING, 1, true);
        check(WAITING + 1, 1, false);
        check(1, WAITING_BYTES + 1, true);
        check(2, WAITING_BYTES / 2, true);
        check(3, WAITING_BYTES / 2, false);
    }
}
