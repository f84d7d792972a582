//! Reads JSON in which no key appears twice in one object, so that a check and a later reader cannot see different values.

use serde_json::{Map, Value, error::Category};

use super::document::{json_and_repeated, strict_json};
use crate::{
    text::{TextKind, redact},
    wire::json_fault,
};

/// Reads a value. The error names a key that appears twice.
pub(super) fn read_unrepeated(text: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(text).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let read = serde_json::from_str(text);
    let value = read.map_err(|error| json_mistake(text, &error))?;
    let repeated = json_and_repeated(text).map(|(_, repeated)| repeated);
    match repeated.unwrap_or_default().first() {
        None => Ok(value),
        Some((path, place)) => {
            let path = redact::redacted(path, TextKind::Prose);
            Err(format!("{place}: `{path}` appears twice"))
        }
    }
}

/// A mistake in JSON with its place, worded like mistakes in the configuration file.
pub fn json_mistake(text: &str, error: &serde_json::Error) -> String {
    if let Category::Syntax = error.classify()
        && let Err(mistake) = strict_json(text)
    {
        return mistake.to_string();
    }
    let (line, column) = (error.line(), error.column());
    if error.is_eof() {
        return match text.trim() {
            "" => "it is empty".to_owned(),
            // The last line is empty.
            _ if column == 0 => "it ends too early".to_owned(),
            _ => format!("line {line}, column {column}: it ends too early"),
        };
    }
    let problem = json_fault(error);
    let problem = redact::redacted(&problem, TextKind::Prose);
    match line {
        0 => problem.into_owned(),
        line => format!("line {line}, column {column}: {problem}"),
    }
}

/// The error for JSON that is not an object.
pub const NO_OBJECT: &str = "it is not a JSON object {…}";

/// Reads an object in which no key appears twice.
pub fn read_unrepeated_object(text: &[u8]) -> Result<Map<String, Value>, String> {
    match read_unrepeated(text)? {
        Value::Object(object) => Ok(object),
        _ => Err(NO_OBJECT.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_as_it_stands_and_a_key_stands_once() {
        let plain = r#"{"a":[1,-2,0.5,"x",null,true],"b":{"a":{}}}"#;
        let read = read_unrepeated(plain.as_bytes()).expect("JSON");
        assert_eq!(read.to_string(), plain);
        for (repeated, column, path) in [
            (r#"{"a":1,"a":2}"#, 8, "a"),
            (r#"{"a":1,"\u0061":2}"#, 8, "a"),
            (r#"[{"b":{"a":1,"c":2,"a":3}}]"#, 20, "[0].b.a"),
        ] {
            let error = read_unrepeated(repeated.as_bytes()).expect_err(repeated);
            let expected = format!("line 1, column {column}: `{path}` appears twice");
            assert_eq!(error, expected);
        }
        let cut_off = read_unrepeated(b"{\n\"a\":").expect_err("cut off");
        assert_eq!(cut_off, "line 2, column 4: it ends too early");
        let cut_off = read_unrepeated(b"{\n").expect_err("cut off");
        assert_eq!(cut_off, "it ends too early");
        let deep = "[".repeat(10_000);
        assert!(read_unrepeated(deep.as_bytes()).is_err());
        assert!(read_unrepeated_object(b"[]").is_err());
        let unreadable = read_unrepeated(b"\"\xff\"").expect_err("no text");
        assert_eq!(unreadable, "it is not valid UTF-8");
    }
}
