//! What has arrived for one request in flight: the reader of a connection puts it in, the caller takes it out. Bounded, so that a caller
//! who reads slowly costs nobody else.

use std::collections::VecDeque;

use tokio::sync::Notify;

use super::{Incoming, LinkError, owner::Unattributed};
use crate::{runtime::sync::Guarded, wire::Request};

/// Limit: messages that one request may have waiting for its caller. A caller that reads slower loses notices, never the answer,
/// and never slows the reader down for others.
pub(super) const WAITING: usize = 8192;

/// Limit: their bytes. One alone may be larger.
pub(super) const WAITING_BYTES: usize = 16 << 20;

/// Limit: the same for a request that is parked, because nobody reads them until its client calls again.
pub(super) const PARKED: usize = 256;
pub(super) const PARKED_BYTES: usize = 256 << 10;

/// Limit: questions among them. A server that asks more is refused.
pub(super) const WAITING_QUESTIONS: usize = 16;

/// What has arrived for one request and was not read yet.
#[derive(Default)]
pub(super) struct Slot {
    arrived: Guarded<Arrived>,
    news: Notify,
}

#[derive(Default)]
struct Arrived {
    messages: VecDeque<Result<Incoming, LinkError>>,
    /// What the notices among them hold.
    bytes: usize,
    /// Nobody reads for a while.
    parked: bool,
    /// Nobody will read any more.
    closed: bool,
}

impl Arrived {
    /// Whether there is no room for a notice of this size.
    fn is_full(&self, size: usize) -> bool {
        let (messages, bytes) = if self.parked {
            (PARKED, PARKED_BYTES)
        } else {
            (WAITING, WAITING_BYTES)
        };
        let first_fits = self.bytes == 0 && !self.parked;
        self.messages.len() >= messages || (!first_fits && self.bytes + size > bytes)
    }
}

impl Slot {
    pub(super) fn push(&self, message: Result<Incoming, LinkError>) {
        let size = size_of_notice(&message);
        let mut arrived = self.arrived.lock();
        if matches!(message, Ok(Incoming::Notice(_))) && arrived.is_full(size) {
            tracing::debug!("notice dropped: slow client");
            return;
        }
        arrived.bytes += size;
        arrived.messages.push_back(message);
        drop(arrived);
        self.news.notify_one();
    }

    pub(super) fn push_question(&self, question: Request) -> Result<(), Unattributed> {
        let mut arrived = self.arrived.lock();
        if arrived.closed {
            return Err(Unattributed::NoCall);
        }
        let is_question = |message: &&_| matches!(message, Ok(Incoming::Question(_)));
        if arrived.messages.iter().filter(is_question).count() >= WAITING_QUESTIONS {
            return Err(Unattributed::TooMany);
        }
        arrived.messages.push_back(Ok(Incoming::Question(question)));
        drop(arrived);
        self.news.notify_one();
        Ok(())
    }

    /// Nobody reads for a while, or from now on somebody does again.
    pub(super) fn set_parked(&self, parked: bool) {
        self.arrived.lock().parked = parked;
    }

    /// Whether nobody reads for a while.
    pub(super) fn is_parked(&self) -> bool {
        self.arrived.lock().parked
    }

    /// Whether nobody will read any more.
    pub(super) fn is_closed(&self) -> bool {
        self.arrived.lock().closed
    }

    /// Takes out the questions that nobody has read. From now on it takes no more.
    pub(super) fn close(&self) -> Vec<Request> {
        let mut arrived = self.arrived.lock();
        arrived.closed = true;
        let messages = std::mem::take(&mut arrived.messages);
        drop(arrived);
        let question = |message| match message {
            Ok(Incoming::Question(question)) => Some(question),
            _ => None,
        };
        messages.into_iter().filter_map(question).collect()
    }

    /// Returns when something has arrived.
    pub(super) async fn stirred(&self) {
        while self.arrived.lock().messages.is_empty() {
            self.news.notified().await;
        }
    }

    /// The failure that has arrived before anything else, if one has.
    pub(super) fn failure(&self) -> Option<LinkError> {
        let mut arrived = self.arrived.lock();
        match arrived.messages.pop_front()? {
            Err(error) => Some(error),
            message => {
                arrived.messages.push_front(message);
                None
            }
        }
    }

    pub(super) fn take(&self) -> Option<Result<Incoming, LinkError>> {
        let mut arrived = self.arrived.lock();
        let message = arrived.messages.pop_front()?;
        arrived.bytes -= size_of_notice(&message);
        Some(message)
    }

    /// The next message. Cancel-safe.
    pub(super) async fn next(&self) -> Result<Incoming, LinkError> {
        loop {
            match self.take() {
                Some(message) => return message,
                None => self.news.notified().await,
            }
        }
    }
}

fn size_of_notice(message: &Result<Incoming, LinkError>) -> usize {
    match message {
        Ok(Incoming::Notice(notice)) => {
            notice.method.len() + notice.params.as_ref().map_or(0, |p| p.as_bytes().len())
        }
        _ => 0,
    }
}
