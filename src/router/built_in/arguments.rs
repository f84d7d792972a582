//! Reads the arguments of built-in tools. An unknown argument is an error, so that no tool does something else than was meant. Pure.

use crate::{
    gate::Variant,
    text::{cut::beginning, names, some_of},
    wire::{LONGEST_NAME, LONGEST_URI, Raw},
};

/// Bytes of an unknown key that an error repeats.
const SHOWN: usize = 64;

/// How many wrong keys an error names.
const MOST_NAMED: usize = 12;

/// How many known keys it names then.
const MOST_KNOWN: usize = 8;

/// Checks that an object has only these keys or `aliases`, and each once. The error names all wrong keys; `place` says where they are.
pub(super) fn check_keys(
    object: &Raw,
    place: &str,
    known: &[impl AsRef<str>],
    aliases: &[&str],
) -> Result<(), String> {
    let (mut seen, mut wrong): (u64, Vec<String>) = (0, Vec::new());
    let mut lists_known = false;
    for member in object.members() {
        if wrong.len() == MOST_NAMED {
            break;
        }
        let named = known.iter().map(AsRef::as_ref);
        let mut all = named.chain(aliases.iter().copied());
        let Some(i) = all.position(|key| member.is(object.as_bytes(), key)) else {
            // A key that is not Unicode is unknown.
            let key = member.name(object.as_bytes()).unwrap_or_default();
            let close = names::closest(&key, known.iter().map(AsRef::as_ref));
            lists_known |= close.is_none();
            wrong.push(unknown(&key, place, close));
            continue;
        };
        let bit = 1 << i;
        if seen & bit != 0 {
            let key = member.name(object.as_bytes()).unwrap_or_default();
            wrong.push(format!("\"{key}\" is {place} twice"));
        }
        seen |= bit;
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let mut wrong = wrong.join(", and ");
    if lists_known {
        wrong.extend(["; known: ", &some_of(known, MOST_KNOWN)]);
    }
    Err(wrong)
}

/// Arguments that name a server or a thing of a server, and the most bytes of such a name.
const NAMES: [(&str, usize); 5] = [
    ("name", LONGEST_NAME),
    ("names", LONGEST_NAME),
    ("path", LONGEST_URI),
    ("server", LONGEST_NAME),
    ("tool", LONGEST_NAME),
];

/// Checks that each name in the arguments is short enough, as [`Thing::check_length`](crate::wire::Thing::check_length) does for requests.
pub(super) fn check_names(arguments: &Raw) -> Result<(), String> {
    let given = arguments.look_up(NAMES.map(|(key, _)| key));
    for ((key, most), found) in NAMES.into_iter().zip(given) {
        if found.value.is_some_and(|value| is_longer(&value, most)) {
            return Err(format!("\"{key}\" is longer than {} KiB", most >> 10));
        }
    }
    Ok(())
}

/// Whether a text, or one in a list of texts, has more bytes.
fn is_longer(value: &Raw, most: usize) -> bool {
    // A text is never longer than its JSON.
    let may_be = |value: &Raw| value.as_bytes().len() > most;
    let is = |text: Option<String>| text.is_some_and(|text| text.len() > most);
    may_be(value)
        && (is(value.string()) || value.elements().any(|one| may_be(&one) && is(one.string())))
}

fn unknown(key: &str, place: &str, close: Option<&str>) -> String {
    let meant = close.map(|close| format!(" (did you mean \"{close}\"?)"));
    let (shown, meant) = (beginning(key, SHOWN), meant.unwrap_or_default());
    format!("\"{shown}\" is unknown {place}{meant}")
}

/// An argument that is a text; `None` if it is absent or null. The error names it.
pub(super) fn string(arguments: &Raw, key: &str) -> Result<Option<String>, String> {
    let Some(value) = arguments.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let text = value.string().map(Some);
    text.ok_or_else(|| no_text(key, value.as_str()))
}

/// Why a value is no text: it is not a string, or contains a lone surrogate, which JSON can write but Unicode does not have.
fn no_text(key: &str, json: &str) -> String {
    if json.starts_with('"') {
        return format!("\"{key}\" contains half of a character (a lone \\uD800 to \\uDFFF)");
    }
    format!("\"{key}\" is not a string")
}

/// An argument that is a text; `None` if it is anything else.
pub(super) fn stated(arguments: &Raw, key: &str) -> Option<String> {
    arguments.get(key)?.string()
}

/// An argument that must be there and be a text.
pub(super) fn required(arguments: &Raw, key: &str) -> Result<String, String> {
    string(arguments, key)?.ok_or_else(|| format!("\"{key}\" is missing"))
}

/// An argument that is a whole number of at least `least`. Models also write numbers as texts.
pub(super) fn number(arguments: &Raw, key: &str, least: usize) -> Result<Option<usize>, String> {
    let Some(value) = arguments.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let text = value.string().unwrap_or_else(|| value.as_str().to_owned());
    let text = text.trim();
    let text = text.strip_suffix(".0").unwrap_or(text);
    match text.parse() {
        Ok(count) if count >= least => Ok(Some(count)),
        _ if text.parse::<i64>().is_ok() => {
            Err(format!("\"{key}\" must be at least {least}, not {text}"))
        }
        _ => Err(format!(
            "\"{key}\" must be a whole number of at least {least}"
        )),
    }
}

/// An argument that is true or false; false if it is absent.
pub(super) fn flag(arguments: &Raw, key: &str) -> Result<bool, String> {
    let value = arguments.get(key).filter(|value| !value.is_null());
    match value.as_ref().map(Raw::as_str) {
        None | Some("false" | "\"false\"") => Ok(false),
        Some("true" | "\"true\"") => Ok(true),
        Some(_) => Err(format!("\"{key}\" is not true or false")),
    }
}

/// The keys under which a call may give the arguments for the upstream: as an object, or as JSON text of one.
pub(super) const ARGUMENT_KEYS: [&str; 3] = ["args", "arguments", "args_json"];

/// The arguments for the upstream, byte for byte. Ambiguous ones are refused.
///
/// # Errors
///
/// What is wrong with them.
pub fn passed_on(call: &Raw) -> Result<Option<Raw>, String> {
    let found = call.look_up(ARGUMENT_KEYS).map(|found| found.value);
    let given = ARGUMENT_KEYS.iter().zip(&found);
    let given = given.filter_map(|(key, value)| Some((*key, value.as_ref()?)));
    // Models fill arguments that they leave out with null.
    let (nulls, values): (Vec<_>, Vec<_>) = given.partition(|(_, value)| value.is_null());
    match (&values[..], &nulls[..]) {
        ([], []) => Ok(None),
        ([], [(key, _), ..]) => Err(format!("\"{key}\" is null")),
        ([(key, value)], _) => object(key, value).map(Some),
        ([(first, _), (second, _), ..], _) => Err(format!(
            "\"{first}\" and \"{second}\" are both given; give one"
        )),
    }
}

fn object(key: &str, value: &Raw) -> Result<Raw, String> {
    let object = match value.string() {
        Some(text) if text.trim().is_empty() => return Err(format!("\"{key}\" is empty")),
        Some(text) if text.trim_start().starts_with('{') => {
            Raw::parse_str(&text).map_err(|error| format!("the text in \"{key}\" is {error}"))?
        }
        None if key == "args_json" => {
            return Err("\"args_json\" is not a string; an object goes into \"args\"".to_owned());
        }
        None if value.is_object() => value.clone(),
        _ => return Err(format!("\"{key}\" is not an object")),
    };
    // JSON text was not checked with the message.
    if let Some(why) = object.why_unreadable() {
        return Err(format!("\"{key}\" {why}"));
    }
    // Nobody knows here which of the two values a server takes.
    match object.repeated_key() {
        Some(name) => Err(format!(
            "\"{}\" is in \"{key}\" twice",
            beginning(&name, SHOWN)
        )),
        None => Ok(object),
    }
}

/// A call of a server's tool that comes over REST, with the arguments of `call_tool_*`.
#[derive(Debug)]
pub struct ToolRequest {
    /// `read`, `write` or `destructive`; the tool's own where it says nothing.
    pub variant: Option<Variant>,
    /// The tool, as it was written.
    pub name: String,
    /// The arguments for the upstream.
    pub arguments: Option<Raw>,
}

impl ToolRequest {
    /// Reads a request. An unknown or repeated key is an error that names it.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(request: &Raw) -> Result<Self, String> {
        if !request.is_object() {
            return Err("it is not an object".to_owned());
        }
        let known = ["variant", "name", "args", "args_json"];
        check_keys(request, "in the request", &known, &["arguments"])?;
        check_names(request)?;
        let variant = string(request, "variant")?.map(|text| {
            let why = || format!("the variant {text:?} is not read, write or destructive");
            Variant::parse(&text).ok_or_else(why)
        });
        Ok(Self {
            variant: variant.transpose()?,
            name: required(request, "name")?.trim().to_owned(),
            arguments: passed_on(request)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_must_be_known_and_stand_once() {
        let check = |object: &str, expected: Result<(), &str>| {
            let object = Raw::parse_str(object).expect("JSON");
            let checked = check_keys(&object, "here", &["name"], &["args"]);
            assert_eq!(checked.as_ref().map_err(String::as_str).copied(), expected);
        };
        check("{}", Ok(()));
        check(r#"{"args":1,"n\u0061me":null}"#, Ok(()));
        let near = "\"nam\" is unknown here (did you mean \"name\"?)";
        check(r#"{"args":1,"nam":1}"#, Err(near));
        check(r#"{"day":1}"#, Err("\"day\" is unknown here; known: name"));
        let both = "\"day\" is unknown here, and \"nam\" is unknown here (did you mean \"name\"?); known: name";
        check(r#"{"day":1,"nam":1}"#, Err(both));
        check(r#"{"args":1,"args":1}"#, Err("\"args\" is here twice"));
        let hidden = r#"{"name":1,"n\u0061me":1}"#;
        check(hidden, Err("\"name\" is here twice"));
        let long = format!(r#"{{"{}":1}}"#, "ä".repeat(1000));
        let shown = format!("\"{}\" is unknown here; known: name", "ä".repeat(32));
        check(&long, Err(&shown));
    }

    #[test]
    fn a_name_has_a_length() {
        let check = |key: &str, value: &str, expected: Result<(), &str>| {
            let arguments = Raw::parse_str(&format!(r#"{{"{key}":{value}}}"#)).expect("JSON");
            let checked = check_names(&arguments);
            assert_eq!(checked.as_ref().map_err(String::as_str).copied(), expected);
        };
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        for key in ["name", "server", "tool"] {
            let long = format!("\"{key}\" is longer than 8 KiB");
            check(key, &text(8192), Ok(()));
            check(key, &text(8193), Err(&long));
            check(key, &format!("\"{}\"", "\\u0078".repeat(8192)), Ok(()));
        }
        let list = |length| format!("[\"a\",{}]", text(length));
        check("names", &list(8192), Ok(()));
        check("names", &list(8193), Err("\"names\" is longer than 8 KiB"));
        check("path", &text(65_536), Ok(()));
        check("path", &text(65_537), Err("\"path\" is longer than 64 KiB"));
        check("args", &text(100_000), Ok(()));
    }

    #[test]
    fn a_request_that_may_mean_something_else_is_none() {
        let check = |more: &str, expected: Result<Option<&str>, &str>| {
            let request = format!(r#"{{"name":"a:b","variant":"read"{more}}}"#);
            let request = Raw::parse_str(&request).expect("JSON");
            let read = ToolRequest::read(&request).map(|read| read.arguments);
            let read = read.as_ref().map(|read| read.as_ref().map(Raw::as_str));
            assert_eq!(read.map_err(String::as_str), expected, "{more}");
        };
        check("", Ok(None));
        check(r#","args":{"d":1.0}"#, Ok(Some(r#"{"d":1.0}"#)));
        check(r#","arguments":{"d":1.0}"#, Ok(Some(r#"{"d":1.0}"#)));
        check(r#","args_json":"{\"d\":1.0}""#, Ok(Some(r#"{"d":1.0}"#)));
        check(r#","args":"{\"d\":1.0}""#, Ok(Some(r#"{"d":1.0}"#)));
        for two in [
            r#","args":{"d":1,"\u0064":2}"#,
            r#","args":"{\"d\":1,\"d\":1}""#,
            r#","args":{"a":[{"d":1,"d":2}]}"#,
        ] {
            check(two, Err("\"d\" is in \"args\" twice"));
        }
        check(r#","args":null"#, Err("\"args\" is null"));
        check(r#","args":1"#, Err("\"args\" is not an object"));
        let both = "\"args\" and \"arguments\" are both given; give one";
        check(r#","args":{},"arguments":{}"#, Err(both));
        check(
            r#","args":{},"args":{}"#,
            Err("\"args\" is in the request twice"),
        );
        let near = "\"argz\" is unknown in the request (did you mean \"args\"?)";
        check(r#","argz":{}"#, Err(near));
    }
}
