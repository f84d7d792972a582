//! One JSON-RPC message, parsed once and shallowly: its payload stays as it is.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    Id, MemberSpan, Raw, RpcError, check, method,
    raw::{FEW_MEMBERS, KNOWN_MEMBERS, json_fault},
    reader::Reader,
    scan::text_of,
};

/// A JSON-RPC 2.0 message with its payload untouched.
#[derive(Debug, Clone)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// An answer.
    Response(Response),
}

/// A message that wants an answer.
#[derive(Debug, Clone)]
pub struct Request {
    /// The sender's id.
    pub id: Id,
    /// The method.
    pub method: Box<str>,
    /// The params; absent and `null` are different things and both kept.
    pub params: Option<Raw>,
}

/// A message that wants no answer.
#[derive(Debug, Clone)]
pub struct Notification {
    /// The method.
    pub method: Box<str>,
    /// The params.
    pub params: Option<Raw>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// The id of the request; `None` where the other side could not read it.
    pub id: Option<Id>,
    /// What became of the request.
    pub outcome: Outcome,
}

/// What became of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The `result`.
    Result(Raw),
    /// The `error` object.
    Error(Raw),
}

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Not JSON at all.
    #[error("{}", json_fault(.0))]
    NotJson(serde_json::Error),
    /// JSON, but no message of JSON-RPC 2.0.
    #[error("{0}")]
    NotAMessage(Cow<'static, str>),
    /// A request without the id that its answer would bear: nobody waits for that.
    #[error("\"id\" is missing; only methods under notifications/ go without one")]
    NoId,
    /// A message without its version, or that its receivers may not be able to read: why, and the id of it that waits for an answer.
    #[error("the message {0}")]
    Unreadable(&'static str, Option<Id>),
}

impl FrameError {
    /// The JSON-RPC error to answer with.
    pub fn to_rpc_error(&self) -> RpcError {
        match self {
            Self::NotJson(error) if (error.line(), error.column()) == (1, 0) => {
                RpcError::parse_error("the message is empty")
            }
            Self::NotJson(error) => RpcError::parse_error(json_fault(error)),
            Self::NotAMessage(why) => RpcError::invalid_request(why),
            Self::NoId | Self::Unreadable(..) => RpcError::invalid_request(self.to_string()),
        }
    }

    /// Whose answer that is: without it a client on a pipe would wait for its answer for ever.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Unreadable(_, id) => id.as_ref(),
            Self::NotJson(_) | Self::NotAMessage(_) | Self::NoId => None,
        }
    }
}

/// The members of a message that have a meaning, each as it is written.
#[derive(Default, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a [u8]>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a [u8]>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a [u8]>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a [u8]>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a [u8]>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a [u8]>,
    /// The members of the params, or of the result, where they were found on the way.
    #[serde(skip)]
    inner: Option<Vec<MemberSpan>>,
    /// Whether it was found on the way that servers can read it.
    #[serde(skip)]
    is_readable: bool,
}

/// A member that is there, `null` included.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(d: D) -> Result<Option<&'a [u8]>, D::Error> {
    let value = <&'a RawValue>::deserialize(d)?;
    Ok(Some(value.get().as_bytes()))
}

impl Message {
    /// Reads one message, which nests no deeper than clients can read. Does not ask for `"jsonrpc": "2.0"`, which some upstreams forget.
    pub fn parse(frame: &Bytes) -> Result<Self, FrameError> {
        let envelope = Envelope::read(frame)?;
        // What was read in one pass nests less.
        if !envelope.is_readable
            && let Some(why) = check::why_too_deep(frame)
        {
            return Err(FrameError::Unreadable(why, None));
        }
        Self::of(frame, envelope)
    }

    fn of(frame: &Bytes, envelope: Envelope<'_>) -> Result<Self, FrameError> {
        let id = envelope.id(frame);
        let raw = |value: &[u8]| Raw::trusted(frame.slice_ref(value));
        let inner = envelope.inner;
        let object = |value: &[u8]| match inner {
            Some(members) => Raw::with_members(frame.slice_ref(value), members),
            None => raw(value),
        };
        if let Some(method) = envelope.method {
            let method = text_of(method).ok_or(not_a_message("\"method\" is not a string"))?;
            let method = method.into_boxed_str();
            let params = envelope.params.map(object);
            if let (Some(_), Some(params)) = (&id, &params) {
                // A request's metadata are looked up at many places.
                params.remember_members();
            }
            return match (id, envelope.id) {
                (Some(id), _) => Ok(Self::Request(Request { id, method, params })),
                (None, None) => Ok(Self::Notification(Notification { method, params })),
                (None, Some(_)) => Err(not_a_message("\"id\" is neither a string nor a number")),
            };
        }
        // Some libraries write `null` for none.
        let error = envelope.error.filter(|error| *error != b"null");
        let outcome = match (envelope.result, error) {
            // Whoever passes it on looks into it: for a task, a question, an error.
            (Some(result), None) => Outcome::Result(object(result)),
            (_, Some(error)) => Outcome::Error(raw(error)),
            (None, None) => {
                return Err(not_a_message(
                    "the message has no \"method\", \"result\" or \"error\"",
                ));
            }
        };
        Ok(Self::Response(Response { id, outcome }))
    }
}

