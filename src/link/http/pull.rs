//! The answer to one request, pulled message by message by its reader. A stream that is cut is resumed here.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Response;

use super::{server::HttpShared, session::HttpSession};
use crate::{
    link::{
        Incoming, LinkError, TOO_LARGE,
        remote::{End, Events, Posted, Reply, ServerBody, Whole, answers, linger},
    },
    wire::{Id, Message, Raw, Response as Answer},
};

/// How often a stream is resumed in vain before it counts as lost.
const TRIES: u32 = 3;

/// How long to wait before resuming where the server does not say.
const RETRY: Duration = Duration::from_secs(1);

/// The shortest and the longest wait that a server can ask for.
const MIN_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_mins(1);

/// How long a server may take to begin a resumed stream.
const RESUME: Duration = Duration::from_secs(30);

/// The responses to one request.
pub(super) struct Pull {
    shared: Arc<HttpShared>,
    id: Id,
    /// The session in which the request was sent.
    session: Arc<HttpSession>,
    state: State,
    /// Messages of a batch (revision 2025-03-26) that were not given out yet.
    queued: VecDeque<Bytes>,
    /// How often the stream was resumed since it last brought something.
    tries: u32,
}

enum State {
    Reading(Reply),
    /// A message that was read already.
    Read(Bytes),
    Resuming(Resuming),
    /// Nothing will come.
    Over,
}

/// A stream that was cut, on its way back. The work is kept here, so that a reader who stops waiting does not undo it.
struct Resuming {
    work: Pin<Box<dyn Future<Output = Result<Response<ServerBody>, LinkError>> + Send>>,
    why: String,
    after: Bytes,
    retry: Duration,
}

impl Pull {
    /// What a response to the request `id` turned out to be: something to read from, or a refusal. A refusal in the form of an
    /// answer to this request is one.
    pub(super) fn of(
        shared: &Arc<HttpShared>,
        id: &Id,
        session: Arc<HttpSession>,
        posted: Posted,
    ) -> Result<Self, LinkError> {
        let state = match posted {
            Posted::Accepted(response) => State::Reading(Reply::of(response)),
            Posted::Refused(refusal) if refusal.is_answer_to(id) => State::Read(refusal.body),
            Posted::Refused(refusal) => return Err(refusal.into_error()),
        };
        Ok(Self {
            shared: shared.clone(),
            id: id.clone(),
            session,
            state,
            queued: VecDeque::new(),
            tries: 0,
        })
    }

    /// Whether the request was stateless.
    pub(super) fn is_stateless(&self) -> bool {
        self.session.is_stateless()
    }

