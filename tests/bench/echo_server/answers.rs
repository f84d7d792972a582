//! What is answered to a message. The text to repeat is copied as it stands, unread.

use std::{borrow::Cow, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;

/// What becomes of a message.
pub(super) enum Answer {
    /// It was a notification.
    Nothing,
    Now(Vec<u8>),
    After(Duration, Vec<u8>),
}

/// All that is read of any message, in one pass.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    protocol_version: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    milliseconds: u64,
}

pub(super) fn answer(message: &[u8], tools: &str) -> Answer {
    let Ok(message) = serde_json::from_slice::<Message>(message) else {
        return Answer::Now(error("null", -32700, "this is no message"));
    };
    let Some(id) = message.id.map(RawValue::get) else {
        return Answer::Nothing;
    };
    let params = &message.params;
    let sleep = Duration::from_millis(params.arguments.milliseconds);
    match (&*message.method, &*params.name) {
        ("tools/call", "echo") => {
            let text = params.arguments.text.map_or("\"\"", RawValue::get);
            Answer::Now(result(id, &[CONTENT, text, "}]}"]))
        }
        ("tools/call", "sleep") => Answer::After(sleep, result(id, &[CONTENT, "\"slept\"}]}"])),
        ("tools/list", _) => Answer::Now(result(id, &[tools])),
        ("initialize", _) => Answer::Now(result(id, &opened(&params.protocol_version))),
        ("ping", _) => Answer::Now(result(id, &["{}"])),
        _ => Answer::Now(error(id, -32601, "there is no such method or tool")),
    }
}

const CONTENT: &str = r#"{"content":[{"type":"text","text":"#;

/// The result of a handshake, in the revision that is wanted, or in the newest that has one.
fn opened(revision: &str) -> [&str; 3] {
    let known = ["2024-11-05", "2025-03-26", "2025-06-18"].contains(&revision);
    [
        r#"{"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"},"protocolVersion":""#,
        if known { revision } else { "2025-11-25" },
        r#""}"#,
    ]
}

fn result(id: &str, parts: &[&str]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() + id.len() + 48;
    let mut message = Vec::with_capacity(length);
    let before = [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":"#];
    for part in before.iter().chain(parts).chain(&["}"]) {
        message.extend_from_slice(part.as_bytes());
    }
    message
}

fn error(id: &str, code: i32, text: &str) -> Vec<u8> {
    let error = format!(r#"{{"code":{code},"message":"{text}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}
