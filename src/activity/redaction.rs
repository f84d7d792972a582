//! Redacts and cuts values from outside for records. Secrets of the configuration are always masked; what looks like a credential is masked
//! unless the settings keep values in full.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem::Finder;

use super::walk::{Bounds, Walk, record_text};
use crate::{
    config::Kept,
    runtime::sync::Guarded,
    text::{MASK, Secrets, redact},
    wire::Raw,
};

/// Limit: bytes of params or a result that a record has at all; of larger ones it has only the size.
pub(super) const LARGEST_BODY: usize = 64 << 10;

/// The bounds of a redacted value, and of one that is kept in full.
const REDACTED: Bounds = Bounds {
    text: 512,
    total: 4 << 10,
};
const FULL: Bounds = Bounds {
    text: LARGEST_BODY,
    total: LARGEST_BODY,
};

/// Limit: bytes of JSON that is within all bounds.
const SMALL: usize = REDACTED.text;

/// Limit: bytes of a name, and of a sentence.
pub(super) const NAME: usize = 256;
const SENTENCE: usize = 1_024;

/// Redacts by the secrets of the settings in force.
#[derive(Debug, Default)]
pub struct Redaction {
    secrets: Secrets,
    /// Whether one of them may be part of a number, which JSON can write in several ways.
    has_numbers: bool,
    /// The implementation of the latest call's client, and its shown form: it seldom changes from call to call.
    client: Guarded<Option<(Raw, Option<String>)>>,
}

impl Redaction {
    /// Redacts these secrets.
    pub fn new(secrets: Secrets) -> Self {
        Self {
            has_numbers: secrets.any(is_of_numbers),
            secrets,
            client: Guarded::default(),
        }
    }

    /// The name and version in a client's implementation.
    pub(super) fn client(&self, info: &Raw) -> Option<String> {
        let mut last = self.client.lock();
        if let Some((of, shown)) = &*last
            && of == info
        {
            return shown.clone();
        }
        let text = |key| info.get(key).and_then(|text| text.string());
        let parts = [text("name"), text("version")];
        let named: Vec<String> = parts
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect();
        let shown = (!named.is_empty()).then(|| self.name(&named.join(" ")));
        *last = Some((info.detached(), shown.clone()));
        shown
    }

    /// A redacted name of a client, a tool or a method.
    pub fn name(&self, text: &str) -> String {
        self.redacted(text, NAME)
    }

    /// A redacted sentence, such as a reason or an error.
    pub fn sentence(&self, text: &str) -> String {
        self.redacted(text, SENTENCE)
    }

    /// The first `characters` of a text, redacted, and the number of masked values in them.
    pub(super) fn beginning(&self, text: &str, characters: usize) -> (String, u64) {
        let end = text.char_indices().nth(characters);
        let longest = end.map_or(text.len(), |(at, _)| at);
        let kept = self.redacted(text, longest);
        let masked = masked(text.as_bytes(), kept.as_bytes());
        (kept, masked)
    }

    fn redacted(&self, text: &str, longest: usize) -> String {
        record_text(&self.secrets, text, longest)
    }

    /// A redacted and cut value; `None` if such values are not kept.
    pub fn value(&self, raw: &Raw, kept: Kept) -> Option<Raw> {
        let (bounds, guesses) = match kept {
            Kept::Off => return None,
            Kept::Redacted => (REDACTED, true),
            Kept::Full => (FULL, false),
        };
        if raw.as_bytes().len() <= SMALL && self.is_harmless(raw.as_str()) {
            return Some(raw.detached());
        }
        Some(Walk::new(&self.secrets, guesses, bounds).value(raw))
    }

    /// Whether redaction would leave this JSON as it is.
    fn is_harmless(&self, json: &str) -> bool {
        redact::is_harmless_json(json)
            && matches!(self.secrets.redacted(json), Cow::Borrowed(_))
            && !(self.has_numbers && has_exponent(json.as_bytes()))
    }
}

/// The number of values that were masked in `kept`, the redacted form of `before`.
pub(super) fn masked(before: &[u8], kept: &[u8]) -> u64 {
    static MASKS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(MASK));
    let count = |text: &[u8]| MASKS.find_iter(text).count();
    let after = count(kept);
    // `before` needs no search for most values.
    let masked = if after == 0 {
        0
    } else {
        after.saturating_sub(count(before))
    };
    u64::try_from(masked).unwrap_or(u64::MAX)
}

/// Whether a text has only characters of numbers.
fn is_of_numbers(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b".-+e".contains(&byte);
    text.bytes().all(is_part)
}

/// Whether JSON may have a number with an exponent, in which a secret would be written differently.
fn has_exponent(json: &[u8]) -> bool {
    json.windows(2)
        .any(|pair| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E'))
}

/// The redacted URI of a resource, which may have credentials in it.
pub(super) fn uri(redaction: &Redaction, uri: &str) -> String {
    redaction.redacted(uri, 4 * NAME)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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
    fn what_looks_like_a_credential_is_redacted_wherever_it_stands() {
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
        check(r#"{"pin":123,"token":5}"#, r#"{"pin":123,"token":"***"}"#);
    }

    #[test]
    fn secrets_are_redacted_in_lists_pairs_and_texts_of_several_lines() {
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
    fn secrets_of_the_configuration_are_redacted_in_any_case() {
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
    fn a_secret_that_is_a_number_is_redacted_however_the_number_is_written() {
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
    fn a_secret_that_is_escaped_in_json_is_redacted() {
        for secret in ["two\nlines", "with a \"quote\"", "tab\tand more"] {
            let redaction = Redaction::new(Secrets::new([secret.to_owned()]));
            let raw = Raw::author(&format!("say {secret}, please"));
            let shown = redaction.value(&raw, Kept::Redacted).expect("kept");
            assert_eq!(shown.as_str(), r#""say ***, please""#, "{secret:?}");
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