    /// The next message; the answer is the last. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Incoming, LinkError> {
        loop {
            let frame = match self.queued.pop_front() {
                Some(frame) => frame,
                None => self.frame().await?,
            };
            if frame.trim_ascii_start().first() == Some(&b'[') {
                let batch = Raw::parse(&frame).map_err(|error| self.broken(error.to_string()))?;
                self.queued
                    .extend(batch.elements().map(|e| e.bytes().clone()));
                continue;
            }
            return match Message::parse(&frame) {
                Ok(Message::Notification(notice)) => {
                    self.note_beside(&frame);
                    Ok(Incoming::Notice(notice))
                }
                Ok(Message::Request(question)) => {
                    self.note_beside(&frame);
                    Ok(Incoming::Question(question))
                }
                Ok(Message::Response(answer)) => self.answer(answer),
                Err(error) => Err(self.broken(error.to_string())),
            };
        }
    }

    fn note_beside(&mut self, frame: &Bytes) {
        if let State::Reading(Reply::Events(events)) = &mut self.state {
            events.note_beside(frame);
        }
    }

    fn answer(&mut self, answer: Answer) -> Result<Incoming, LinkError> {
        if !answers(&answer, &self.id) {
            return Err(self.broken("it has the id of another request".to_owned()));
        }
        if let State::Reading(Reply::Events(events)) =
            std::mem::replace(&mut self.state, State::Over)
            && let Some(rest) = linger(events.into_body())
        {
            self.shared.tasks.spawn(rest);
        }
        Ok(Incoming::Answer(answer.outcome))
    }

    /// Gives the request up, and its connection with it.
    fn broken(&mut self, why: String) -> LinkError {
        self.state = State::Over;
        LinkError::Broken(why)
    }

    async fn frame(&mut self) -> Result<Bytes, LinkError> {
        loop {
            match &mut self.state {
                State::Over => {
                    return Err(LinkError::Broken("the body contained no answer".to_owned()));
                }
                State::Read(frame) => {
                    let frame = std::mem::take(frame);
                    self.state = State::Over;
                    return Ok(frame);
                }
                State::Reading(Reply::Whole(body)) => {
                    let read = read_whole(body).await;
                    self.state = State::Over;
                    return read;
                }
                State::Reading(Reply::Events(events)) => match events.next().await {
                    Ok(frame) => return Ok(frame),
                    Err(End::TooLarge) => return Err(self.broken(TOO_LARGE.to_owned())),
                    Err(End::Cut(why)) => self.cut(why)?,
                },
                State::Resuming(resuming) => {
                    let response = resuming.work.as_mut().await;
                    self.resumed(response)?;
                }
            }
        }
    }

    /// The stream has ended early: the rest waits on a GET, if the server marks its events.
    fn cut(&mut self, why: String) -> Result<(), LinkError> {
        let State::Reading(Reply::Events(events)) = &self.state else {
            return Ok(());
        };
        if events.has_moved() {
            self.tries = 0;
        }
        match (self.session.has_id(), events.last_id().cloned()) {
            (true, Some(after)) => {
                let retry = events.retry().unwrap_or(RETRY);
                self.resume(why, after, retry.clamp(MIN_RETRY, MAX_RETRY))
            }
            _ => self.lose(why),
        }
    }

    fn resume(&mut self, why: String, after: Bytes, retry: Duration) -> Result<(), LinkError> {
        if self.tries == TRIES {
            return self.lose(why);
        }
        self.tries += 1;
        let (shared, session, from) = (self.shared.clone(), self.session.clone(), after.clone());
        let work = Box::pin(async move {
            tokio::time::sleep(retry).await;
            let get = shared.server.get(&session, Some(&from));
            match tokio::time::timeout(RESUME, get).await {
                Ok(response) => response,
                Err(_) => Err(LinkError::Lost("resuming took longer than 30 s".to_owned())),
            }
        });
        self.state = State::Resuming(Resuming {
            work,
            why,
            after,
            retry,
        });
        Ok(())
    }

    fn resumed(
        &mut self,
        response: Result<Response<ServerBody>, LinkError>,
    ) -> Result<(), LinkError> {
        let State::Resuming(resuming) = std::mem::replace(&mut self.state, State::Over) else {
            return Ok(());
        };
        match response {
            Ok(response) if response.status().is_success() => {
                let events = Events::of(response, Some(resuming.after));
                let events = Box::new(events.with_retry(resuming.retry));
                self.state = State::Reading(Reply::Events(events));
                Ok(())
            }
            Ok(response) if response.status().is_server_error() => {
                self.resume(resuming.why, resuming.after, resuming.retry)
            }
            Ok(_) => self.lose(resuming.why),
            Err(_) => self.resume(resuming.why, resuming.after, resuming.retry),
        }
    }

    fn lose(&mut self, why: String) -> Result<(), LinkError> {
        self.state = State::Over;
        Err(LinkError::Lost(why))
    }
}

async fn read_whole(body: &mut Whole) -> Result<Bytes, LinkError> {
    let text = match body.read().await {
        Ok(text) => text,
        Err(End::Cut(why)) => return Err(LinkError::Lost(why)),
        Err(End::TooLarge) => return Err(LinkError::Broken(TOO_LARGE.to_owned())),
    };
    match text.trim_ascii_start().first() {
        Some(b'{' | b'[') => Ok(text),
        Some(_) => Err(LinkError::Broken(body.no_message())),
        None => Err(LinkError::Broken("the body is empty".to_owned())),
    }
}
