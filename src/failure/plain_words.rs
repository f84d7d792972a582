//! The errors of parsers and deserializers in plain words: which parameter or key is wrong, and what it takes. Pure.

/// The errors of libraries about a value, each with its meaning.
const OF_VALUES: [(&str, &str); 4] = [
    ("invalid digit found in string", "must be a whole number"),
    (
        "cannot parse integer from empty string",
        "is empty; it must be a whole number",
    ),
    (
        "number too large to fit in target type",
        "must be a smaller number",
    ),
    (
        "provided string was not `true` or `false`",
        "must be true or false",
    ),
];

/// The names of libraries for kinds of values, each with its plain name. A name with which a longer one begins stands after that one.
const KINDS: [(&str, &str); 12] = [
    ("string or map", "a string"),
    ("string ", "the string "),
    ("a sequence", "a list"),
    ("sequence", "a list"),
    ("a map", "an object"),
    ("map", "an object"),
    ("struct ", "an object"),
    ("a boolean", "true or false"),
    ("boolean ", ""),
    ("integer ", "the number "),
    ("floating point ", "the number "),
    ("unit", "null"),
];

/// The error of a library in plain words; unchanged if it is unknown.
pub fn in_plain_words(text: &str) -> String {
    let text = ["Failed to deserialize query string: ", "Invalid URL: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    if let Some(words) = of_the_whole(text) {
        return words;
    }
    let named = text.split_once(": ").filter(|(name, _)| is_name(name));
    let words = named.and_then(|(name, rest)| {
        let words = of_the_whole(rest).map(|words| {
            // The path of an unknown key ends in the key.
            let is_named = words.starts_with(&format!("`{name}`"));
            if is_named {
                words
            } else {
                format!("in `{name}`, {words}")
            }
        });
        words.or_else(|| of_a_value(rest).map(|words| format!("`{name}` {words}")))
    });
    words
        .or_else(|| of_a_value(text).map(|words| format!("it {words}")))
        .unwrap_or_else(|| text.to_owned())
}

/// A text for a model: with quotes instead of backticks, as in JSON.
pub fn for_model(text: &str) -> String {
    text.replace('`', "\"")
}

/// Whether this may be the path of a value, such as `options.limit` or `servers[0]`.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']'))
}

/// The plain words for a key that is missing, given twice, or unknown.
fn of_the_whole(text: &str) -> Option<String> {
    if let Some(name) = text.strip_prefix("missing field ") {
        return Some(format!("{name} is missing"));
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return Some(format!("{name} is given twice"));
    }
    if let Some(rest) = text.strip_prefix("Cannot parse ") {
        let (value, _) = rest.split_once(" to a ")?;
        return Some(format!("{value} is not a whole number"));
    }
    let (name, known) = text.strip_prefix("unknown field ")?.split_once(", ")?;
    let known = choices(known).map(|known| format!("; use {known}"));
    Some(format!("{name} is unknown{}", known.unwrap_or_default()))
}

/// The plain words for a wrong value.
fn of_a_value(text: &str) -> Option<String> {
    let known = OF_VALUES.iter().find(|(theirs, _)| *theirs == text);
    if let Some((_, words)) = known {
        return Some((*words).to_owned());
    }
    // Our own words for a value of several kinds.
    if text.starts_with("must be ") {
        return Some(text.to_owned());
    }
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        let (value, known) = rest.split_once(", ")?;
        return Some(format!("must be {}, not {value}", choices(known)?));
    }
    let rest = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = rest.iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let (value, wanted) = rest.rsplit_once(", expected ")?;
    Some(format!("must be {}, not {}", kind(wanted), kind(value)))
}

/// `expected one of a, b, c`, `expected a or b`, as `a, b or c`.
fn choices(text: &str) -> Option<String> {
    let known = text.strip_prefix("expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(match known.rsplit_once(", ") {
        Some((first, last)) => format!("{first} or {last}"),
        None => known.to_owned(),
    })
}

