//! The arguments of a tool call: read from the command line, and turned into the JSON that the tool's schema wants.

use std::slice;

use serde::{Serialize, Serializer};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::super::{CommandFailure, Done, input::JsonOption};
use crate::wire::Raw;

pub(super) const EXAMPLE: &str = "for example: `mcpproxy call demo:echo text=hello`";

/// The arguments of a call.
pub(super) enum Arguments {
    /// A JSON object, sent as it is written.
    Object(Box<RawValue>),
    /// `KEY=VALUE…`, in their order.
    Pairs(Vec<Pair>),
}

/// `KEY=VALUE`. A value that is JSON is sent as JSON, any other as a string.
pub(super) struct Pair {
    key: String,
    text: String,
    /// The text read as JSON. It only serves to find its type, because it has rounded numbers; what is sent is the text.
    json: Option<Value>,
}

impl Arguments {
    /// Reads the words after the tool, or the value of `--args`.
    pub(super) fn read(words: &[String], given: Option<&str>) -> Done<Self> {
        match (words, given) {
            ([], given) => object(given.unwrap_or("{}")).map(Self::Object),
            ([..], Some(_)) => {
                let what = "the arguments are given twice, with --args and without it";
                Err(CommandFailure::usage(what).next("leave one of them out"))
            }
            ([json], None) if json.starts_with(['{', '[', '@']) || json == "-" => {
                object(json).map(Self::Object)
            }
            (pairs, None) => from_pairs(pairs).map(Self::Pairs),
        }
    }

    /// Whether an argument may be JSON or a string, which only the tool's schema says.
    pub(super) fn need_schema(&self) -> bool {
        match self {
            Self::Object(_) => false,
            Self::Pairs(pairs) => pairs.iter().any(Pair::may_be_text),
        }
    }

    /// The JSON object to send to a tool with this schema. Without a schema, which is null, a value that is JSON is sent as JSON.
    pub(super) fn as_declared(&self, schema: &Value) -> Done<Box<RawValue>> {
        let pairs = match self {
            Self::Object(object) => return Ok(object.clone()),
            Self::Pairs(pairs) => pairs,
        };
        let properties = &schema["properties"];
        let sent = pairs.iter().map(|pair| {
            let value = pair.as_declared(&properties[&pair.key]["type"]);
            value.map(|value| (pair.key.as_str(), value))
        });
        let sent: Result<Vec<_>, serde_json::Error> = sent.collect();
        sent.and_then(|sent| to_raw_value(&Members(sent)))
            .map_err(|error| {
                CommandFailure::failed(format!("failed to write the request: {error}"))
            })
    }

    /// The arguments as they can be typed again.
    pub(super) fn typed(&self) -> Map<String, Value> {
        match self {
            Self::Object(object) => serde_json::from_str(object.get()).unwrap_or_default(),
            Self::Pairs(pairs) => pairs
                .iter()
                .map(|pair| (pair.key.clone(), Value::from(pair.text.as_str())))
                .collect(),
        }
    }
}

impl Pair {
    /// Whether the value is JSON but not a string, so that it may be meant as a string.
    fn may_be_text(&self) -> bool {
        self.json.as_ref().is_some_and(|json| !json.is_string())
    }

    /// The value for a property of this declared type.
    fn as_declared(&self, declared: &Value) -> Result<Box<RawValue>, serde_json::Error> {
        match &self.json {
            Some(json) if !is_meant_as_text(declared, json) => {
                RawValue::from_string(self.text.clone())
            }
            _ => to_raw_value(&self.text),
        }
    }
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(&'a str, Box<RawValue>)>);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|member| (member.0, &member.1)))
    }
}

fn from_pairs(words: &[String]) -> Done<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| {
            CommandFailure::usage(format!("{word:?} is neither KEY=VALUE nor a JSON object"))
        })?;
        if pairs.iter().any(|known| known.key == key) {
            return Err(given_twice(key));
        }
        pairs.push(Pair {
            key: key.to_owned(),
            text: text.to_owned(),
            json: serde_json::from_str(text).ok(),
        });
    }
    Ok(pairs)
}

/// Whether the declared type is a string, and does not include the type of this value.
fn is_meant_as_text(declared: &Value, value: &Value) -> bool {
    if value.is_string() {
        return false;
    }
    let kinds = declared
        .as_array()
        .map_or(slice::from_ref(declared), Vec::as_slice);
    let is_taken = kinds
        .iter()
        .filter_map(Value::as_str)
        .any(|kind| match kind {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "number" | "integer" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => false,
        });
    !is_taken && kinds.iter().any(|kind| kind == "string")
}

/// Reads an object, whose text is kept as it is written: the argument itself, `@FILE`, or `-` for stdin.
fn object(given: &str) -> Done<Box<RawValue>> {
    let option = JsonOption {
        option: "--args",
        what: "the arguments",
        is_plural: true,
        example: "give a correct JSON object in single quotes, such as '{\"text\": \"hello\"}', or text=hello",
        given,
    };
    let args = option.read()?;
    if !args.get().starts_with('{') {
        return Err(option.mistake("not a JSON object"));
    }
    let repeated = Raw::parse_str(args.get()).ok();
    match repeated.and_then(|args| args.repeated_key()) {
        Some(key) => Err(given_twice(&key)),
        None => Ok(args),
    }
}

fn given_twice(key: &str) -> CommandFailure {
    let what = format!("`{key}` is given twice");
    CommandFailure::usage(what).next("leave one of them out")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Arguments;

    fn read(words: &[&str]) -> Arguments {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Ok(read) = Arguments::read(&words, None) else {
            panic!("{words:?} are arguments");
        };
        read
    }

    fn sent(words: &[&str], schema: &Value) -> String {
        let Ok(sent) = read(words).as_declared(schema) else {
            panic!("{words:?} can be sent");
        };
        sent.get().to_owned()
    }

    #[test]
    fn values_are_sent_as_they_are_written() {
        let words = ["id=12345678901234567890123", "n=1.10", "of=[1, 2]", "t=a b"];
        let expected = r#"{"id":12345678901234567890123,"n":1.10,"of":[1, 2],"t":"a b"}"#;
        assert_eq!(sent(&words, &Value::Null), expected);
    }

    #[test]
    fn the_schema_decides_what_is_a_text() {
        let schema = json!({ "properties": {
            "id": { "type": "string" },
            "either": { "type": ["string", "integer"] },
            "note": { "type": "string" },
        } });
        let words = ["id=12345678901234567890123", "either=1", r#"note="x""#];
        let expected = r#"{"id":"12345678901234567890123","either":1,"note":"x"}"#;
        assert_eq!(sent(&words, &schema), expected);
        assert!(read(&words).need_schema());
        assert!(!read(&["note=x", r#"id="1""#]).need_schema());
    }

    #[test]
    fn a_key_that_is_given_twice_is_refused_with_a_step() {
        for words in [&["a=1", "a=2"][..], &[r#"{"a":1,"\u0061":2}"#]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let refused = Arguments::read(&words, None).err().expect("it is refused");
            assert_eq!(refused.what, "`a` is given twice");
            assert_eq!(refused.next_step.as_deref(), Some("leave one of them out"));
        }
    }

    #[test]
    fn what_was_typed_can_be_typed_again() {
        let typed = Value::Object(read(&["id=12345678901234567890123", "x=[1]"]).typed());
        assert_eq!(
            typed,
            json!({ "id": "12345678901234567890123", "x": "[1]" })
        );
        let typed = Value::Object(read(&[r#"{"x":1}"#]).typed());
        assert_eq!(typed, json!({ "x": 1 }));
    }
}
