//! Sets or removes one value in the text of another program's JSON file, and leaves every other byte as it is.

use jsonc_parser::ast;
use serde_json::{Map, Value};

use super::{
    ConfigError,
    document::{self, split_mark, tree},
    tree as places,
};

/// The text with a value under these keys. Missing objects on the way are created, and a text without a value becomes an object. Nothing if
/// a value on the way is not an object.
pub fn json_with(
    text: &str,
    keys: &[String],
    value: &Value,
) -> Result<Option<String>, ConfigError> {
    let (mark, json) = split_mark(text);
    let whole = places::with_a_value(json, tree(json)?.as_ref());
    let before = document::json_of(&whole)?;
    let Some(expected) = with(before, keys, value) else {
        return Ok(None);
    };
    let edited = places::set(&whole, vec![], keys, value)?;
    Ok(has_value(&edited, &expected).then(|| format!("{mark}{edited}")))
}

/// The text with what another text has under these keys, in the words of that one. Nothing if it cannot be put in.
pub fn json_with_written(text: &str, keys: &[String], other: &str) -> Option<String> {
    const MARK: &str = "the value of another text";
    let written = places::written(split_mark(other).1, keys)?;
    let marked = json_with(text, keys, &MARK.into()).ok()??;
    Some(marked.replace(&format!("{MARK:?}"), written))
}

/// The text without the value under these keys. Nothing if it cannot be removed.
pub fn json_without(text: &str, keys: &[String]) -> Result<Option<String>, ConfigError> {
    let (mark, json) = split_mark(text);
    let mut expected = document::json_of(json)?;
    if let Some((last, way)) = keys.split_last() {
        let inside = way
            .iter()
            .try_fold(&mut expected, |value, key| value.get_mut(key));
        if let Some(inside) = inside.and_then(Value::as_object_mut) {
            inside.shift_remove(last);
        }
    }
    let edited = places::remove(json, vec![], keys)?;
    Ok(has_value(&edited, &expected).then(|| format!("{mark}{edited}")))
}

/// Whether an edited text has the expected value. With repeated keys it may not.
fn has_value(edited: &str, expected: &Value) -> bool {
    let is_object = matches!(tree(edited), Ok(Some(ast::Value::Object(_))));
    is_object && document::json_of(edited).is_ok_and(|found| found == *expected)
}

/// The value with `value` under these keys, to compare the edited text with.
fn with(mut root: Value, keys: &[String], value: &Value) -> Option<Value> {
    let mut at = &mut root;
    for key in keys {
        let member = at.as_object_mut()?.entry(key);
        at = member.or_insert_with(|| Map::new().into());
    }
    *at = value.clone();
    Some(root)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{json_with, json_with_written, json_without};

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn a_value_is_put_in_and_everything_else_stays() {
        let entry = json!({ "url": "u" });
        let path = keys(&["servers", "us"]);
        let check = |text: &str, expected: &str| {
            let with = json_with(text, &path, &entry)
                .expect("JSON")
                .expect("an object");
            assert_eq!(with, expected);
            assert!(
                !json_without(&with, &path)
                    .expect("JSON")
                    .expect("an object")
                    .contains("\"us\"")
            );
        };
        check(
            "",
            "{\n  \"servers\": {\n    \"us\": {\n      \"url\": \"u\"\n    }\n  }\n}\n",
        );
        check(
            "\u{feff}{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": 1, // one\n\t},\n}\n",
            "\u{feff}{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": 1, // one\n\t\t\"us\": {\n\t\t\t\"url\": \"u\"\n\t\t},\n\t},\n}\n",
        );
        for refused in ["[]", "7", "{\"servers\": []}", "{\"servers\": null}"] {
            assert_eq!(json_with(refused, &path, &entry), Ok(None), "{refused}");
        }
        assert!(json_with("{", &path, &entry).is_err());
    }

    #[test]
    fn a_value_of_another_text_keeps_its_words() {
        let other = r#"{"s": {"a": { "b": 1, // c
 } } }"#;
        let with = json_with_written(r#"{"s": {"x": 2}}"#, &keys(&["s", "a"]), other);
        let with = with.expect("both are objects");
        assert!(with.contains("\"a\": { \"b\": 1, // c\n }"), "{with}");
        assert_eq!(json_with_written("{}", &keys(&["t"]), other), None);
    }
}
