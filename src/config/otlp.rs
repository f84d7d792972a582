//! `otlp_endpoint`: the collector that gets the spans of calls.

use std::fmt;

use http::{Uri, uri::Scheme};

use super::{credentials, references::Text, values::schema_as};
use crate::text::{MASK, Secret, TextKind, redact::redacted};

/// The path below the configured address at which a collector takes spans (OpenTelemetry Protocol Exporter, "Endpoint URLs for OTLP/HTTP").
const TRACES: &str = "/v1/traces";

/// A collector that takes spans over HTTP. `Display` and `Debug` mask the secrets in its address.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Text")]
pub struct OtlpEndpoint {
    url: Secret,
    shown: String,
    /// The parts of the address that must not be shown.
    pub(super) secrets: Vec<Secret>,
}

schema_as!(OtlpEndpoint, String);

impl TryFrom<Text> for OtlpEndpoint {
    type Error = String;

    fn try_from(written: Text) -> Result<Self, String> {
        address_of(&written).map_err(|why| {
            format!("must be the address of a collector that speaks OTLP over HTTP, such as \"http://127.0.0.1:4318\": {why}")
        })
    }
}

impl OtlpEndpoint {
    /// The address to which spans are posted, with its user and password.
    pub fn url(&self) -> &Secret {
        &self.url
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtlpEndpoint").field(&self.shown).finish()
    }
}

/// Checks an address. The error does not repeat it, because it may contain a password.
fn address_of(written: &Text) -> Result<OtlpEndpoint, &'static str> {
    let text = written.value.trim();
    if text.contains('#') {
        return Err("it has a part after \"#\", which is never sent");
    }
    let address: Uri = text.parse().map_err(|_| "it is not an address")?;
    match address.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS => (),
        _ => return Err("it begins with neither http:// nor https://; gRPC is not supported"),
    }
    if address.host().is_none_or(str::is_empty) {
        return Err("it names no host");
    }
    let (place, query) = match text.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (text, None),
    };
    let mut url = place.trim_end_matches('/').to_owned();
    if !url.ends_with(TRACES) {
        url.push_str(TRACES);
    }
    if let Some(query) = query {
        url.push('?');
        url.push_str(query);
    }
    let mut secrets = credentials::in_url(&url);
    if written.value != written.written {
        secrets.extend(values_of_references(&written.shown, &written.value));
    }
    Ok(OtlpEndpoint {
        shown: redacted(&written.shown, TextKind::Word).into_owned(),
        secrets: secrets.into_iter().map(Secret::new).collect(),
        url: Secret::new(url),
    })
}

/// The values of the references in a text: what is in `value` in place of each `***` in `shown`.
fn values_of_references(shown: &str, value: &str) -> Vec<String> {
    let mut literals = shown.split(MASK);
    let first = literals.next().unwrap_or_default();
    let mut rest = value.strip_prefix(first).unwrap_or(value);
    let mut values = Vec::new();
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        let is_last = literals.peek().is_none();
        let at = if is_last {
            rest.strip_suffix(literal).map(str::len)
        } else {
            rest.find(literal)
        };
        let (found, after) = rest.split_at(at.unwrap_or(rest.len()));
        values.push(found.to_owned());
        rest = after.strip_prefix(literal).unwrap_or(after);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_references_stand_for_is_secret() {
        let check = |shown: &str, value: &str, expected: &[&str]| {
            assert_eq!(values_of_references(shown, value), expected, "{shown}");
        };
        check("***", "http://h", &["http://h"]);
        check("http://***@h/***", "http://u:p@h/key", &["u:p", "key"]);
        check("http://h/***/x", "http://h/a/x/x", &["a/x"]);
        check("http://***:1", "other", &["other"]);
    }

    fn of(written: &str) -> Result<OtlpEndpoint, &'static str> {
        address_of(&Text {
            value: written.to_owned(),
            shown: written.to_owned(),
            written: written.to_owned(),
        })
    }

    #[test]
    fn spans_go_to_where_the_specification_says() {
        for (written, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            (" https://h/otlp ", "https://h/otlp/v1/traces"),
            ("https://h/v1/traces", "https://h/v1/traces"),
            ("https://h/a/v1/traces/?k=1", "https://h/a/v1/traces?k=1"),
        ] {
            let read = of(written).expect(written);
            assert_eq!(read.url().reveal(), url);
        }
    }

    #[test]
    fn what_is_no_collector_is_refused() {
        for (written, why) in [
            ("127.0.0.1:4318", "neither http:// nor https://"),
            ("grpc://h:4317", "neither http:// nor https://"),
            ("collector", "neither http:// nor https://"),
            ("http://", "not an address"),
            ("http://a b/", "not an address"),
            ("https://h/#x", "\"#\""),
        ] {
            let said = of(written).expect_err(written);
            assert!(said.contains(why), "{written}: {said}");
        }
    }

    #[test]
    fn its_credentials_do_not_show() {
        let read = of("https://me:hunter22@h:4318/?token=hunter23").expect("an address");
        let shown = format!("{read} {read:?}");
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("https://***@h:4318"), "{shown}");
        let secrets: Vec<&str> = read.secrets.iter().map(Secret::reveal).collect();
        for secret in ["hunter22", "hunter23", "bWU6aHVudGVyMjI="] {
            assert!(secrets.contains(&secret), "{secret}");
        }
        assert!(read.url().reveal().contains("me:hunter22@h"));
    }
}