/// Limit: messages in a batch. Its members run at once, and a body has room for hundreds of thousands.
const MAX_BATCH: usize = 256;

/// Reads what a client sent: one message, or a batch of them (revision 2025-03-26, "Batching"). The flag says whether it was a
/// batch. Strict about `"jsonrpc": "2.0"`, about what servers can read and about which methods are those of notifications; a batch's
/// members fail one by one.
pub fn parse_client(body: &Bytes) -> Result<(Vec<Result<Message, FrameError>>, bool), FrameError> {
    if body.trim_ascii_start().first() != Some(&b'[') {
        // One parse, which also finds what is no JSON.
        return strict(body).map(|message| (vec![Ok(message)], false));
    }
    let whole = Raw::parse(body).map_err(|e| FrameError::NotJson(e.into_inner()))?;
    match whole.elements().take(MAX_BATCH + 1).count() {
        0 => Err(not_a_message("the batch is empty")),
        1..=MAX_BATCH => {
            let members = whole.elements().map(|element| strict(element.bytes()));
            Ok((members.collect(), true))
        }
        _ => Err(not_a_message("the batch has more than 256 messages")),
    }
}

fn strict(frame: &Bytes) -> Result<Message, FrameError> {
    let envelope = Envelope::read(frame)?;
    let is_other = envelope.jsonrpc.is_none_or(|version| version != b"\"2.0\"");
    let unreadable = (!envelope.is_readable).then(|| check::why_unreadable(frame));
    let other = is_other.then_some("has no \"jsonrpc\": \"2.0\"");
    if let Some(why) = unreadable.flatten().or(other) {
        let waiting = envelope.method.and_then(|_| envelope.id(frame));
        return Err(FrameError::Unreadable(why, waiting));
    }
    match Message::of(frame, envelope)? {
        // A server that gets it may do what it says, though nothing here counts or records what nobody is answered.
        Message::Notification(notice) if !method::is_of_notification(&notice.method) => {
            Err(FrameError::NoId)
        }
        message => Ok(message),
    }
}

impl<'a> Envelope<'a> {
    fn read(frame: &'a Bytes) -> Result<Self, FrameError> {
        match Self::read_at_once(frame) {
            Some(envelope) => Ok(envelope),
            None => Self::parse(frame),
        }
    }

    /// Reads what is usual in one pass; none of what is wrong or odd.
    fn read_at_once(frame: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::of(frame);
        let mut envelope = Self::default();
        let end = reader.members(reader.blanks(0), |reader, key, start| {
            let is_object = frame.get(start) == Some(&b'{');
            let end = match frame.get(key.clone())? {
                b"\"params\"" | b"\"result\"" if is_object && envelope.inner.is_none() => {
                    let members = envelope.inner.insert(Vec::with_capacity(FEW_MEMBERS));
                    reader.noted_members(start, members, KNOWN_MEMBERS + 1)?
                }
                b"\"params\"" | b"\"result\"" if is_object => return None,
                _ => reader.value(start)?,
            };
            let member = match frame.get(key)? {
                b"\"jsonrpc\"" => &mut envelope.jsonrpc,
                b"\"id\"" => &mut envelope.id,
                b"\"method\"" => &mut envelope.method,
                b"\"params\"" => &mut envelope.params,
                b"\"result\"" => &mut envelope.result,
                b"\"error\"" => &mut envelope.error,
                key => return (!key.contains(&b'\\')).then_some(end),
            };
            let earlier = member.replace(frame.get(start..end)?);
            earlier.is_none().then_some(end)
        })?;
        envelope.is_readable = !reader.has_lone_surrogate;
        (reader.blanks(end) == frame.len()).then_some(envelope)
    }

    fn parse(frame: &'a Bytes) -> Result<Self, FrameError> {
        // serde would accept an array as the members in order, and any bytes in members that it skips.
        let text = str::from_utf8(frame).ok();
        let object = text.filter(|text| text.trim_ascii_start().starts_with('{'));
        let Some(object) = object else {
            return match Raw::parse(frame) {
                Ok(_) => Err(not_a_message("the message is not an object")),
                Err(error) => Err(FrameError::NotJson(error.into_inner())),
            };
        };
        serde_json::from_str(object).map_err(|error| {
            if error.is_data() {
                FrameError::NotAMessage(json_fault(&error).into())
            } else {
                FrameError::NotJson(error)
            }
        })
    }

    fn id(&self, frame: &Bytes) -> Option<Id> {
        Id::of(frame, self.id?)
    }
}

fn not_a_message(why: &'static str) -> FrameError {
    FrameError::NotAMessage(why.into())
}

#[cfg(test)]
mod tests;