fn kind(name: &str) -> String {
    let is_number = ["u8", "u16", "u32", "u64", "usize", "i32", "i64"].contains(&name);
    if is_number {
        return "a whole number".to_owned();
    }
    let known = KINDS
        .iter()
        .find_map(|(theirs, ours)| Some((name.strip_prefix(theirs)?, *theirs, *ours)));
    match known {
        // The name of an own type means nothing to a reader.
        Some((_, "struct ", ours)) => ours.to_owned(),
        Some((value, _, ours)) => format!("{ours}{}", value.replace('`', "")),
        None => name.to_owned(),
    }
}

/// A mistake in a script, from the words of its parser.
pub fn script_mistake(text: &str) -> String {
    match text.split_once("unexpected token in expression: ") {
        Some((_, "''")) => return "the script is incomplete".to_owned(),
        Some((_, token)) => return format!("unexpected {token}"),
        None => (),
    }
    let missing = text.strip_prefix("expecting ");
    missing.map_or_else(|| text.to_owned(), |token| format!("{token} is missing"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn what_libraries_say_names_the_parameter_and_what_it_takes() {
        for (words, expected) in [
            (
                "Failed to deserialize query string: missing field `command`",
                "`command` is missing",
            ),
            (
                "Failed to deserialize query string: limit: invalid digit found in string",
                "`limit` must be a whole number",
            ),
            (
                "Failed to deserialize query string: explain: provided string was not `true` or `false`",
                "`explain` must be true or false",
            ),
            ("duplicate field `q`", "`q` is given twice"),
            (
                "Cannot parse `abc` to a `u64`",
                "`abc` is not a whole number",
            ),
            (
                "unknown field `foo`, expected one of `a`, `b`",
                "`foo` is unknown; use `a` or `b`",
            ),
            (
                "kind: unknown variant `x`, expected `a` or `b`",
                "`kind` must be `a` or `b`, not `x`",
            ),
            (
                "foo: unknown field `foo`, expected `a` or `b`",
                "`foo` is unknown; use `a` or `b`",
            ),
            ("options: missing field `a`", "in `options`, `a` is missing"),
            (
                "calls: invalid type: sequence, expected string or map",
                "`calls` must be a string, not a list",
            ),
            ("a: b: c", "a: b: c"),
            (
                "`since` is 1h or 24h, not \"3h\"",
                "`since` is 1h or 24h, not \"3h\"",
            ),
        ] {
            assert_eq!(in_plain_words(words), expected);
        }
    }

    #[test]
    fn values_of_another_kind_are_named_as_people_do() {
        #[derive(Debug, Deserialize)]
        struct All {
            #[serde(rename = "text")]
            _text: Option<String>,
            #[serde(rename = "list")]
            _list: Option<Vec<u32>>,
            #[serde(rename = "yes")]
            _yes: Option<bool>,
            #[serde(rename = "object")]
            _object: Option<std::collections::BTreeMap<String, u8>>,
        }
        for (body, expected) in [
            (r#"{"text":5}"#, "`text` must be a string, not the number 5"),
            (r#"{"text":[1]}"#, "`text` must be a string, not a list"),
            (r#"{"text":{}}"#, "`text` must be a string, not an object"),
            (
                r#"{"list":"x"}"#,
                "`list` must be a list, not the string \"x\"",
            ),
            (
                r#"{"list":[1,true]}"#,
                "`list[1]` must be a whole number, not true",
            ),
            (
                r#"{"list":[1.5]}"#,
                "`list[0]` must be a whole number, not the number 1.5",
            ),
            (
                r#"{"yes":1}"#,
                "`yes` must be true or false, not the number 1",
            ),
            (r#"{"object":[]}"#, "`object` must be an object, not a list"),
        ] {
            let value: serde_json::Value = serde_json::from_str(body).expect("JSON");
            let error = serde_path_to_error::deserialize::<_, All>(value).expect_err("wrong");
            assert_eq!(in_plain_words(&error.to_string()), expected, "{body}");
        }
    }
}
