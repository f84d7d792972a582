//! Responses whose status is no success, and what they mean for the request: an answer after all, a lost session, or neither.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};

use super::{ServerBody, Whole};
use crate::{
    link::LinkError,
    text::{Quoted, Secrets},
    wire::{Id, Message, Outcome, Response as Answer, RpcError, instance::INSTANCE},
};

/// Where in the body of a 400 the word is looked for.
const TEXT_WITHIN: usize = 4096;

/// What became of a message that was posted.
pub(crate) enum Posted {
    /// The server took it; what it says is in the response.
    Accepted(Response<ServerBody>),
    /// The server did not.
    Refused(HttpRefusal),
}

/// A response whose status is no success.
pub(crate) struct HttpRefusal {
    status: StatusCode,
    pub(crate) body: Bytes,
    /// What it says, in words for the operator.
    text: String,
    retry_after: Option<Duration>,
    /// It is our own.
    is_ours: bool,
}

/// How long a server may make us wait. What asks for more is tried again by then.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// `Retry-After` in seconds, which it mostly is; as a date it is passed over (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let seconds = seconds.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

impl HttpRefusal {
    /// Reads the rest of a response that is one. None of `secrets` shows in what is told of it.
    pub(super) async fn read(response: Response<ServerBody>, secrets: &Secrets) -> Self {
        let status = response.status();
        let target = response.headers().get(header::LOCATION).cloned();
        let retry_after = retry_after(response.headers());
        let is_ours =
            status == StatusCode::LOOP_DETECTED && response.headers().contains_key(INSTANCE);
        // The status is what counts: a body that cannot be read says nothing more.
        let body = Whole::of(response).read().await.unwrap_or_default();
        let text = match target.filter(|_| status.is_redirection()) {
            Some(target) => secrets.redacted(&redirected(&target)).into_owned(),
            None => excerpt(&body, secrets),
        };
        Self {
            status,
            body,
            text,
            retry_after,
            is_ours,
        }
    }

    /// Whether it is a JSON-RPC error for the request `id`: that is an answer, whatever the status. Only a missing login or
    /// permission, or a server that is ourselves, is for the operator, in whatever words it comes.
    pub(crate) fn is_answer_to(&self, id: &Id) -> bool {
        if self.is_ours || matches!(self.status.as_u16(), 401 | 403) {
            return false;
        }
        match Message::parse(&self.body) {
            Ok(Message::Response(answer)) => {
                matches!(&answer.outcome, Outcome::Error(error) if error.is_object())
                    && answers(&answer, id)
            }
            _ => false,
        }
    }

    /// Whether it says that the server does not know the session: 404, in older servers 400 with a word about it.
    pub(crate) fn means_no_session(&self) -> bool {
        match self.status {
            StatusCode::NOT_FOUND => !is_unknown_method(&self.body),
            StatusCode::BAD_REQUEST => {
                let beginning = self.body.get(..TEXT_WITHIN).unwrap_or(&self.body);
                memchr::memmem::find(&beginning.to_ascii_lowercase(), b"session").is_some()
            }
            _ => false,
        }
    }

    /// Its message, if it is the JSON-RPC error with this code.
    pub(crate) fn message_of(&self, wanted: i64) -> Option<String> {
        match Message::parse(&self.body) {
            Ok(Message::Response(Answer {
                outcome: Outcome::Error(error),
                ..
            })) if RpcError::code_in(&error) == Some(wanted) => {
                let message = error.get("message").and_then(|text| text.string());
                Some(message.unwrap_or_default())
            }
            _ => None,
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The refusal as an error.
    pub(crate) fn into_error(self) -> LinkError {
        if self.is_ours {
            return LinkError::Ourselves;
        }
        LinkError::Status {
            status: self.status.as_u16(),
            text: self.text,
            retry_after: self.retry_after,
        }
    }
}

/// Where a server that moved is now. Without user and query, which may hold secrets.
fn redirected(target: &HeaderValue) -> String {
    let target = target.to_str().ok().and_then(|t| t.parse::<Uri>().ok());
    let Some(target) = target else {
        return "it redirects, and mcpproxy does not follow redirects".to_owned();
    };
    let origin = match (target.scheme_str(), target.host(), target.port()) {
        (Some(scheme), Some(host), Some(port)) => format!("{scheme}://{host}:{port}"),
        (Some(scheme), Some(host), None) => format!("{scheme}://{host}"),
        _ => String::new(),
    };
    let path = target.path();
    format!("it redirects to {origin}{path}, and mcpproxy does not follow redirects")
}

/// Whether this is the answer to the request `id`. A server that could not read a request answers without id.
pub(crate) fn answers(answer: &Answer, id: &Id) -> bool {
    match (&answer.id, &answer.outcome) {
        (Some(theirs), _) => theirs == id,
        (None, Outcome::Error(error)) => error.is_object(),
        (None, Outcome::Result(_)) => false,
    }
}

/// A server that does not know a request's method has accepted the session.
fn is_unknown_method(body: &Bytes) -> bool {
    match Message::parse(body) {
        Ok(Message::Response(Answer {
            id: Some(_),
            outcome: Outcome::Error(error),
        })) => RpcError::code_in(&error) == Some(RpcError::METHOD_NOT_FOUND),
        _ => false,
    }
}

/// Where the title of an error page is looked for.
const TITLE_WITHIN: usize = 12_800;

/// What an operator gets to see of the body of a refusal: its beginning, or the title of a page that is meant for browsers.
fn excerpt(text: &[u8], secrets: &Secrets) -> String {
    let text = text.trim_ascii();
    match text.first() {
        None => String::new(),
        Some(b'<') => page(text, secrets),
        Some(_) => Quoted::of(text, secrets).to_string(),
    }
}

fn page(html: &[u8], secrets: &Secrets) -> String {
    let html = String::from_utf8_lossy(html.get(..TITLE_WITHIN).unwrap_or(html));
    let title = || {
        let (_, rest) = html.split_once("<title").or(html.split_once("<TITLE"))?;
        let (_, rest) = rest.split_once('>')?;
        let (title, _) = rest.split_once('<')?;
        (!title.trim().is_empty()).then(|| Quoted::of(title.as_bytes(), secrets))
    };
    let title = title().map(|title| format!(", {title}"));
    format!("an HTML page{}", title.unwrap_or_default())
}
