//! What of values that strangers wrote may stand in a record: secrets of the configuration never, what looks like a credential only
//! where everything is wanted; and of everything only so much.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use memchr::memmem::Finder;
use serde_json::{Map, Value};

use crate::{
    config::{self, Kept, TextsOfList},
    runtime::sync::Guarded,
    text::secret::{MASK, Secrets},
    wire::Raw,
};

/// Limit: bytes of params and results of which more than the size is recorded, and of what a record keeps of one.
pub(super) const LARGEST_BODY: usize = 64 << 10;

/// Limit: bytes of one text, and of all that is kept of a value.
const REDACTED: Bounds = Bounds {
    text: 512,
    total: 4 << 10,
};
const FULL: Bounds = Bounds {
    text: LARGEST_BODY,
    total: LARGEST_BODY,
};

/// Limit: bytes of a value that is within all bounds, whatever it is made of.
const SMALL: usize = REDACTED.total / 4;

/// Limit: bytes of a name or of a sentence.
pub(super) const NAME: usize = 256;
const SENTENCE: usize = 1_024;

/// Limit: names that are remembered.
const MOST_NAMES: usize = 1_024;

/// Limit: how deep a value is looked into.
const DEPTH: usize = 24;

/// Members whose own members are variables or headers, which may be secret whatever their names are.
const HOLDERS: [&str; 4] = ["env", "env_json", "headers", "headers_json"];

/// What their names begin with.
static HOLDER: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| ["env", "headers"].map(Finder::new));

/// A name whose value is masked in all its parts.
const SECRET: &str = "secret";

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

#[derive(Clone, Copy)]
struct Bounds {
    text: usize,
    total: usize,
}

/// Masks by the secrets of the settings in force.
#[derive(Debug, Default)]
pub struct Redaction {
    secrets: Secrets,
    /// Whether one of them may stand in a number, which can be written otherwise.
    has_numbers: bool,
    /// Whether one of them is written otherwise in a text of JSON.
    has_escapes: bool,
    /// Names as they are shown: the same come again and again.
    names: Guarded<HashMap<Box<str>, Arc<str>>>,
    /// What a client last said of itself, and how that is shown: most do not change from call to call.
    client: Guarded<Option<(Raw, Option<String>)>>,
}

impl Redaction {
    /// With these secrets, which are masked wherever they stand.
    pub fn new(secrets: Secrets) -> Self {
        Self {
            has_numbers: secrets.any(is_of_numbers),
            has_escapes: secrets.any(is_escaped),
            secrets,
            names: Guarded::default(),
            client: Guarded::default(),
        }
    }

    /// Whether a text has no secret in it that is known.
    fn has_no_secret(&self, text: &str) -> bool {
        matches!(self.secrets.masked(text), Cow::Borrowed(_))
    }

    /// Name and version of a client, as it says.
    pub(super) fn client(&self, info: &Raw) -> Option<String> {
        let mut last = self.client.lock();
        if let Some((of, shown)) = &*last
            && of == info
        {
            return shown.clone();
        }
        let text = |key| info.get(key).and_then(|text| text.string());
        let parts = [text("name"), text("version")];
        let said: Vec<String> = parts
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect();
        let shown = (!said.is_empty()).then(|| self.name(&said.join(" ")));
        *last = Some((info.detached(), shown.clone()));
        shown
    }

    /// A name: of a client, a tool, a method.
    pub fn name(&self, text: &str) -> String {
        if config::is_harmless(text) && self.has_no_secret(text) {
            return text.to_owned();
        }
        if let Some(shown) = self.names.lock().get(text) {
            return shown.to_string();
        }
        let shown = self.masked(text, NAME);
        if text.len() <= NAME {
            let mut names = self.names.lock();
            if names.len() >= MOST_NAMES {
                names.clear();
            }
            names.insert(text.into(), shown.as_str().into());
        }
        shown
    }

    /// A sentence: a reason, an error.
    pub fn sentence(&self, text: &str) -> String {
        self.masked(text, SENTENCE)
    }

