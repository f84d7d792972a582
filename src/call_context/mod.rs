//! One request in flight: on whose behalf it runs, which revision its answer must speak, the way back for what comes before the
//! answer, and the way to ask its client something.

mod client_stream;
mod questions;
mod session;

use std::sync::Arc;

pub use self::{
    client_stream::{ClientReceiver, ClientSender},
    questions::{Questions, Unasked},
    session::ClientSession,
};
use crate::{
    access::Caller,
    wire::{LogLevel, Outcome, Raw, Revision, bridge::Sender, method},
};

/// Travels with a request from the face that took it to the link that carries it.
#[derive(Clone)]
pub struct CallContext {
    /// Who asks.
    pub caller: Caller,
    /// What the client speaks.
    pub revision: Revision,
    /// What the client said of itself.
    pub client: Arc<Client>,
    /// The log lines that the client wants to see; of a legacy client that never said, all that its servers send.
    pub log_level: Option<LogLevel>,
    /// Where notifications about this request go.
    pub to_client: ClientSender,
    /// The questions that this client can be asked on the way back; none where it cannot answer.
    pub questions: Option<Questions>,
    /// By what the client is told from others, if it can be: its legacy session, or the connection that it has to itself.
    pub session: Option<ClientSession>,
}

/// What a client said of itself. Detached: it outlives the frame that it came in.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its name and version.
    pub info: Raw,
    /// What it can do.
    pub capabilities: Raw,
}

impl CallContext {
    /// For a request that nobody can be told or asked anything about before the answer: of the operator, for example.
    pub fn alone(caller: Caller) -> Self {
        Self {
            caller,
            revision: Revision::NEWEST_LEGACY,
            client: Arc::default(),
            log_level: None,
            to_client: ClientSender::nowhere(),
            questions: None,
            session: None,
        }
    }

    /// The client as upstreams hear of it.
    pub fn sender(&self) -> Sender<'_> {
        Sender {
            revision: self.revision,
            client: &self.client.info,
            capabilities: &self.client.capabilities,
            log_level: self.log_level,
        }
    }

    /// Asks the client something on the stream of this request, and waits for its answer. Dropping the future withdraws the
    /// question.
    pub async fn ask(&self, method: &str, params: Option<&Raw>) -> Result<Outcome, Unasked> {
        if !self.client.can_answer(method, params) {
            return Err(Unasked::Unable);
        }
        match &self.questions {
            Some(questions) if self.to_client.is_heard() => {
                questions.ask(&self.to_client, method, params).await
            }
            _ => Err(Unasked::NoWay),
        }
    }
}

impl Default for Client {
    /// One that said nothing.
    fn default() -> Self {
        Self {
            info: Raw::empty_object(),
            capabilities: Raw::empty_object(),
        }
    }
}

impl Client {
    /// A client of this name with these capabilities.
    pub fn new(info: &Raw, capabilities: &Raw) -> Self {
        Self {
            info: info.detached(),
            capabilities: capabilities.detached(),
        }
    }

    /// Whether it declared what this question takes.
    pub fn can_answer(&self, method: &str, params: Option<&Raw>) -> bool {
        let Some(capability) = capability_for(method) else {
            // What we do not know is the client's to refuse.
            return true;
        };
        let is_there = |value: &Raw| !value.is_null() && value.as_bytes() != b"false";
        let Some(declared) = self.capabilities.get(capability).filter(is_there) else {
            return false;
        };
        let mode = params.and_then(|params| params.get("mode")?.string());
        // Forms are what elicitation began with; pages have to be declared.
        mode.as_deref() != Some("url") || declared.get("url").is_some_and(|url| is_there(&url))
    }
}

/// The capability that a question of this method takes of a client.
pub fn capability_for(method: &str) -> Option<&'static str> {
    match method {
        method::SAMPLING => Some("sampling"),
        method::ELICITATION => Some("elicitation"),
        method::ROOTS_LIST => Some("roots"),
        _ => None,
    }
}
