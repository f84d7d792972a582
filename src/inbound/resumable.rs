//! One event stream that a client can take up again where it broke off (Streamable HTTP, "Resumability and Redelivery"). Its events are
//! kept for a while under numbers; a reader names the last one that it got. Knows no HTTP.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    event_id::{self, StreamOf},
    sse_event,
};
use crate::runtime::{
    memory_budget::{MemoryBudget, MemoryShare},
    sync::Guarded,
};

/// How long a request goes on for a client that has lost its stream and does not come back for it.
const GRACE: Duration = Duration::from_mins(2);

/// How long the end of a stream is kept for a client that may not have got it.
const KEPT: Duration = Duration::from_mins(1);

/// Limit: events that are kept for a client that is not there, or that has read them.
const EVENTS: usize = 512;

/// Limit: their bytes. The last event alone may be larger, until it was read and nothing more comes.
const BYTES: usize = 4 << 20;

/// Limit: the same while the budget is spent; and so many need no place in it.
const BYTES_IN_NEED: usize = 64 << 10;

/// Limit: events that a client who is there has yet to read before no more are taken in.
const UNREAD: u64 = 64;

/// How long a client waits before it comes back, in milliseconds.
const RETRY: u64 = 1_000;

/// A stream. One task writes it, and one client reads it, over one connection at a time.
pub(super) struct Resumable {
    /// Stands in the ids of its events, and cannot be guessed.
    id: Box<str>,
    log: Guarded<Log>,
    stirred: watch::Sender<()>,
}

struct Log {
    events: VecDeque<Bytes>,
    bytes: usize,
    /// What they hold of the budget.
    memory: MemoryShare,
    /// The number of the first that is kept.
    first: u64,
    /// The number of the next that is to be read.
    next: u64,
    /// Nothing more will come.
    over: bool,
    /// The reader that counts. Another one takes its place.
    reader: u64,
    /// Since when nobody reads.
    left: Option<Instant>,
    /// Since when everything was read that there will be.
    finished: Option<Instant>,
    /// The client has seen an id, so it can come back.
    named: bool,
}

impl Log {
    fn end(&self) -> u64 {
        self.first + u64::try_from(self.events.len()).unwrap_or(u64::MAX)
    }

    /// When a client that is not there is not waited for any longer; at once if it cannot come back.
    fn given_up_at(&self) -> Option<Instant> {
        let grace = if self.named { GRACE } else { Duration::ZERO };
        self.left.map(|left| left + grace)
    }

    /// Leaves out what a bound does not allow, and counts the rest. Nothing of what a client who is there has yet to read.
    fn trim(&mut self) {
        let in_need = self.memory.is_spent();
        let bytes = if in_need { BYTES_IN_NEED } else { BYTES };
        let fits = |log: &Self| log.events.len() <= EVENTS && log.bytes <= bytes;
        while !fits(self) && self.events.len() > 1 {
            if self.first == self.next && self.left.is_none() {
                break;
            }
            if let Some(event) = self.events.pop_front() {
                self.bytes -= event.len();
                self.first += 1;
                self.next = self.next.max(self.first);
            }
        }
        self.memory.hold(self.bytes.saturating_sub(BYTES_IN_NEED));
    }

    /// A client that got all of a large answer does not come back for it.
    fn let_go_of_large(&mut self) {
        while self.bytes > BYTES
            && let Some(event) = self.events.pop_front()
        {
            self.bytes -= event.len();
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        self.memory.hold(self.bytes.saturating_sub(BYTES_IN_NEED));
    }

    /// Whether a client who is there has yet to read as much as is kept for it.
    fn is_full(&self) -> bool {
        let unread = self.first == self.next && self.events.len() > 1;
        self.end() - self.next >= UNREAD || (unread && self.bytes > BYTES)
    }
}

impl Resumable {
    /// A stream that nobody reads yet.
    pub(super) fn new(memory: &MemoryBudget, of: &StreamOf) -> Self {
        Self {
            id: event_id::new_stream(of),
            log: Guarded::new(Log {
                events: VecDeque::new(),
                bytes: 0,
                memory: memory.share(),
                first: 1,
                next: 1,
                over: false,
                reader: 0,
                left: Some(Instant::now()),
                finished: None,
                named: false,
            }),
            stirred: watch::Sender::new(()),
        }
    }

    /// The number of an event of this stream.
    pub(super) fn number(&self, event_id: &str) -> Option<u64> {
        let (stream, number) = event_id::parts(event_id)?;
        (stream == &*self.id && number < self.log.lock().end()).then_some(number)
    }

    /// Reads on after this event, in place of the present reader.
    pub(super) fn read_after(self: &Arc<Self>, number: u64) -> ResumableReader {
        let mut log = self.log.lock();
        log.reader += 1;
        log.next = (number + 1).clamp(log.first, log.end());
        (log.left, log.finished) = (None, None);
        let reader = log.reader;
        drop(log);
        self.stirred.send_replace(());
        ResumableReader {
            of: self.clone(),
            number: reader,
            stirred: self.stirred.subscribe(),
        }
    }