    fn masked(&self, text: &str, longest: usize) -> String {
        // What is cut first can no longer be found as a whole, so that is done last; but nobody searches megabytes for nothing.
        let looked_at = beginning(text, longest.saturating_mul(4));
        let is_cut = looked_at.len() < text.len();
        let known = self.without_secrets(looked_at, is_cut);
        let masked = config::mask_text_for_records(&known);
        cut(&masked, longest, is_cut)
    }

    /// A text without the secrets that are known, or what was looked at of one that is cut.
    fn without_secrets<'a>(&self, text: &'a str, is_cut: bool) -> Cow<'a, str> {
        if is_cut {
            self.secrets.masked_beginning(text)
        } else {
            self.secrets.masked(text)
        }
    }

    /// A value, as far as it may be kept.
    pub fn value(&self, raw: &Raw, kept: Kept) -> Option<Raw> {
        let bounds = match kept {
            Kept::Off => return None,
            Kept::Redacted => REDACTED,
            Kept::Full => FULL,
        };
        let json = raw.as_bytes();
        let has_holder = || HOLDER.iter().any(|name| name.find(json).is_some());
        if json.len() <= SMALL
            && config::is_harmless_json(json)
            && !has_holder()
            && self.has_no_secret(raw.as_str())
            && !(self.has_numbers && has_exponent(json))
            && !(self.has_escapes && json.contains(&b'\\'))
        {
            return Some(raw.detached());
        }
        let value: Value = raw.read().ok()?;
        let mut walk = Walk {
            redaction: self,
            kept,
            bounds,
            left: bounds.total,
        };
        Some(Raw::author(&walk.value("", value, DEPTH)))
    }
}

/// Whether a text could be a part of a number as it is kept.
fn is_of_numbers(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b".-+e".contains(&byte);
    text.bytes().all(is_part)
}

/// Whether a text is written otherwise in JSON.
fn is_escaped(text: &str) -> bool {
    text.contains(|c: char| matches!(c, '"' | '\\') || c.is_control())
}

/// Whether a number may be written with an exponent.
fn has_exponent(json: &[u8]) -> bool {
    json.windows(2)
        .any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E'))
}

/// One value on its way into a record.
struct Walk<'a> {
    redaction: &'a Redaction,
    kept: Kept,
    bounds: Bounds,
    /// In bytes.
    left: usize,
}

