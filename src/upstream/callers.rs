//! Whose calls are in flight at one upstream, so that a question which belongs to no request can be given to whom it concerns: to
//! the only caller there is, or to nobody.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::{call_context::ClientSender, wire::Request};

/// A call that was withdrawn may go on upstream, and ask, for this long. After that the server has surely heard of it.
const GHOST: Duration = Duration::from_mins(1);

/// Limit: withdrawn calls that are remembered.
const GHOSTS: usize = 256;

/// Limit: questions that wait for one call. A server that asks more is refused.
const WAITING: usize = 16;

/// On whose behalf a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behalf {
    /// That of a client's session.
    Session(Arc<str>),
    /// That of nobody who could be told from others: such a call is a caller of its own.
    Itself,
}

impl Behalf {
    fn is_certainly(&self, other: &Self) -> bool {
        matches!(self, Self::Session(_)) && self == other
    }
}

/// The calls in flight at one upstream.
#[derive(Default)]
pub(super) struct Callers(Mutex<Table>);

#[derive(Default)]
struct Table {
    calls: BTreeMap<u64, Call>,
    /// Calls that were withdrawn, and until when they may still ask something.
    ghosts: Vec<(Behalf, Instant)>,
}

struct Call {
    behalf: Behalf,
    /// The way back to its client, where that may be asked beside the call.
    stream: ClientSender,
    waiting: Arc<Waiting>,
}

/// The questions that wait for one call.
#[derive(Default)]
pub(super) struct Waiting {
    questions: Mutex<VecDeque<Request>>,
    news: Notify,
}

/// Why a question was given to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unattributed {
    #[error("no call is in flight")]
    NoCall,
    #[error("several clients have calls in flight, and it does not say whom it concerns")]
    Several,
    #[error("it may belong to a call that was withdrawn")]
    Haunted,
    #[error("too many questions wait for an answer")]
    TooMany,
}

impl Callers {
    /// Notes a call that begins.
    pub(super) fn enter(&self, number: u64, behalf: Behalf, stream: ClientSender) -> Arc<Waiting> {
        let waiting = Arc::new(Waiting::default());
        let call = Call {
            behalf,
            stream,
            waiting: waiting.clone(),
        };
        lock(&self.0).calls.insert(number, call);
        waiting
    }

    /// The stream of the newest call whose client can be asked on it.
    pub(super) fn stream(&self) -> ClientSender {
        let table = lock(&self.0);
        let mut streams = table.calls.values().rev().map(|call| &call.stream);
        let heard = streams.find(|stream| stream.is_heard());
        heard.cloned().unwrap_or_else(ClientSender::nowhere)
    }

    /// Notes that a call was answered.
    pub(super) fn answered(&self, number: u64) {
        lock(&self.0).calls.remove(&number);
    }

    /// Notes that a call ended without an answer; nothing if it had one.
    pub(super) fn left(&self, number: u64, now: Instant) {
        let mut table = lock(&self.0);
        let Some(Call { behalf, .. }) = table.calls.remove(&number) else {
            return;
        };
        table.ghosts.retain(|(_, until)| now < *until);
        if table.ghosts.len() >= GHOSTS {
            table.ghosts.remove(0);
        }
        table.ghosts.push((behalf, now + GHOST));
    }

    /// A new connection knows nothing of the calls of the one before.
    pub(super) fn exorcise(&self) {
        lock(&self.0).ghosts.clear();
    }

    /// Gives a question to the newest call of the only caller there is.
    pub(super) fn attribute(&self, question: Request, now: Instant) -> Result<(), Unattributed> {
        let table = lock(&self.0);
        let mut calls = table.calls.values().rev();
        let Some(Call {
            behalf, waiting, ..
        }) = calls.next()
        else {
            return Err(Unattributed::NoCall);
        };
        if calls.any(|other| !behalf.is_certainly(&other.behalf)) {
            return Err(Unattributed::Several);
        }
        let mut ghosts = table.ghosts.iter();
        if ghosts.any(|(other, until)| now < *until && !behalf.is_certainly(other)) {
            return Err(Unattributed::Haunted);
        }
        waiting.push(question)
    }
}

impl Waiting {
    fn push(&self, question: Request) -> Result<(), Unattributed> {
        let mut questions = lock(&self.questions);
        if questions.len() >= WAITING {
            return Err(Unattributed::TooMany);
        }
        questions.push_back(question);
        drop(questions);
        self.news.notify_one();
        Ok(())
    }

    /// The next question; waits for ever if none comes. Safe to drop while it waits.
    pub(super) async fn next(&self) -> Request {
        loop {
            let question = lock(&self.questions).pop_front();
            match question {
                Some(question) => return question,
                None => self.news.notified().await,
            }
        }
    }
}

/// The data is whole between statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::wire::Id;

    fn question() -> Request {
        Request {
            id: Id::ours(1),
            method: "elicitation/create".into(),
            params: None,
        }
    }

    fn session(name: &str) -> Behalf {
        Behalf::Session(name.into())
    }

    fn enter(callers: &Callers, number: u64, name: &str) -> Arc<Waiting> {
        callers.enter(number, session(name), ClientSender::nowhere())
    }

    #[test]
    fn a_question_goes_to_the_only_caller() {
        let check = |behalves: &[Behalf], expected: Result<usize, Unattributed>| {
            let (callers, now) = (Callers::default(), Instant::now());
            let calls: Vec<_> = (0..)
                .zip(behalves)
                .map(|(number, behalf)| {
                    callers.enter(number, behalf.clone(), ClientSender::nowhere())
                })
                .collect();
            let given = callers.attribute(question(), now);
            let asked = calls
                .iter()
                .position(|call| call.next().now_or_never().is_some());
            assert_eq!(
                given.map(|()| asked.expect("a call")),
                expected,
                "{behalves:?}"
            );
        };
        check(&[], Err(Unattributed::NoCall));
        check(&[session("a")], Ok(0));
        check(&[session("a"), session("a")], Ok(1));
        check(&[session("a"), session("b")], Err(Unattributed::Several));
        check(&[Behalf::Itself], Ok(0));
        check(
            &[Behalf::Itself, Behalf::Itself],
            Err(Unattributed::Several),
        );
        check(&[session("a"), Behalf::Itself], Err(Unattributed::Several));
        check(&[Behalf::Itself, session("a")], Err(Unattributed::Several));
    }

    #[test]
    fn a_withdrawn_call_makes_questions_doubtful_for_a_while() {
        let (callers, now) = (Callers::default(), Instant::now());
        let _ = enter(&callers, 1, "a");
        callers.left(1, now);
        let _ = enter(&callers, 2, "a");
        assert_eq!(callers.attribute(question(), now), Ok(()), "its own");
        callers.answered(2);
        let _ = enter(&callers, 2, "b");
        let ask = |at| callers.attribute(question(), at);
        assert_eq!(ask(now), Err(Unattributed::Haunted));
        assert_eq!(ask(now + GHOST), Ok(()));
        callers.left(2, now);
        let _ = enter(&callers, 3, "b");
        callers.exorcise();
        assert_eq!(ask(now), Ok(()), "a new connection");
        callers.answered(3);
        callers.left(3, now);
        let _ = enter(&callers, 4, "c");
        assert_eq!(ask(now), Ok(()), "it was answered");
    }

    #[test]
    fn questions_to_one_call_are_bounded() {
        let (callers, now) = (Callers::default(), Instant::now());
        let _ = enter(&callers, 1, "a");
        let given = (0..=WAITING).map(|_| callers.attribute(question(), now));
        assert_eq!(given.last(), Some(Err(Unattributed::TooMany)));
    }
}