    /// What gives the client an id before anything happens.
    pub(super) fn priming(&self) -> Bytes {
        self.log.lock().named = true;
        format!("id: {}-0\nretry: {RETRY}\ndata: \n\n", self.id).into()
    }

    /// Whether a client is there.
    pub(super) fn is_read(&self) -> bool {
        self.log.lock().left.is_none()
    }

    /// Whether no client will request it any more.
    pub(super) fn is_of_no_use(&self, now: Instant) -> bool {
        let log = self.log.lock();
        let since = |at: Option<Instant>, time| at.is_some_and(|at| now.duration_since(at) >= time);
        log.over && (since(log.finished, KEPT) || since(log.left, GRACE))
    }

    /// Its bytes, if nothing more will come.
    pub(super) fn bytes_if_over(&self) -> Option<usize> {
        let log = self.log.lock();
        log.over.then_some(log.bytes)
    }

    /// Returns when one more event can be taken in: a client who is there reads as fast as it can.
    pub(super) async fn room(&self) {
        let mut stirred = self.stirred.subscribe();
        loop {
            {
                let log = self.log.lock();
                if log.left.is_some() || !log.is_full() {
                    return;
                }
            }
            // The sender lives as long as we do.
            let _ = stirred.changed().await;
        }
    }

    /// Returns when nobody is there and nobody will be: not in time, or not before we end.
    pub(super) async fn given_up(&self, closing: &CancellationToken) {
        let mut stirred = self.stirred.subscribe();
        loop {
            let at = self.log.lock().given_up_at();
            let Some(at) = at else {
                let _ = stirred.changed().await;
                continue;
            };
            tokio::select! {
                _ = stirred.changed() => (),
                () = tokio::time::sleep_until(at.into()) => return,
                () = closing.cancelled() => return,
            }
        }
    }

    /// Adds one event.
    pub(super) fn push(&self, frame: Bytes) {
        let mut log = self.log.lock();
        log.bytes += frame.len();
        log.events.push_back(frame);
        log.trim();
        drop(log);
        self.stirred.send_replace(());
    }

    /// Nothing more will come.
    pub(super) fn end(&self) {
        self.log.lock().over = true;
        self.stirred.send_replace(());
    }
}

/// A client that is there, until this is dropped.
pub(super) struct ResumableReader {
    of: Arc<Resumable>,
    number: u64,
    stirred: watch::Receiver<()>,
}

impl ResumableReader {
    /// The next event, with its id; `None` at the end, or when another reader has come. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let next = {
                let mut log = self.of.log.lock();
                if log.reader != self.number {
                    return None;
                }
                let at = usize::try_from(log.next - log.first).unwrap_or(usize::MAX);
                let found = log.events.get(at).cloned();
                match &found {
                    Some(_) => {
                        log.next += 1;
                        log.named = true;
                        log.trim();
                    }
                    None if log.over => {
                        log.finished.get_or_insert_with(Instant::now);
                        log.let_go_of_large();
                        return None;
                    }
                    None => (),
                }
                found.map(|frame| (log.next - 1, frame))
            };
            if let Some((number, frame)) = next {
                self.of.stirred.send_replace(());
                let id = format!("id: {}-{number}\n", self.of.id);
                let mut text = BytesMut::from(id.as_bytes());
                text.extend_from_slice(&sse_event::event(&frame));
                return Some(text.freeze());
            }
            // The sender lives as long as we do.
            let _ = self.stirred.changed().await;
        }
    }
}

