//! YAML as JSON values, and an entry put into it or taken out of it, its comments kept. Anchors are followed, but a file that grows by
//! them is refused.

use std::{collections::BTreeMap, str::FromStr};

use serde_json::{Map, Number, Value};
use yaml_edit::{
    AnchorRegistry, Document, Scalar, ScalarType, ScalarValue, YamlError, YamlNode, YamlValue,
    validator::{Rule, Severity, Validator},
};

use super::fault::{FileFault, line_of};

/// Limit: values in one file, those that anchors repeat counted each time.
const MOST_VALUES: usize = 200_000;

/// Limit: what is deeper is no configuration. It also ends an anchor that stands within itself.
const DEEPEST: usize = 64;

/// The text as a value.
pub(super) fn read(text: &str) -> Result<Value, FileFault> {
    let document = document(text)?;
    let mut reader = Reader {
        anchors: AnchorRegistry::from_document(&document),
        n_values: 0,
    };
    let map = document.as_mapping().map(YamlNode::Mapping);
    let list = document.as_sequence().map(YamlNode::Sequence);
    let scalar = document.as_scalar().map(YamlNode::Scalar);
    match map.or(list).or(scalar) {
        Some(root) => reader.value(&root, 0).map_err(FileFault::new),
        None => Ok(Value::Null),
    }
}

/// The text with an entry under a key of the top.
pub(super) fn put(
    text: &str,
    list: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let document = document(text)?;
    let entry = YamlValue::Mapping(members(entry));
    if let Some(list) = document.get_mapping(list).filter(|list| !list.is_empty()) {
        list.set(name, entry);
    } else {
        let made = YamlValue::Mapping([(name.to_owned(), entry)].into());
        document.set(list, made);
    }
    Ok(document.to_string())
}

/// The text without an entry.
pub(super) fn take_out(text: &str, list: &str, name: &str) -> Result<String, FileFault> {
    let document = document(text)?;
    if let Some(list) = document.get_mapping(list) {
        list.remove(name);
    }
    Ok(document.to_string())
}

/// Most mistakes have no kinds, and their texts are for the parser's authors. It notices some of them lines later.
const UNREADABLE: &str = "the YAML cannot be read: the mistake is in this line or above it";

/// The text as a document that keeps its comments. The parser forgives what the client may not, so it is held against the rules, too.
fn document(text: &str) -> Result<Document, FileFault> {
    let document = Document::from_str(text).map_err(|error| match error {
        YamlError::Parse {
            line: Some(line), ..
        } => {
            // What ends too early has its mistake behind the last line.
            FileFault::at_or_above(line.min(text.lines().count()), UNREADABLE)
        }
        YamlError::InvalidOperation { .. } => {
            FileFault::new("it has several documents, or directives")
        }
        _ => FileFault::new("the YAML cannot be read"),
    })?;
    let mut violations = Validator::new().validate(&document).into_iter();
    match violations.find(|violation| violation.severity == Severity::Error) {
        None => Ok(document),
        Some(violation) => {
            let range = violation.text_range;
            let range = range.map_or(0..0, |range| range.start as usize..range.end as usize);
            let line = line_of(text, range.start);
            Err(match (violation.rule, text.get(range)) {
                (Rule::DuplicateKeys, Some(pair)) => FileFault::at(line, repeated(pair)),
                _ => FileFault::at_or_above(line, UNREADABLE),
            })
        }
    }
}

/// Says that a key appears twice. Of the pair only a plain key is repeated: the value may be a secret.
fn repeated(pair: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let (key, rest) = pair.split_at(pair.find(|c| !is_plain(c)).unwrap_or_default());
    if key.is_empty() || !rest.starts_with(':') {
        return "a key appears twice".to_owned();
    }
    format!("the key `{key}` appears twice")
}

fn members(entry: &Map<String, Value>) -> BTreeMap<String, YamlValue> {
    let members = entry.iter();
    members
        .map(|(key, value)| (key.clone(), written(value)))
        .collect()
}

fn written(value: &Value) -> YamlValue {
    match value {
        Value::Null => YamlValue::Scalar(ScalarValue::null()),
        Value::Bool(is) => YamlValue::from(*is),
        Value::Number(number) => YamlValue::Scalar(ScalarValue::parse(number.to_string())),
        Value::String(text) => YamlValue::Scalar(ScalarValue::string(text)),
        Value::Array(values) => YamlValue::Sequence(values.iter().map(written).collect()),
        Value::Object(inside) => YamlValue::Mapping(members(inside)),
    }
}

struct Reader {
    anchors: AnchorRegistry,
    n_values: usize,
}

impl Reader {
    fn value(&mut self, node: &YamlNode, depth: usize) -> Result<Value, String> {
        self.n_values += 1;
        if self.n_values > MOST_VALUES {
            return Err("it holds too many values".to_owned());
        }
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        match node {
            YamlNode::Scalar(scalar) => Ok(of_scalar(scalar)),
            YamlNode::Sequence(list) => {
                let values = list.values();
                values.map(|value| self.value(&value, depth + 1)).collect()
            }
            YamlNode::Mapping(map) => {
                let mut members = Map::new();
                for (key, value) in map.iter() {
                    let key = match self.value(&key, depth + 1)? {
                        Value::String(key) => key,
                        Value::Array(_) | Value::Object(_) => {
                            return Err("a key is a list or a map".to_owned());
                        }
                        key => key.to_string(),
                    };
                    let value = self.value(&value, depth + 1)?;
                    members.insert(key, value);
                }
                Ok(Value::Object(members))
            }
            YamlNode::Alias(alias) => {
                let meant = self.anchors.resolve_alias(alias);
                let meant = meant.map_err(|error| error.to_string())?;
                self.value(&meant, depth + 1)
            }
            YamlNode::TaggedNode(tagged) => {
                if let Some(map) = tagged.as_mapping() {
                    return self.value(&YamlNode::Mapping(map), depth + 1);
                }
                if let Some(list) = tagged.as_sequence() {
                    return self.value(&YamlNode::Sequence(list), depth + 1);
                }
                let Some(scalar) = tagged.value() else {
                    return Ok(Value::Null);
                };
                let is_text = tagged.resolved_tag().as_deref() == Some("!!str");
                Ok(match of_scalar(&scalar) {
                    _ if is_text => Value::from(scalar.as_string()),
                    value => value,
                })
            }
        }
    }
}

