//! Whether the structured content of a result says what its texts say. Pure.

use crate::{trust::fingerprint::Fingerprint, wire::Raw};

/// Whether every value of `structured` stands in the texts. Some servers wrap a value that is no object as the only member of an object
/// (`result`, `content`), and give each element of a list its own text.
pub(super) fn says_the_same(structured: &Raw, texts: &[&str]) -> bool {
    if let [only] = texts
        && is_value(structured, only)
    {
        return true;
    }
    let mut members = structured.members();
    let (Some(member), None) = (members.next(), members.next()) else {
        return false;
    };
    let wrapped = structured.part(member.value);
    if let [only] = texts
        && is_same_text(&wrapped, only)
    {
        return true;
    }
    let is_list = wrapped.as_bytes().first() == Some(&b'[');
    is_list
        && wrapped.elements().count() == texts.len()
        && wrapped
            .elements()
            .zip(texts)
            .all(|(element, text)| is_same_text(&element, text))
}

fn is_same_text(value: &Raw, text: &str) -> bool {
    value.string().is_some_and(|string| string == text) || is_value(value, text)
}

/// Whether a text is this value, however it is spaced and its keys are ordered.
fn is_value(value: &Raw, text: &str) -> bool {
    Raw::parse_str(text)
        .is_ok_and(|parsed| Fingerprint::of_value(&parsed) == Fingerprint::of_value(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_told_from_what_is_not() {
        let check = |structured: &str, texts: &[&str], expected: bool| {
            let structured = Raw::parse_str(structured).expect("JSON");
            assert_eq!(says_the_same(&structured, texts), expected, "{texts:?}");
        };
        check(
            r#"{"a":[1,2.0],"b":"x"}"#,
            &["{\n  \"b\": \"\\u0078\",\n  \"a\": [1, 2.0]\n}"],
            true,
        );
        check(r#"{"a":[1,2.0]}"#, &[r#"{"a":[1,2]}"#], false);
        check(r#"{"result":"some text"}"#, &["some text"], true);
        check(r#"{"content":"some text"}"#, &["some text"], true);
        check(r#"{"content":"some text"}"#, &["some other text"], false);
        check(r#"{"result":[1,2]}"#, &["[1,2]"], true);
        check(
            r#"{"result":[{"a":1},"two"]}"#,
            &[r#"{"a": 1}"#, "two"],
            true,
        );
        check(r#"{"result":[{"a":1}]}"#, &[r#"{"a":1}"#], true);
        check(r#"{"result":[1,2]}"#, &["1"], false);
        check(r#"{"result":1,"more":2}"#, &["1"], false);
        check(r#"{"a":1}"#, &["Found one"], false);
        check(r#"{"a":1}"#, &[r#"{"a":1}"#, "and more"], false);
    }
}
