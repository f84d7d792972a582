//! Reads JSON in which no key appears twice in one object, so that a check and a later reader cannot see different values.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, error::Category};

use super::document::strict_json;
use crate::{
    text::{TextKind, beginning, redact},
    wire::json_fault,
};

/// Limit: bytes of a key that an error repeats.
const SHOWN: usize = 64;

/// A value without repeated keys.
struct Unrepeated(Value);

/// Reads a value. The error names a key that appears twice.
pub(super) fn read_unrepeated(text: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(text).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let read: Result<Unrepeated, _> = serde_json::from_str(text);
    read.map(|read| read.0)
        .map_err(|error| json_mistake(text, &error))
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
            _ if column == 0 => "the JSON is incomplete".to_owned(),
            _ => format!("line {line}, column {column}: the JSON is incomplete"),
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

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unrepeated(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Unrepeated(value))) = members.next_entry::<String, _>()? {
            if object.contains_key(&key) {
                let shown = beginning(&key, SHOWN);
                return Err(de::Error::custom(format_args!(
                    "{shown:?} appears twice in one object"
                )));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
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
        for repeated in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"b":{"a":1,"c":2,"a":3}}]"#,
        ] {
            let error = read_unrepeated(repeated.as_bytes()).expect_err(repeated);
            assert!(error.starts_with("line 1, column "), "{error}");
            assert!(
                error.ends_with(": \"a\" appears twice in one object"),
                "{error}"
            );
        }
        let cut_off = read_unrepeated(b"{\n\"a\":").expect_err("cut off");
        assert_eq!(cut_off, "line 2, column 4: the JSON is incomplete");
        let cut_off = read_unrepeated(b"{\n").expect_err("cut off");
        assert_eq!(cut_off, "the JSON is incomplete");
        let deep = "[".repeat(10_000);
        assert!(read_unrepeated(deep.as_bytes()).is_err());
        assert!(read_unrepeated_object(b"[]").is_err());
        let unreadable = read_unrepeated(b"\"\xff\"").expect_err("no text");
        assert_eq!(unreadable, "it is not valid UTF-8");
    }
}