impl Walk<'_> {
    fn value(&mut self, key: &str, value: Value, depth: usize) -> Value {
        if self.left == 0 || depth == 0 {
            return LEFT_OUT.into();
        }
        match value {
            Value::Null | Value::Bool(_) => {
                self.spend(4);
                value
            }
            Value::Number(number) => {
                let text = number.to_string();
                self.spend(text.len());
                if self.text_of(key, &text, false) == text {
                    Value::Number(number)
                } else {
                    MASK.into()
                }
            }
            Value::String(text) => self.text(key, &text, depth),
            Value::Array(elements) => Value::Array(self.array(key, elements, depth)),
            Value::Object(members) => self.object(key, members, depth),
        }
    }

    fn array(&mut self, key: &str, elements: Vec<Value>, depth: usize) -> Vec<Value> {
        let mut shown = Vec::new();
        let mut texts = TextsOfList::default();
        for element in elements {
            if self.left == 0 {
                shown.push(LEFT_OUT.into());
                break;
            }
            self.spend(2);
            let is_secret = match &element {
                Value::String(text) => texts.is_secret(text),
                Value::Number(number) => texts.is_secret(&number.to_string()),
                Value::Array(_) | Value::Object(_) => texts.is_secret_value(),
                Value::Null => false,
                Value::Bool(_) => {
                    texts.pass();
                    false
                }
            };
            let is_secret = is_secret && self.masks_guesses();
            if is_secret && !matches!(element, Value::Array(_) | Value::Object(_)) {
                shown.push(MASK.into());
            } else {
                // What stands in it is masked as the value of such a name is.
                let called = if is_secret { SECRET } else { key };
                shown.push(self.value(called, element, depth - 1));
            }
        }
        shown
    }

    /// An object, which is itself the value of a member of this name.
    fn object(&mut self, name: &str, members: Map<String, Value>, depth: usize) -> Value {
        let mut shown = Map::new();
        let says_secret = members.iter().find_map(|(key, value)| {
            let text = value.as_str()?;
            config::says_secret(key, text).then(|| text.to_owned())
        });
        let is_within_secret = config::names_a_secret(name);
        for (key, value) in members {
            if self.left == 0 {
                shown.insert(LEFT_OUT.to_owned(), LEFT_OUT.into());
                break;
            }
            self.spend(key.len() + 4);
            let shown_key = self.redaction.name(&key);
            let called = match &says_secret {
                _ if is_within_secret => name,
                Some(secret) if config::is_named_value(&key) => secret,
                // Whoever reads the record sees no other name.
                _ if config::names_a_secret(&shown_key) => &shown_key,
                _ => &key,
            };
            let value = if self.masks_guesses() && HOLDERS.contains(&key.as_str()) {
                with_values_masked(value)
            } else {
                value
            };
            let value = self.value(called, value, depth - 1);
            shown.insert(shown_key, value);
        }
        Value::Object(shown)
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) -> Value {
        // JSON in a text has names of its own that say what is secret.
        let is_json = text.trim_start().starts_with(['{', '[']);
        let inner = is_json
            .then(|| serde_json::from_str::<Value>(text).ok())
            .flatten();
        if let Some(inner) = inner {
            let shown = self.value(key, inner, depth - 1).to_string();
            return cut(&shown, self.bounds.text, false).into();
        }
        let looked_at = beginning(text, self.bounds.text.saturating_mul(4));
        let is_cut = looked_at.len() < text.len();
        let masked = self.text_of(key, looked_at, is_cut);
        let shown = cut(&masked, self.bounds.text.min(self.left), is_cut);
        self.spend(shown.len() + 2);
        shown.into()
    }

    fn text_of(&self, key: &str, text: &str, is_cut: bool) -> String {
        let known = self.redaction.without_secrets(text, is_cut);
        if self.masks_guesses() {
            config::mask_value_for_records(key, &known).into_owned()
        } else {
            known.into_owned()
        }
    }

    /// Whether what looks like a secret is masked, beside what is known to be one.
    fn masks_guesses(&self) -> bool {
        match self.kept {
            Kept::Full => false,
            Kept::Redacted | Kept::Off => true,
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// An object, also as JSON in a text, of which only the names are shown.
fn with_values_masked(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let masked = members.into_iter().map(|(name, value)| {
                let shown = if value.is_null() { value } else { MASK.into() };
                (name, shown)
            });
            Value::Object(masked.collect())
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ Value::Object(_)) => with_values_masked(inner).to_string().into(),
            _ => Value::String(text),
        },
        other => other,
    }
}

/// A text of at most so many bytes, and then whether there is more.
fn cut(text: &str, longest: usize, is_cut: bool) -> String {
    let shown = beginning(text, longest);
    if shown.len() < text.len() || is_cut {
        format!("{shown}{LEFT_OUT}")
    } else {
        text.to_owned()
    }
}

fn beginning(text: &str, longest: usize) -> &str {
    text.split_at(text.floor_char_boundary(longest)).0
}

