//! What is a message, and which.

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
    let Ok(Message::Request(request)) =
        parse(r#"{"id":1.0,"method":"tools\/call","params":{"b":1.10,"a":1e400},"jsonrpc":"2.0"}"#)
    else {
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
fn null_results_and_null_params_are_there_and_null_errors_are_none() {
    let Ok(Message::Response(response)) = parse(r#"{"jsonrpc":"2.0","id":"x","result":null}"#)
    else {
        panic!("a response")
    };
    assert!(matches!(response.outcome, Outcome::Result(raw) if raw.is_null()));
    let Ok(Message::Notification(notification)) = parse(r#"{"method":"n","params":null}"#) else {
        panic!("a notification")
    };
    assert!(notification.params.is_some_and(|p| p.is_null()));
    let Ok(Message::Response(response)) = parse(r#"{"id":1,"error":null,"result":{}}"#) else {
        panic!("a response")
    };
    assert!(matches!(response.outcome, Outcome::Result(raw) if raw.is_object()));
    assert!(parse(r#"{"id":1,"error":null}"#).is_err());
}

#[test]
fn what_is_no_message_is_told_from_what_is_no_json() {
    for text in ["", "{", "nonsense", r#"{"a":}"#, "\u{feff}{}"] {
        assert!(matches!(parse(text), Err(FrameError::NotJson(_))), "{text}");
    }
    let why = parse("").expect_err("it is empty").to_rpc_error();
    assert!(why.message.contains("the message is empty"));
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
        let is_no_json = |error: Option<FrameError>| matches!(error, Some(FrameError::NotJson(_)));
        assert!(is_no_json(Message::parse(&frame).err()), "{frame:?}");
        assert!(is_no_json(parse_client(&frame).err()), "{frame:?}");
    }
}

#[test]
fn what_servers_may_not_be_able_to_read_is_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    // The message itself is a level.
    let too_deep = Some("the message nests deeper than 512 levels");
    let why =
        "the message contains an escape of half a character (a lone surrogate, such as \\ud800)";
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
    assert!(batch && members[0].is_ok());
    let error = members[1].as_ref().expect_err("it has no version");
    assert_eq!(error.id().map(Id::as_str), Some("2"));
    assert!(parse_client(&Bytes::from_static(b"[]")).is_err());
    for (method, is_one) in [
        ("notifications/x", true),
        ("notification", false),
        ("tools/call", false),
        ("", false),
    ] {
        let note = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        let parsed = parse_client(&note.clone().into()).map(|_| ());
        assert!(
            is_one || matches!(parsed, Err(FrameError::NoId)),
            "{method}"
        );
        let (members, _) = parse_client(&format!("[{note}]").into()).expect("a batch");
        assert_eq!(
            (parsed.is_ok(), members[0].is_ok()),
            (is_one, is_one),
            "{method}"
        );
    }
    let of = |size: usize| parse_client(&Bytes::from(format!("[{}7]", "7,".repeat(size - 1))));
    assert!(of(256).is_ok() && of(257).is_err());
}
