//! Sorts what arrives on a connection that all requests share: to the request it belongs to, or to the worker. Knows no transport.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{LinkError, News, in_flight::RequestsInFlight};
use crate::{
    runtime::sync::Guarded,
    telemetry::log_throttle::LogThrottle,
    text::{Quoted, names::ServerName, secret::Secrets},
    wire::{Id, IdFinder, Message, Notification, Outcome, Raw, Response, meta, method},
};

/// Sorts the messages of one connection. What belongs to no request goes to the worker.
pub(super) struct Sorter {
    /// What has come that was no message.
    noise: Noise,
}

impl Sorter {
    pub(super) fn new(noise: Noise) -> Self {
        Self { noise }
    }

    /// Takes what should be one message. What is none is counted and passed over; what is broken fails the request whose id it
    /// bears. Whether it ended a request.
    pub(super) fn sort(&mut self, in_flight: &RequestsInFlight, text: &Bytes) -> bool {
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return false;
        }
        match Message::parse(&text.slice_ref(trimmed)) {
            Ok(message) => self.message(in_flight, message, trimmed),
            // Revision 2025-03-26 lets servers send several at once.
            Err(_) if trimmed.first() == Some(&b'[') => {
                self.batch(in_flight, &text.slice_ref(trimmed))
            }
            Err(error) if trimmed.first() == Some(&b'{') => {
                let mut finder = IdFinder::default();
                finder.feed(trimmed);
                let (id, why) = (finder.finish(), error.to_string());
                self.broken(in_flight, id.as_ref(), &why, trimmed)
            }
            Err(_) => self.pass_over(trimmed),
        }
    }

    fn batch(&mut self, in_flight: &RequestsInFlight, text: &Bytes) -> bool {
        let Ok(batch) = Raw::parse(text) else {
            return self.pass_over(text);
        };
        let mut has_ended = false;
        for element in batch.elements() {
            has_ended |= match Message::parse(element.bytes()) {
                Ok(message) => self.message(in_flight, message, element.as_bytes()),
                Err(_) => self.pass_over(element.as_bytes()),
            };
        }
        has_ended
    }

    fn pass_over(&self, text: &[u8]) -> bool {
        self.noise.note(text);
        false
    }

    /// Fails the request whose answer cannot be read, of which `text` came. Whether its id could be found.
    pub(super) fn broken(
        &self,
        in_flight: &RequestsInFlight,
        id: Option<&Id>,
        why: &str,
        text: &[u8],
    ) -> bool {
        let number = id.and_then(Id::our_number);
        match number {
            Some(number) => {
                let error = LinkError::Broken(why.to_owned());
                in_flight.finish(number, Err(error));
            }
            None => self.noise.note(text),
        }
        number.is_some()
    }

    /// Takes a message, of which this is the text.
    fn message(&mut self, in_flight: &RequestsInFlight, message: Message, text: &[u8]) -> bool {
        in_flight.news().note_heard();
        match message {
            Message::Response(Response {
                id: Some(id),
                outcome,
            }) => match id.our_number() {
                Some(number) => in_flight.finish(number, Ok(outcome)),
                None => self.pass_over(text),
            },
            Message::Response(Response {
                id: None,
                outcome: Outcome::Error(_),
            }) => self.unattributed_error(in_flight, text),
            // Whoever could answer has read the request, and its id.
            Message::Response(Response { id: None, .. }) => self.pass_over(text),
            Message::Notification(notice) => {
                Self::notice(in_flight, notice);
                false
            }
            Message::Request(question) => {
                in_flight.news().post(News::Question(question));
                false
            }
        }
    }

    /// Progress belongs to the request that its token names; what came of a subscription to that; news of lists and resources to the
    /// worker; log lines, and what we do not know, to the client whose connection this is.
    fn notice(in_flight: &RequestsInFlight, notice: Notification) {
        let number = match &*notice.method {
            method::PROGRESS => progress_token(&notice),
            _ => subscription_of(&notice).filter(|number| in_flight.is_listening(*number)),
        };
        let stranger = match number {
            Some(number) => in_flight.notice(number, notice),
            None => Err(notice),
        };
        let Err(notice) = stranger else { return };
        let unattributed = match &*notice.method {
            // Nobody waits for it any more.
            method::PROGRESS => return,
            method::TOOLS_CHANGED
            | method::PROMPTS_CHANGED
            | method::RESOURCES_CHANGED
            | method::RESOURCE_UPDATED => Err(notice),
            _ => in_flight.attribute_notice(notice),
        };
        if let Err(notice) = unattributed {
            in_flight.news().post(News::Notification(notice));
        }
    }

    /// The server could not read a request and does not say which. With one in flight it is that one.
    fn unattributed_error(&mut self, in_flight: &RequestsInFlight, text: &[u8]) -> bool {
        match in_flight.only() {
            Some(number) => {
                let error =
                    LinkError::Broken("the server rejected the request as unreadable".to_owned());
                in_flight.finish(number, Err(error))
            }
            None => self.pass_over(text),
        }
    }
}