/// A word without quotes is what the core schema says.
fn of_scalar(scalar: &Scalar) -> Value {
    let number = |number: f64| Number::from_f64(number).map(Value::Number);
    let read = match ScalarValue::from_scalar(scalar).scalar_type() {
        ScalarType::Null => Some(Value::Null),
        ScalarType::Boolean => scalar.as_bool().map(Value::Bool),
        ScalarType::Integer => scalar.as_i64().map(Value::from),
        ScalarType::Float => scalar.as_f64().and_then(number),
        _ => None,
    };
    read.unwrap_or_else(|| Value::from(scalar.as_string()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use serde_json::{Map, Value, json};

    use super::{put, read, repeated, take_out};

    #[test]
    fn words_and_anchors_are_what_the_core_schema_says() {
        let check = |text: &str, expected: Value| assert_eq!(read(text), Ok(expected), "{text}");
        check("", json!(null));
        check(
            "a: &x {k: [1, ~]}\nb: *x\nc: !!str 12\nd: |\n  two\n  lines\n",
            json!({ "a": { "k": [1, null] }, "b": { "k": [1, null] }, "c": "12", "d": "two\nlines\n" }),
        );
        check(
            "[True, yes, -12, 1.5, 1.2.3, 2026-11-22, -y, '1', 99999999999999999999]\n",
            json!([
                true,
                "yes",
                -12,
                1.5,
                "1.2.3",
                "2026-11-22",
                "-y",
                "1",
                "99999999999999999999"
            ]),
        );
    }

    #[test]
    fn what_grows_without_bound_and_what_breaks_a_rule_is_refused() {
        let mut grows = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = vec![format!("*a{}", n - 1); 10].join(", ");
            writeln!(grows, "a{n}: &a{n} [{before}]").expect("text takes it");
        }
        let deep: Vec<String> = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        for (text, why) in [
            (&*grows, "too many values"),
            (&deep.concat(), "deep"),
            (&"[".repeat(10_000), "the YAML cannot be read"),
            ("a: &a [*a]\n", "deep"),
            ("a: *b\n", "line 1: "),
            ("a: 1\na: 2\n", "line 2: the key `a` appears twice"),
            ("? [a, b]\n: 1\n", "a list or a map"),
            ("a:\n\tb: 1\n", "line 2: "),
            ("a:\n  b: x\n c: y\n", "line 3: "),
            ("a: 1\n---\nb: 2\n", "several documents"),
        ] {
            let fault = read(text).expect_err(why).to_string();
            assert!(fault.contains(why), "{why:?}: {fault}");
        }
    }

    #[test]
    fn a_value_is_not_repeated() {
        for (pair, shown) in [
            ("T: secret", "the key `T` appears twice"),
            ("a:\n  b: secret", "the key `a` appears twice"),
            ("\"a\": {t: secret}", "a key appears twice"),
            ("secret", "a key appears twice"),
        ] {
            assert_eq!(repeated(pair), shown);
        }
    }

    #[test]
    fn an_entry_is_put_in_and_taken_out_and_comments_stay() {
        let entry = json!({ "enabled": true, "uri": "http://h/mcp", "headers": { "A": "b c" } });
        let entry: &Map<String, Value> = entry.as_object().expect("an entry");
        let block = "  us:\n    enabled: true\n    headers:\n      A: b c\n    uri: http://h/mcp\n";
        // `@` is where it comes.
        for text in [
            "extensions: {}\n=extensions:\n@",
            "extensions: {} # c\nA: b\n=extensions: # c\n@A: b\n",
            "extensions:\n  one: # c\n    args: [a,\n      b]\n    text: |\n      x\n@# end\nA: b\n",
            "A: b\nextensions:\n  one:\n    envs: {}\n    list:\n    - x\n@",
            "# c\r\nextensions:\r\n  one:\r\n    a: 1\r\n@B: 2\r\n",
        ] {
            let (before, expected) = text.split_once('=').unwrap_or((text, text));
            let before = before.replace('@', "");
            let newline = if before.contains('\r') { "\r\n" } else { "\n" };
            let expected = expected.replace('@', &block.replace('\n', newline));
            let with = put(&before, "extensions", "us", entry).expect("it can be put in");
            assert_eq!(with, expected);
            assert_eq!(put(&with, "extensions", "us", entry).as_deref(), Ok(&*with));
            assert_eq!(take_out(&with, "extensions", "us"), Ok(before));
        }
        for before in [
            "",
            "# c\nA: b",
            "extensions:\nA: b\n",
            "{extensions: {a: {b: 1}}}\n",
        ] {
            let with = put(before, "extensions", "us", entry).expect("it can be put in");
            let now = read(&with).expect("it is sound");
            assert_eq!(now["extensions"]["us"].as_object(), Some(entry), "{with}");
        }
    }
}