/// A resource by its URI, which may carry credentials as an address does.
pub(super) fn uri(redaction: &Redaction, uri: &str) -> String {
    let known: Cow<'_, str> = redaction.secrets.masked(uri);
    let masked = config::mask_text_for_records(&known);
    cut(&masked, 4 * NAME, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_0123456789abcdef";

    fn redaction() -> Redaction {
        Redaction::new(Secrets::new([
            "hunter2-hunter2".to_owned(),
            "424242".to_owned(),
        ]))
    }

    #[track_caller]
    fn check(kept: Kept, value: &str, expected: &str) {
        let raw = Raw::parse_str(value).expect("JSON");
        let shown = redaction().value(&raw, kept);
        let shown = shown.as_ref().map_or("nothing", Raw::as_str);
        assert_eq!(shown, expected, "{value}");
    }

    #[test]
    fn what_looks_like_a_credential_is_masked_wherever_it_stands() {
        let check = |value: &str, expected: &str| check(Kept::Redacted, value, expected);
        check(
            r#"{"a":1.5,"b":[true,null,"x"]}"#,
            r#"{"a":1.5,"b":[true,null,"x"]}"#,
        );
        check(
            r#"{"password":"p","n":{"api_key":["k"]}}"#,
            r#"{"password":"***","n":{"api_key":["***"]}}"#,
        );
        check(
            &format!(r#"["{TOKEN}","say {TOKEN}."]"#),
            r#"["***","say ***"]"#,
        );
        check(
            r#"{"u":"https://u:p@h/x?token=1"}"#,
            r#"{"u":"https://***@h/x?token=***"}"#,
        );
        for user in [",u", "u[[", "u$${", "u]"] {
            check(
                &format!(r#"["https://{user}:p@h/x?token=1"]"#),
                r#"["https://***@h/x?token=***"]"#,
            );
        }
        check(
            r#"{"q":"its hunter2-hunter2!","n":424242,"m":4242421}"#,
            r#"{"q":"its ***!","n":"***","m":"***"}"#,
        );
        check(
            r#"{"j":"{\"token\":\"t\",\"a\":1}"}"#,
            r#"{"j":"{\"token\":\"***\",\"a\":1}"}"#,
        );
        check(
            r#"{"env":{"MODE":"x","OLD":null},"headers_json":"{\"X-A\":\"b\"}"}"#,
            r#"{"env":{"MODE":"***","OLD":null},"headers_json":"{\"X-A\":\"***\"}"}"#,
        );
        check(&format!(r#"{{"{TOKEN}":1}}"#), r#"{"***":1}"#);
        check(r#"{"to424242ken":"t"}"#, r#"{"to***ken":"***"}"#);
        check(r#"{"pin":123,"token":5}"#, r#"{"pin":123,"token":"***"}"#);
    }

    #[test]
    fn secrets_are_masked_in_lists_pairs_and_texts_of_several_lines() {
        let check = |value: &str, expected: &str| check(Kept::Redacted, value, expected);
        check(
            r#"{"args":["--password","x","--token=a b","y"]}"#,
            r#"{"args":["--password","***","--token=***","y"]}"#,
        );
        check(
            r#"{"args":["--password",1234,true]}"#,
            r#"{"args":["--password","***",true]}"#,
        );
        check(
            r#"[{"name":"DB_PASSWORD","value":"x"},{"name":"PATH","value":"y"}]"#,
            r#"[{"name":"DB_PASSWORD","value":"***"},{"name":"PATH","value":"y"}]"#,
        );
        check(
            r#"{"key":"api_key","value":["x",7]}"#,
            r#"{"key":"***","value":["***","***"]}"#,
        );
        check(
            r#"["--password",["S",1],"Bearer",{"a":["S"]},"x"]"#,
            r#"["--password",["***","***"],"Bearer",{"a":["***"]},"x"]"#,
        );
        check(
            r#"["--password",null,"S",["Authorization",{"v":"S"}]]"#,
            r#"["--password",null,"***",["Authorization",{"v":"***"}]]"#,
        );
        check(
            r#"{"args":["curl","-u","bob:S"],"u":"/x?sig=S","otp":1}"#,
            r#"{"args":["curl","-u","***"],"u":"/x?sig=***","otp":"***"}"#,
        );
        check(
            r#"[["Authorization","x y"],["Accept","z"]]"#,
            r#"[["Authorization","***"],["Accept","z"]]"#,
        );
        check(
            r#"{"password":{"value":"x","of":["y"]}}"#,
            r#"{"password":{"value":"***","of":["***"]}}"#,
        );
        check(
            r#"{"u":"postgres://u:p,q@h/db","h":"Authorization: Bearer x y"}"#,
            r#"{"u":"postgres://***@h/db","h":"Authorization: ***"}"#,
        );
        check(
            r#"{"text":"a\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb"}"#,
            r#"{"text":"a\n***\nb"}"#,
        );
        check(
            r#"["-----BEGIN PRIVATE KEY-----","MII","-----END PRIVATE KEY-----","b"]"#,
            r#"["***","***","***","b"]"#,
        );
        check(
            r#"{"env":"A=1\nDB_PASSWORD=correct horse\nB=2"}"#,
            r#"{"env":"A=1\nDB_PASSWORD=***\nB=2"}"#,
        );
        check(
            r#"{"j":" {\"token\":\"t\"}"}"#,
            r#"{"j":"{\"token\":\"***\"}"}"#,
        );
    }

    #[test]
    fn secrets_of_the_configuration_are_masked_in_any_case() {
        let value = format!(r#"{{"t":"{TOKEN}","q":"hunter2-hunter2"}}"#);
        check(
            Kept::Full,
            &value,
            &format!(r#"{{"t":"{TOKEN}","q":"***"}}"#),
        );
        check(Kept::Off, &value, "nothing");
        let name = redaction().name("a hunter2-hunter2 b");
        assert_eq!(name, "a *** b");
        let address = uri(&redaction(), "lib://h/x?code=S&n=1");
        assert_eq!(address, "lib://h/x?code=***&n=***");
        let error = redaction().sentence("failed to get /x?state=S: no");
        assert_eq!(error, "failed to get /x?state=*** no");
    }

    #[test]
    fn nothing_is_left_of_secrets_where_a_long_text_is_cut() {
        for begins_at in 0..32 {
            let text = "x".repeat(begins_at) + &"hunter2-hunter2".repeat(400);
            let value = redaction().value(&Raw::author(&text), Kept::Redacted);
            let value = value.as_ref().map_or("nothing", Raw::as_str).to_owned();
            for shown in [redaction().name(&text), redaction().sentence(&text), value] {
                assert!(shown.contains(MASK) && !shown.contains("hunt"), "{shown}");
            }
        }
    }

    #[test]
    fn a_secret_that_is_a_number_is_masked_however_the_number_is_written() {
        for value in [
            "424242",
            "42424.2e1",
            "4.24242E5",
            "424242000e-3",
            "-0.0424242",
        ] {
            check(Kept::Redacted, &format!("[{value}]"), r#"["***"]"#);
        }
        check(Kept::Redacted, "[42424.2]", "[42424.2]");
        check(Kept::Redacted, r#"["a1e5"]"#, r#"["a1e5"]"#);
    }

    #[test]
    fn a_secret_that_is_escaped_in_json_is_masked() {
        for secret in ["two\nlines", "with a \"quote\"", "tab\tand more"] {
            let redaction = Redaction::new(Secrets::new([secret.to_owned()]));
            let raw = Raw::author(&format!("say {secret}, please"));
            let shown = redaction.value(&raw, Kept::Redacted).expect("kept");
            assert_eq!(shown.as_str(), r#""say ***, please""#, "{secret:?}");
        }
    }

    #[test]
    fn what_is_harmless_is_kept_as_the_long_way_would_keep_it() {
        for value in [
            r#"{"a":"x: \"y\"\n\tz\r\n"}"#,
            r#"{"a":[1,-2.5,"b",{"c":null}],"d":""}"#,
            r#"["x y",true,[]]"#,
            r#""text""#,
        ] {
            let raw = Raw::parse_str(value).expect("JSON");
            assert!(config::is_harmless_json(raw.as_bytes()), "{value}");
            check(Kept::Redacted, value, value);
            let (redaction, kept) = (&redaction(), Kept::Redacted);
            let mut walk = Walk {
                redaction,
                kept,
                bounds: REDACTED,
                left: REDACTED.total,
            };
            let value: Value = raw.read().expect("a value");
            assert_eq!(walk.value("", value.clone(), DEPTH), value);
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let size = |kept: Kept, value: &Value| {
            let raw = Raw::author(value);
            redaction()
                .value(&raw, kept)
                .expect("kept")
                .as_bytes()
                .len()
        };
        let long = Value::String("ab ".repeat(100_000));
        let wide = Value::Array(vec!["abc".into(); 100_000]);
        let members = (0..20_000).map(|n| (n.to_string(), Value::Null));
        let object = Value::Object(members.collect());
        let mut deep = Value::Null;
        for _ in 0..60 {
            deep = Value::Array(vec![deep]);
        }
        for value in [&long, &wide, &object, &deep] {
            assert!(
                size(Kept::Redacted, value) < 3 * REDACTED.total,
                "{value:.30}"
            );
            assert!(size(Kept::Full, value) < 3 * FULL.total, "{value:.30}");
        }
        assert_eq!(size(Kept::Redacted, &long), 512 + "…".len() + 2);
        assert_eq!(
            redaction().sentence(&"ä".repeat(9_000)).len(),
            SENTENCE + "…".len()
        );
    }
}