/// The request that progress is of.
pub(super) fn progress_token(notice: &Notification) -> Option<u64> {
    let token = notice.params.as_ref()?.get("progressToken")?.string()?;
    token.strip_prefix('p')?.parse().ok()
}

/// The request of a subscription that a notification came of, or ends.
pub(super) fn subscription_of(notice: &Notification) -> Option<u64> {
    let params = notice.params.as_ref()?;
    let id = match &*notice.method {
        method::CANCELLED => params.get("requestId")?,
        _ => params.get(meta::META)?.get(meta::SUBSCRIPTION_ID)?,
    };
    Id::from_raw(&id)?.our_number()
}

// Anything on a connection that is no message of the protocol: text on the standard output of programs that do not keep it free,
// mostly. The first of it shows an operator what is wrong.

/// Counts what is no message, and keeps the first. Clones are the same.
#[derive(Clone, Default)]
pub struct Noise(Arc<Shared>);

#[derive(Default)]
struct Shared {
    server: String,
    secrets: Secrets,
    first: OnceLock<Quoted>,
    /// How many there were, and the beginning of the last.
    last: Guarded<(u64, Vec<u8>)>,
    limit: LogThrottle,
}

impl Noise {
    /// For a connection to the server of this name. What is shown does not contain any of `secrets`.
    pub fn new(server: &ServerName, secrets: Secrets) -> Self {
        Self(Arc::new(Shared {
            server: server.as_str().to_owned(),
            secrets,
            ..Shared::default()
        }))
    }

    /// The first line that was no message.
    pub fn first(&self) -> Option<&Quoted> {
        self.0.first.get()
    }

    /// How many lines were no message.
    pub(super) fn lines(&self) -> u64 {
        self.0.last.lock().0
    }

    /// The last line that was no message, if it is not among the first so many.
    pub(super) fn last_since(&self, lines: u64) -> Option<Quoted> {
        let last = self.0.last.lock();
        (last.0 > lines).then(|| Quoted::of(&last.1, &self.0.secrets))
    }

    /// What must not show in texts, should the server repeat it.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.0.secrets
    }

    /// Takes in what came.
    pub(super) fn note(&self, text: &[u8]) {
        let noise = &*self.0;
        let beginning = text.get(..Quoted::LOOKED_AT).unwrap_or(text);
        let mut last = noise.last.lock();
        *last = (last.0 + 1, beginning.to_vec());
        drop(last);
        let quoted = || Quoted::of(text, &noise.secrets);
        noise.first.get_or_init(quoted);
        if let Some(lines) = noise.limit.due() {
            let (server, line) = (&noise.server, quoted());
            let line = line.as_str();
            tracing::warn!(%server, lines, line, "server wrote lines to stdout that are not MCP");
        }
    }
}
