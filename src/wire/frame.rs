//! One JSON-RPC message, parsed once and shallowly: its payload stays as it is.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    Id, MemberSpan, Raw, RpcError, check,
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
    /// A message that its receivers may not be able to read, and why, with the id of it that waits for an answer.
    #[error("the message {0}")]
    Unreadable(&'static str, Option<Id>),
}

impl FrameError {
    /// The JSON-RPC error to answer with.
    pub fn to_rpc_error(&self) -> RpcError {
        match self {
            Self::NotJson(error) => RpcError::parse_error(json_fault(error)),
            Self::NotAMessage(why) => RpcError::invalid_request(why),
            Self::Unreadable(..) => RpcError::invalid_request(self.to_string()),
        }
    }

    /// Whose answer that is: without it a client on a pipe would wait for its answer for ever.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Unreadable(_, id) => id.as_ref(),
            Self::NotJson(_) | Self::NotAMessage(_) => None,
        }
    }
}

/// The members of a message that have a meaning, each as it is written.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
    /// The members of the params, or of the result, where they were found on the way.
    inner: Option<Vec<MemberSpan>>,
    /// Whether it was found on the way that servers can read it.
    is_readable: bool,
}

/// The same, as the parser gives it.
#[derive(Deserialize)]
struct ParsedEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is there, `null` included.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(d: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
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
        let outcome = match (envelope.result, envelope.error) {
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
/// batch. Strict about `"jsonrpc": "2.0"` and about what servers can read; a batch's members fail one by one.
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
    if !envelope.is_readable
        && let Some(why) = check::why_unreadable(frame)
    {
        let waiting = envelope.method.and_then(|_| envelope.id(frame));
        return Err(FrameError::Unreadable(why, waiting));
    }
    if envelope.jsonrpc.is_none_or(|version| version != b"\"2.0\"") {
        return Err(not_a_message("\"jsonrpc\" is not \"2.0\""));
    }
    Message::of(frame, envelope)
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
        let parsed: ParsedEnvelope<'_> = serde_json::from_str(object).map_err(|error| {
            if error.is_data() {
                FrameError::NotAMessage(json_fault(&error).into())
            } else {
                FrameError::NotJson(error)
            }
        })?;
        let text = |value: Option<&'a RawValue>| value.map(|value| value.get().as_bytes());
        Ok(Self {
            jsonrpc: text(parsed.jsonrpc),
            id: text(parsed.id),
            method: text(parsed.method),
            params: text(parsed.params),
            result: text(parsed.result),
            error: text(parsed.error),
            inner: None,
            is_readable: false,
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
mod tests {
    use proptest::{
        prelude::*,
        sample::{Index, select},
    };

    use super::*;
    use crate::wire::{Members, error_frame, request_frame};

    fn parse(text: &str) -> Result<Message, FrameError> {
        Message::parse(&Bytes::copy_from_slice(text.as_bytes()))
    }

    /// Messages as they come, and a few odd ones.
    const MESSAGES: &[&str] = &[
        r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"a__b","arguments":{"text":"a \"b\"\n\u00e9 \ud83d\ude00 é"}}}"#,
        r#" { "jsonrpc" : "2.0" , "result" : { "content" : [ { "type":"text","text":"" } ], "isError":false } , "id" : "p1" } "#,
        r#"{"id":null,"error":{"code":-1,"message":"m"},"x":[[{}]]}"#,
        r#"{"method":"n","params":null}"#,
        r#"{"method":"n","params":{},"result":{"a":1}}"#,
        r#"{"params":{"a":1,"a":2,"\u0061":{"b":[]}},"m\u0065thod":"x","id":1.0}"#,
    ];

    proptest! {
        #[test]
        fn one_pass_reads_what_the_parser_reads(
            message in select(MESSAGES), at in any::<Index>(), byte in any::<u8>(), kind in 0..4,
        ) {
            let mut text = message.as_bytes().to_vec();
            let at = at.index(text.len());
            match kind {
                0 => (),
                1 => text[at] = byte,
                2 => text.insert(at, byte),
                _ => {
                    text.remove(at);
                }
            }
            let frame = Bytes::from(text);
            if let Some(found) = Envelope::read_at_once(&frame) {
                let parsed = Envelope::parse(&frame).expect("the parser takes it, too");
                let members = |of: &Envelope<'_>| {
                    let all = [of.jsonrpc, of.id, of.method, of.params, of.result, of.error];
                    all.map(|member| member.map(<[u8]>::to_vec))
                };
                prop_assert_eq!(members(&found), members(&parsed));
                prop_assert!(!found.is_readable || check::why_unreadable(&frame).is_none());
                if let Some(inner) = found.inner {
                    let is_object = |text: &&[u8]| text.starts_with(b"{");
                    let object = found.params.filter(is_object).or(found.result.filter(is_object));
                    let stands: Vec<_> = Members::of(object.expect("an object")).collect();
                    prop_assert_eq!(inner, stands);
                }
            } else if kind == 0 {
                let is_escaped_or_doubled = message.contains("u0065") || message.contains(r#"{},"result""#);
                prop_assert!(is_escaped_or_doubled, "not read at once: {}", message);
            }
        }
    }

    #[test]
    fn a_request_keeps_its_id_and_params_as_written() {
        let Ok(Message::Request(request)) = parse(
            r#"{"id":1.0,"method":"tools\/call","params":{"b":1.10,"a":1e400},"jsonrpc":"2.0"}"#,
        ) else {
            panic!("a request")
        };
        assert_eq!(request.id.as_str(), "1.0");
        assert_eq!(&*request.method, "tools/call");
        assert_eq!(
            request.params.expect("params").as_str(),
            r#"{"b":1.10,"a":1e400}"#
        );
    }

    #[test]
    fn null_results_and_null_params_are_there() {
        let Ok(Message::Response(response)) = parse(r#"{"jsonrpc":"2.0","id":"x","result":null}"#)
        else {
            panic!("a response")
        };
        assert!(matches!(response.outcome, Outcome::Result(raw) if raw.is_null()));
        let Ok(Message::Notification(notification)) = parse(r#"{"method":"n","params":null}"#)
        else {
            panic!("a notification")
        };
        assert!(notification.params.is_some_and(|p| p.is_null()));
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is_no_json() {
        for text in ["", "{", "nonsense", r#"{"a":}"#, "\u{feff}{}"] {
            assert!(matches!(parse(text), Err(FrameError::NotJson(_))), "{text}");
        }
        for text in [
            "7",
            "[]",
            r#"["2.0",1,"ping",{},null,null]"#,
            r#""text""#,
            "{}",
            r#"{"method":7}"#,
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":{},"method":"x"}"#,
            r#"{"method":"a","method":"b"}"#,
        ] {
            assert!(
                matches!(parse(text), Err(FrameError::NotAMessage(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_unicode_is_no_json_wherever_it_stands() {
        for text in [
            &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xff\"}"[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"\xff\":1}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":\"\xff\"}}",
        ] {
            let frame = Bytes::from_static(text);
            let is_no_json =
                |error: Option<FrameError>| matches!(error, Some(FrameError::NotJson(_)));
            assert!(is_no_json(Message::parse(&frame).err()), "{frame:?}");
            assert!(is_no_json(parse_client(&frame).err()), "{frame:?}");
        }
    }

    #[test]
    fn what_servers_may_not_be_able_to_read_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        // The message itself is a level.
        let too_deep = Some("the message nests deeper than 512 levels");
        let why = "the message contains an escape of half a character (a lone surrogate, such as \\ud800)";
        let half = Some(why);
        for (params, expected) in [
            (nested(1), None),
            (nested(511), None),
            (nested(512), too_deep),
            (nested(100_000), too_deep),
            (r#"["\u00e9\ud83d\ude00\\ud800"]"#.to_owned(), None),
            (r#"{"a":"\ud800"}"#.to_owned(), half),
            (r#"{"\uDC00":1}"#.to_owned(), half),
            (r#"["\ud83dx\ude00"]"#.to_owned(), half),
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}"#);
            let shown: String = params.chars().take(50).collect();
            let parsed = parse_client(&Bytes::from(message.clone()));
            let said = parsed.as_ref().err().map(ToString::to_string);
            assert_eq!(said.as_deref(), expected, "{shown}");
            let waiting = parsed.as_ref().err().and_then(FrameError::id);
            let waiting = waiting.map(|id| id.as_str().to_owned());
            assert_eq!(waiting, expected.map(|_| "1".to_owned()), "{shown}");
            let batch = Bytes::from(format!("[{message}]"));
            let (members, _) = parse_client(&batch).expect("a batch");
            assert_eq!(members[0].is_ok(), expected.is_none(), "{shown}");
            // Half of a character that a server sends is its own.
            let by_server = Message::parse(&Bytes::from(message)).err();
            let said = by_server.map(|error| error.to_string());
            assert_eq!(
                said.as_deref(),
                expected.filter(|said| *said != why),
                "{shown}"
            );
        }
    }

    #[test]
    fn frames_read_back() {
        let params = Raw::parse_str(r#"{"a": 1.10}"#).expect("JSON");
        let frame = request_frame(&Id::ours(3), "tools/call", Some(&params)).joined();
        assert_eq!(
            &frame[..],
            br#"{"jsonrpc":"2.0","id":"p3","method":"tools/call","params":{"a": 1.10}}"#
        );
        let Ok(Message::Request(request)) = Message::parse(&frame) else {
            panic!("a request")
        };
        assert_eq!(
            (request.id.our_number(), request.params),
            (Some(3), Some(params))
        );
        let error = RpcError::method_not_found("x").to_raw();
        assert!(matches!(
            Message::parse(&error_frame(None, &error)),
            Ok(Message::Response(Response { id: None, .. }))
        ));
    }

    #[test]
    fn a_batch_fails_member_by_member() {
        let body = Bytes::from_static(
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2,"method":"ping"}]"#,
        );
        let (members, batch) = parse_client(&body).expect("a batch");
        assert!(batch && members[0].is_ok() && members[1].is_err());
        assert!(parse_client(&Bytes::from_static(b"[]")).is_err());
        let of = |size: usize| parse_client(&Bytes::from(format!("[{}7]", "7,".repeat(size - 1))));
        assert!(of(256).is_ok() && of(257).is_err());
    }
}
