//! The stream of messages to a client: notifications and questions that belong to a request and go out before its answer.

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

use crate::runtime::{
    memory_budget::{MemoryBudget, MemoryShare},
    sync::Guarded,
};

/// Limit: frames that wait for a client that reads slowly, and their bytes. Further notifications are dropped, answers never. A client that
/// reads at all does not come near.
const WAITING: usize = 8192;
const WAITING_BYTES: usize = 64 << 20;

/// Waiting bytes that do not count in the memory budget.
const UNCOUNTED: usize = 64 << 10;

/// The sending end of a stream. Cheap to clone.
#[derive(Clone, Default)]
pub struct ClientSender(Option<Arc<ClientStream>>);

/// The receiving end, from which the transport writes to its client.
pub struct ClientReceiver(Arc<ClientStream>);

struct ClientStream {
    waiting: Guarded<Waiting>,
    news: Notify,
    abandoned: AtomicBool,
    /// Cancelled when too much waits on a stream that may drop nothing.
    cut: Option<CancellationToken>,
}

struct Waiting {
    frames: VecDeque<Bytes>,
    bytes: usize,
    memory: MemoryShare,
}

impl Drop for ClientReceiver {
    fn drop(&mut self) {
        self.0.abandon(&mut self.0.waiting.lock());
    }
}

impl ClientSender {
    /// Both ends. Waiting frames count in the budget.
    pub fn new(memory: &MemoryBudget) -> (Self, ClientReceiver) {
        Self::ends(memory, None)
    }

    /// Both ends of a stream that also carries answers and therefore drops nothing: when too much waits, the stream is given up and `cut` is
    /// cancelled.
    pub fn with_answers(memory: &MemoryBudget, cut: CancellationToken) -> (Self, ClientReceiver) {
        Self::ends(memory, Some(cut))
    }

    fn ends(memory: &MemoryBudget, cut: Option<CancellationToken>) -> (Self, ClientReceiver) {
        let waiting = Waiting {
            frames: VecDeque::new(),
            bytes: 0,
            memory: memory.share(),
        };
        let stream = Arc::new(ClientStream {
            waiting: Guarded::new(waiting),
            news: Notify::new(),
            abandoned: AtomicBool::new(false),
            cut,
        });
        (Self(Some(stream.clone())), ClientReceiver(stream))
    }

    /// An end without a stream, for callers that read nothing before the answer.
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Whether there is a stream.
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
            None if waiting.is_too_much_with(&frame) || !waiting.finds_memory_for(&frame) => {
                tracing::debug!("notification dropped: slow client");
                return;
            }
            Some(cut) if waiting.is_too_much_with(&frame) => {
                tracing::debug!("client dropped: it reads too slowly");
                stream.abandon(&mut waiting);
                cut.cancel();
                return;
            }
            _ => (),
        }
        waiting.push(frame, VecDeque::push_back);
        drop(waiting);
        stream.news.notify_one();
    }
}

impl ClientReceiver {
    /// Waits for the next frame. Cancel-safe.
    pub async fn next(&self) -> Bytes {
        loop {
            if let Some(frame) = self.take() {
                return frame;
            }
            self.0.news.notified().await;
        }
    }

    /// Puts back a frame that was taken too early.
    pub fn put_back(&self, frame: Bytes) {
        self.0.waiting.lock().push(frame, VecDeque::push_front);
        self.0.news.notify_one();
    }

    /// Takes a frame, if one waits.
    pub fn take(&self) -> Option<Bytes> {
        let mut waiting = self.0.waiting.lock();
        let frame = waiting.frames.pop_front()?;
        waiting.bytes -= frame.len();
        let counted = waiting.bytes.saturating_sub(UNCOUNTED);
        waiting.memory.hold(counted);
        Some(frame)
    }
}

impl Waiting {
    /// One frame always finds room, however large.
    fn is_too_much_with(&self, frame: &Bytes) -> bool {
        let full = self.frames.len() >= WAITING || self.bytes + frame.len() > WAITING_BYTES;
        full && !self.frames.is_empty()
    }

    /// Reserves memory for a frame. False if the budget has none left.
    fn finds_memory_for(&mut self, frame: &Bytes) -> bool {
        let counted = (self.bytes + frame.len()).saturating_sub(UNCOUNTED);
        let missing = counted.saturating_sub(self.memory.bytes());
        missing == 0 || self.frames.is_empty() || self.memory.try_grow(missing)
    }

    fn push(&mut self, frame: Bytes, push: fn(&mut VecDeque<Bytes>, Bytes)) {
        self.bytes += frame.len();
        self.memory.hold(self.bytes.saturating_sub(UNCOUNTED));
        push(&mut self.frames, frame);
    }
}

impl ClientStream {
    /// Gives up the stream, with all that waits.
    fn abandon(&self, waiting: &mut Waiting) {
        self.abandoned.store(true, Ordering::Relaxed);
        waiting.frames = VecDeque::new();
        waiting.bytes = 0;
        waiting.memory.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_left_out_for_a_client_that_does_not_read() {
        let (to_client, receiver) = ClientSender::new(&MemoryBudget::default());
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
            let (to_client, receiver) =
                ClientSender::with_answers(&MemoryBudget::default(), cut.clone());
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

    #[test]
    fn what_waits_for_clients_that_do_not_read_counts_in_the_budget() {
        let memory = MemoryBudget::of(2 * UNCOUNTED);
        let frame = || Bytes::from(vec![b'x'; UNCOUNTED]);
        let send = |to_client: &ClientSender| (0..5).for_each(|_| to_client.send(frame()));
        let waits = |receiver: &ClientReceiver| std::iter::from_fn(|| receiver.take()).count();
        let (first, its_end) = ClientSender::new(&memory);
        send(&first);
        assert!(memory.is_spent());
        let (second, other_end) = ClientSender::new(&memory);
        send(&second);
        assert_eq!(waits(&other_end), 1, "a little needs no place");
        let (answers, answers_end) = ClientSender::with_answers(&memory, CancellationToken::new());
        send(&answers);
        assert_eq!(waits(&answers_end), 5, "answers are never left out");
        assert_eq!(waits(&its_end), 3);
        assert!(memory.share().try_grow(2 * UNCOUNTED), "all is given back");
    }
}
