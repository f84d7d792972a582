//! Requests that mcpproxy makes for no client: their params, which name mcpproxy where the revision requires that, and the wait for the
//! answer.

use std::fmt;

use crate::{
    link::{Exchange, Incoming, Link, LinkError, Maker},
    text::{Quoted, Secrets},
    upstream::calls::known_answer::known_answer,
    wire::{
        Edit, Outcome, Raw, Revision, RpcError, instance::IS_OURSELVES, meta, presentation, splice,
    },
};

/// The capabilities of mcpproxy: the questions that some client may answer, and the extensions that it passes through, so that servers list
/// what they have for clients with these.
const CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#;

/// The capabilities that mcpproxy declares.
pub(in crate::upstream) fn capabilities() -> Raw {
    Raw::parse_str(CAPABILITIES).expect("a constant that is JSON")
}

/// Params with these members, and with what a request must say in this revision.
pub(in crate::upstream) fn params(revision: Revision, members: &[(&str, Raw)]) -> Raw {
    params_of(revision, members, capabilities())
}

/// The same for a request about tasks, which only clients make that declare the extension for these.
pub(super) fn params_about_tasks(revision: Revision, members: &[(&str, Raw)]) -> Raw {
    let known = Edit::Set(Raw::empty_object());
    let tasks = [(presentation::TASKS_EXTENSION, known)];
    let capabilities = splice(&capabilities(), &[("extensions", Edit::Within(&tasks))]);
    params_of(revision, members, capabilities.expect("an object"))
}

fn params_of(revision: Revision, members: &[(&str, Raw)], capabilities: Raw) -> Raw {
    let of_us = [
        (meta::PROTOCOL_VERSION, Raw::author(&revision.as_str())),
        (meta::CLIENT_INFO, presentation::own_titled_implementation()),
        (meta::CLIENT_CAPABILITIES, capabilities),
    ]
    .map(|(key, value)| (key, Edit::Set(value)));
    let mut edits: Vec<_> = members
        .iter()
        .map(|(key, value)| (*key, Edit::Set(value.clone())))
        .collect();
    if revision.requests_name_sender() {
        edits.push((meta::META, Edit::Within(&of_us)));
    }
    splice(&Raw::empty_object(), &edits).expect("an object")
}

/// What a server's error says, as far as it can be read. As text it is for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upstream) struct ServerError {
    pub(super) code: Option<i64>,
    pub(super) message: Option<Quoted>,
}

impl ServerError {
    pub(super) fn read(error: &Raw, secrets: &Secrets) -> Self {
        let message = error.get("message").and_then(|message| message.string());
        let message = message.filter(|message| !message.trim().is_empty());
        Self {
            code: RpcError::code_in(error),
            message: message.map(|message| Quoted::of(message.as_bytes(), secrets)),
        }
    }

    /// What a client may read: nothing in the server's own words.
    pub(super) fn outside(&self) -> String {
        match self.code {
            Some(code) => format!("the error {code}"),
            None => "an error".to_owned(),
        }
    }

    /// Whether the server is this daemon, which refuses its own requests.
    pub(super) fn is_of_ourselves(&self) -> bool {
        let message = self.message.as_ref().map(Quoted::as_str);
        message == Some(IS_OURSELVES)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.message, self.code) {
            (Some(message), Some(code)) => write!(f, "{message} ({code})"),
            (Some(message), None) => write!(f, "{message}"),
            (None, Some(code)) => write!(f, "error {code}, without a message"),
            (None, None) => f.write_str("its error has neither code nor message"),
        }
    }
}

/// Sends a request and waits for the answer. Has no deadline of its own.
pub(in crate::upstream) async fn ask(
    link: &Link,
    method: &str,
    params: &Raw,
) -> Result<Outcome, LinkError> {
    answer(link, open(link, method, params).await?).await
}

/// The same for a request that the server may not know: if it is given up, the server gets no cancellation, and a late answer is dropped.
pub(in crate::upstream) async fn try_to_ask(
    link: &Link,
    method: &str,
    params: &Raw,
) -> Result<Outcome, LinkError> {
    let mut exchange = open(link, method, params).await?;
    exchange.leave_quietly();
    answer(link, exchange).await
}

async fn open(link: &Link, method: &str, params: &Raw) -> Result<Exchange, LinkError> {
    let number = link.next_number();
    link.call(number, method, Some(params), &[], Maker::Ourselves)
        .await
}

async fn answer(link: &Link, mut exchange: Exchange) -> Result<Outcome, LinkError> {
    loop {
        match exchange.next().await? {
            Incoming::Answer(outcome) => return Ok(outcome),
            Incoming::Notice(_) => (),
            Incoming::Question(question) => {
                // There is no client that could answer anything else.
                let outcome = known_answer(&question, &[]).unwrap_or_else(|| {
                    Outcome::Error(RpcError::method_not_found(&question.method).to_raw())
                });
                link.answer(&question.id, &outcome).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_stateless_where_there_was_no_handshake() {
        let legacy = params(Revision::NEWEST_LEGACY, &[("cursor", Raw::author(&"7"))]);
        assert_eq!(legacy.as_str(), r#"{"cursor":"7"}"#);
        for revision in Revision::without_handshake() {
            let made = params(revision, &[]);
            let meta = made.get(meta::META).expect("metadata");
            let version = meta.get(meta::PROTOCOL_VERSION).and_then(|v| v.string());
            assert_eq!(version.as_deref(), Some(revision.as_str()));
            let can = meta.get(meta::CLIENT_CAPABILITIES).expect("capabilities");
            assert!(can.get("elicitation").is_some() && can.get("tasks").is_none());
        }
    }
}
