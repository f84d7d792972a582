//! Expands a URI template with the arguments of a call (RFC 6570). Values are texts, numbers, true and false. Where the arguments do not
//! determine one URI, the expansion fails. Pure.

use std::collections::HashSet;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::{text::percent::UNRESERVED, wire::Raw};

/// The characters that no URI may contain: those neither reserved nor unreserved.
const IN_NO_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Limit: bytes of an expanded URI. A server's template may repeat a variable as often as it likes.
const LONGEST: usize = 64 << 10;

/// How the values of an expression are written.
struct Style {
    first: &'static str,
    between: &'static str,
    /// Whether each value follows its name. Then a value may be missing.
    is_named: bool,
    encoded: &'static AsciiSet,
}

impl Style {
    fn of(operator: Option<char>) -> Option<Self> {
        let style = |first, between, is_named, encoded| Self {
            first,
            between,
            is_named,
            encoded,
        };
        Some(match operator {
            None => style("", ",", false, UNRESERVED),
            Some('+') => style("", ",", false, IN_NO_URI),
            Some('#') => style("#", ",", false, IN_NO_URI),
            Some('.') => style(".", ".", false, UNRESERVED),
            Some('/') => style("/", "/", false, UNRESERVED),
            Some(';') => style(";", ";", true, UNRESERVED),
            Some('?') => style("?", "&", true, UNRESERVED),
            Some('&') => style("&", "&", true, UNRESERVED),
            Some(_) => return None,
        })
    }
}

/// The expanded URI. The error names the wrong argument.
pub(super) fn expanded(template: &str, args: &Raw) -> Result<String, String> {
    let mut uri = String::new();
    let mut used = HashSet::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else {
            break;
        };
        uri.push_str(literal);
        expand(expression, args, &mut uri, &mut used)?;
        rest = after;
    }
    uri.push_str(rest);
    for member in args.members() {
        let name = member.name(args.as_bytes()).unwrap_or_default();
        if !used.remove(&*name) {
            let name: String = name.chars().take(64).collect();
            return Err(format!(
                "args.{name} is not a variable of {template:?}, or appears twice"
            ));
        }
    }
    Ok(uri)
}

fn expand(
    expression: &str,
    args: &Raw,
    uri: &mut String,
    used: &mut HashSet<String>,
) -> Result<(), String> {
    let operator = expression
        .chars()
        .next()
        .filter(|first| !first.is_ascii_alphanumeric() && !matches!(first, '_' | '%'));
    let unknown = || format!("\"path\": the template has the unknown expression {{{expression}}}");
    let style = Style::of(operator).ok_or_else(unknown)?;
    let names = expression.get(operator.map_or(0, char::len_utf8)..);
    let mut before = style.first;
    for name in names.unwrap_or_default().split(',') {
        let name = name.strip_suffix('*').unwrap_or(name);
        let (name, longest) = match name.split_once(':') {
            None => (name, None),
            Some((name, longest)) => (name, Some(longest.parse().map_err(|_| unknown())?)),
        };
        let Some(value) = value(args, name)? else {
            if style.is_named {
                continue;
            }
            return Err(format!("args.{name} is missing"));
        };
        used.insert(name.to_owned());
        uri.push_str(before);
        before = style.between;
        if style.is_named {
            uri.push_str(name);
            // A path parameter with an empty value has no "=" (RFC 6570, 3.2.7).
            if !(value.is_empty() && style.first == ";") {
                uri.push('=');
            }
        }
        let value: String = value.chars().take(longest.unwrap_or(usize::MAX)).collect();
        if uri.len() + value.len() > LONGEST {
            return Err(format!("\"args\" make a URI of more than {LONGEST} bytes"));
        }
        uri.extend(utf8_percent_encode(&value, style.encoded));
    }
    Ok(())
}

/// The text of an argument; `None` if it is absent or null.
pub(super) fn value(args: &Raw, name: &str) -> Result<Option<String>, String> {
    let Some(value) = args.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    if let Some(text) = value.string() {
        return Ok(Some(text));
    }
    match value.as_bytes().first() {
        Some(b'{' | b'[') => Err(format!("args.{name} must be text, a number, true or false")),
        _ => Ok(Some(value.as_str().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, args: &str, expected: Result<&str, &str>) {
        let found = expanded(template, &Raw::parse_str(args).expect("JSON"));
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, expected, "{template} {args}");
    }

    #[test]
    fn variables_get_their_values() {
        check("page://a/{n}", r#"{"n":7}"#, Ok("page://a/7"));
        check(
            "page://a/{n}",
            r#"{"n":"a/b ä{?"}"#,
            Ok("page://a/a%2Fb%20%C3%A4%7B%3F"),
        );
        check(
            "file:///{+path}",
            r#"{"path":"etc/a b"}"#,
            Ok("file:///etc/a%20b"),
        );
        check("x://y{#z}", r#"{"z":"a/b"}"#, Ok("x://y#a/b"));
        check("x:/{a,b}", r#"{"b":true,"a":1.10}"#, Ok("x:/1.10,true"));
        check("x:{/a,b}", r#"{"a":"1","b":"2"}"#, Ok("x:/1/2"));
        check("x:y{.a,b}", r#"{"a":"1","b":"2"}"#, Ok("x:y.1.2"));
        check("x:y{;a,b}", r#"{"a":"1","b":""}"#, Ok("x:y;a=1;b"));
        check("x:y{?a,b}{&c}", r#"{"b":"2","c":""}"#, Ok("x:y?b=2&c="));
        check("x:y{?a,b}", "{}", Ok("x:y"));
        check(
            "x:{a:3}/{b*}",
            r#"{"a":"äöüß","b":"c"}"#,
            Ok("x:%C3%A4%C3%B6%C3%BC/c"),
        );
        check("x:{a}{a}", r#"{"a":1}"#, Ok("x:11"));
        check("x:plain", "{}", Ok("x:plain"));
        check("x:{open", "{}", Ok("x:{open"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("x:{a}", "{}", Err("args.a is missing"));
        check("x:{a}", r#"{"a":null}"#, Err("args.a is missing"));
        check(
            "x:{a}",
            r#"{"a":[1]}"#,
            Err("args.a must be text, a number, true or false"),
        );
        check(
            "x:{a}",
            r#"{"a":1,"b":2}"#,
            Err("args.b is not a variable of \"x:{a}\", or appears twice"),
        );
        check(
            "x:{a}",
            r#"{"a":1,"a":2}"#,
            Err("args.a is not a variable of \"x:{a}\", or appears twice"),
        );
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(40 << 10));
        let too_long = "\"args\" make a URI of more than 65536 bytes";
        check("x:{a}{a}", &long, Err(too_long));
        check(
            "x:{!a}",
            r#"{"a":1}"#,
            Err("\"path\": the template has the unknown expression {!a}"),
        );
    }
}
