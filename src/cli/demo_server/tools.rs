//! The tools of the demo server.

use std::{
    thread::sleep,
    time::{Duration, SystemTime},
};

use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::{DemoError, Server, content};
use crate::text::moment::utc;

/// The one tool that takes long.
const SLOW: &str = "slow_count";

/// How many notes a demo server keeps in memory.
const MOST_NOTES: usize = 500;

/// The size of a note with its title, in bytes: all notes together take 20 MB at most.
const LONGEST_NOTE: usize = 40_000;

/// A call, by the tool's name, with the arguments that its schema in `offers.json` declares.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ToolCall {
    Echo {
        text: String,
    },
    Add {
        a: Number,
        b: Number,
    },
    TimeNow {},
    NotesWrite {
        title: String,
        text: String,
    },
    NotesList {
        #[serde(default)]
        containing: String,
    },
    NotesDelete {
        title: String,
    },
    SlowCount {
        #[serde(default = "five")]
        seconds: u64,
    },
}

fn five() -> u64 {
    5
}

/// Whether the request must not be served on the thread that reads.
pub(super) fn takes_long(request: &Value) -> bool {
    request["method"] == "tools/call" && request["params"]["name"] == SLOW
}

/// The result of `tools/call`; nothing when the call was cancelled.
pub(super) fn call(server: &Server, request: &Value) -> Result<Option<Value>, DemoError> {
    let result = result_of(server, request);
    // A cancelled call is not among the running ones any more.
    if takes_long(request) && !server.running.lock().remove(&request["id"].to_string()) {
        return Ok(None);
    }
    result.map(Some)
}

/// The result of a call. Wrong arguments are a result with `isError`, so that the model sees the reason.
fn result_of(server: &Server, request: &Value) -> Result<Value, DemoError> {
    let Some(name) = request["params"]["name"].as_str() else {
        return Err(DemoError::lacks("tools/call", "name"));
    };
    let offered = content::offered("tools");
    let mut known = offered["tools"].as_array().into_iter().flatten();
    if !known.any(|tool| tool["name"] == name) {
        return Err(DemoError::params(format!("unknown tool {name:?}")));
    }
    let arguments = match &request["params"]["arguments"] {
        Value::Null => json!({}),
        arguments @ Value::Object(_) => arguments.clone(),
        _ => return Err(DemoError::params("arguments must be an object")),
    };
    let read = serde_json::from_value(json!({ name: arguments }));
    let ran = read.map_err(|error| format!("wrong arguments: {error}"));
    let ran = ran.and_then(|call| run(server, request, call));
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    Ok(match ran {
        Ok(Value::String(done)) => json!({ "content": text(&done) }),
        Ok(value) => json!({ "content": text(&value.to_string()), "structuredContent": value }),
        Err(complaint) => json!({ "content": text(&complaint), "isError": true }),
    })
}

/// Runs a tool. The result is a string, or an object if the tool has an output schema.
fn run(server: &Server, request: &Value, call: ToolCall) -> Result<Value, String> {
    let mut notes = server.notes.lock();
    Ok(match call {
        ToolCall::Echo { text } => text.into(),
        ToolCall::Add { a, b } => json!({ "sum": sum(&a, &b)? }),
        ToolCall::TimeNow {} => utc(SystemTime::now()).into(),
        ToolCall::NotesWrite { title, text } => {
            if title.is_empty() || title.len() + text.len() > LONGEST_NOTE {
                return Err("the title is empty, or the note is too long".to_owned());
            }
            if notes.len() >= MOST_NOTES && !notes.contains_key(&title) {
                return Err("there are too many notes; delete one first".to_owned());
            }
            let did = match notes.insert(title.clone(), text) {
                Some(_) => "Replaced",
                None => "Wrote",
            };
            format!("{did} the note {title:?}.").into()
        }
        ToolCall::NotesList { containing } => {
            let lines = notes.iter().map(|(title, text)| format!("{title}: {text}"));
            let found: Vec<String> = lines.filter(|line| line.contains(&containing)).collect();
            match &found[..] {
                [] => "No notes match.".into(),
                found => found.join("\n").into(),
            }
        }
        ToolCall::NotesDelete { title } => match notes.remove(&title) {
            Some(_) => format!("Deleted the note {title:?}.").into(),
            None => {
                return Err(format!(
                    "there is no note {title:?}; notes_list shows the titles"
                ));
            }
        },
        ToolCall::SlowCount { seconds } => {
            drop(notes);
            count(server, request, seconds)?.into()
        }
    })
}

/// The sum, as a whole number if both are and it fits into 64 bits.
fn sum(a: &Number, b: &Number) -> Result<Number, String> {
    let whole = a.as_i64().zip(b.as_i64());
    if let Some(sum) = whole.and_then(|(a, b)| a.checked_add(b)) {
        return Ok(sum.into());
    }
    let sum = a.as_f64().zip(b.as_f64()).map(|(a, b)| a + b);
    let sum = sum.and_then(Number::from_f64);
    sum.ok_or_else(|| "the sum is too large for a number".to_owned())
}

fn count(server: &Server, request: &Value, seconds: u64) -> Result<String, String> {
    if !(1..=60).contains(&seconds) {
        return Err("`seconds` must be from 1 to 60".to_owned());
    }
    let token = &request["params"]["_meta"]["progressToken"];
    for second in 1..=seconds {
        sleep(Duration::from_secs(1));
        let is_cancelled = !server.running.lock().contains(&request["id"].to_string());
        if is_cancelled {
            break;
        }
        if !token.is_null() {
            let progress = json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {
                    "progressToken": token,
                    "progress": second,
                    "total": seconds,
                    "message": format!("counted to {second}"),
                },
            });
            // If the client is gone, the reader of stdin notices it.
            let _ = super::send(&progress);
        }
    }
    Ok(format!("Counted to {seconds}."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Server, call};

    #[test]
    fn a_long_call_that_fails_runs_no_more() {
        for arguments in [json!([1]), json!({ "seconds": 0 }), json!({ "many": 1 })] {
            let server = Server::default();
            let request: Value = json!({
                "id": 7,
                "method": "tools/call",
                "params": { "name": "slow_count", "arguments": arguments },
            });
            server.running.lock().insert("7".to_owned());
            let _ = call(&server, &request);
            assert!(server.running.lock().is_empty(), "{request}");
        }
    }
}