impl Drop for ResumableReader {
    fn drop(&mut self) {
        let mut log = self.of.log.lock();
        if log.reader == self.number {
            log.left = Some(Instant::now());
        }
        drop(log);
        self.of.stirred.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn with(count: usize, size: usize) -> Arc<Resumable> {
        let stream = Arc::new(Resumable::new(&MemoryBudget::default(), &StreamOf::Session));
        for _ in 0..count {
            stream.push(Bytes::from(vec![b'x'; size]));
        }
        stream
    }

    /// The numbers of what waits to be read.
    fn read(reader: &mut ResumableReader) -> Vec<u64> {
        let next = || reader.next().now_or_never().flatten();
        let number = |text: Bytes| {
            let text = String::from_utf8(text.to_vec()).expect("text");
            let id = text.lines().next().and_then(|line| line.rsplit('-').next());
            id.and_then(|id| id.parse().ok()).expect("an id")
        };
        std::iter::from_fn(next).map(number).collect()
    }

    #[test]
    fn a_client_reads_on_where_it_was() {
        let stream = with(3, 1);
        let mut reader = stream.read_after(0);
        assert_eq!(read(&mut reader), [1, 2, 3]);
        let mut again = stream.read_after(1);
        assert_eq!(read(&mut again), [2, 3]);
        assert!(
            matches!(reader.next().now_or_never(), Some(None)),
            "replaced"
        );
        drop(reader);
        assert!(stream.is_read(), "the other still reads");
        stream.end();
        assert!(matches!(again.next().now_or_never(), Some(None)));
        drop(again);
        assert!(!stream.is_read());
        assert!(!stream.is_of_no_use(Instant::now()));
        assert!(stream.is_of_no_use(Instant::now() + KEPT));
    }

    #[test]
    fn ids_lead_to_their_stream_only() {
        let (stream, other) = (with(2, 1), with(2, 1));
        let id = |number: u64| format!("{}-{number}", stream.id);
        assert_eq!(stream.number(&id(0)), Some(0));
        assert_eq!(stream.number(&id(2)), Some(2));
        assert_eq!(stream.number(&id(3)), None, "never sent");
        assert_eq!(other.number(&id(1)), None);
        assert_eq!(stream.number("nonsense"), None);
        assert_eq!(stream.number(""), None);
    }

    #[test]
    fn the_oldest_goes_first_and_the_last_stays() {
        let absent = with(EVENTS + 10, 1);
        let mut reader = absent.read_after(0);
        assert_eq!(read(&mut reader).len(), EVENTS);
        let large = with(3, BYTES);
        assert_eq!(read(&mut large.read_after(0)), [3]);
    }

    #[test]
    fn a_large_answer_is_let_go_when_it_was_read() {
        let memory = MemoryBudget::of(4 * BYTES);
        let stream = Arc::new(Resumable::new(&memory, &StreamOf::Session));
        stream.push(Bytes::from(vec![b'x'; 3 * BYTES]));
        let mut reader = stream.read_after(0);
        assert_eq!(read(&mut reader), [1]);
        stream.end();
        assert!(!memory.share().try_grow(2 * BYTES), "it may be lost yet");
        assert!(matches!(reader.next().now_or_never(), Some(None)));
        assert!(memory.share().try_grow(4 * BYTES), "all is given back");
        assert!(matches!(
            stream.read_after(0).next().now_or_never(),
            Some(None)
        ));
    }

    #[test]
    fn what_is_kept_counts_in_the_budget_and_is_little_when_that_is_spent() {
        let memory = MemoryBudget::of(BYTES_IN_NEED);
        let stream = Arc::new(Resumable::new(&memory, &StreamOf::Session));
        let event = || Bytes::from(vec![b'x'; BYTES_IN_NEED / 2]);
        (0..4).for_each(|_| stream.push(event()));
        assert!(memory.is_spent());
        (0..4).for_each(|_| stream.push(event()));
        let mut reader = stream.read_after(0);
        assert_eq!(read(&mut reader), [7, 8]);
        (0..4).for_each(|_| stream.push(event()));
        assert_eq!(
            read(&mut reader),
            [9, 10, 11, 12],
            "who is there loses nothing"
        );
        drop((reader, stream));
        assert!(memory.share().try_grow(BYTES_IN_NEED), "all is given back");
    }

    #[test]
    fn a_client_that_is_there_has_to_read_before_more_is_taken_in() {
        let stream = Arc::new(Resumable::new(&MemoryBudget::default(), &StreamOf::Session));
        let mut reader = stream.read_after(0);
        let large = || Bytes::from(vec![b'x'; BYTES]);
        stream.push(large());
        assert!(stream.room().now_or_never().is_some(), "one may be large");
        stream.push(large());
        assert!(stream.room().now_or_never().is_none());
        assert_eq!(read(&mut reader).len(), 2);
        assert!(stream.room().now_or_never().is_some());
    }

    #[test]
    fn who_is_there_loses_nothing() {
        let stream = Arc::new(Resumable::new(&MemoryBudget::default(), &StreamOf::Session));
        let mut reader = stream.read_after(0);
        for _ in 0..EVENTS * 2 {
            stream.push(Bytes::from_static(b"x"));
        }
        assert!(
            stream.room().now_or_never().is_none(),
            "it waits for the reader"
        );
        assert_eq!(read(&mut reader).len(), EVENTS * 2);
        assert!(stream.room().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_can_come_back_is_waited_for() {
        let closing = CancellationToken::new();
        let stream = Arc::new(Resumable::new(&MemoryBudget::default(), &StreamOf::Session));
        drop(stream.read_after(0));
        stream.given_up(&closing).await;
        let reader = stream.read_after(0);
        assert!(stream.given_up(&closing).now_or_never().is_none());
        stream.priming();
        drop(reader);
        assert!(stream.given_up(&closing).now_or_never().is_none());
        closing.cancel();
        stream.given_up(&closing).await;
    }
}
