//! The address that a stream names for messages: relative or whole, always of the stream's own origin. Pure.

use http::{Uri, uri::PathAndQuery};
use url::{Position, Url};

/// Why an address is not posted to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadAddress {
    /// It is none.
    #[error("its event \"endpoint\" names {0:?}, which is not an HTTP address")]
    Unusable(String),
    /// Headers with credentials go to every address, so only the configured server may get them.
    #[error("the server wants messages sent to another origin ({0}); mcpproxy refuses")]
    Foreign(String),
}

/// Where `reference`, as it stands in an `endpoint` event, leads from the address of the stream (RFC 3986, section 5).
pub(super) fn resolve(stream: &Uri, reference: &str) -> Result<Uri, BadAddress> {
    let reference = reference.trim();
    let unusable = || BadAddress::Unusable(reference.to_owned());
    let base = Url::parse(&stream.to_string()).map_err(|_| unusable())?;
    let named = base.join(reference).map_err(|_| unusable())?;
    if named.origin() != base.origin() {
        let is_usable = matches!(named.scheme(), "http" | "https");
        let origin = is_usable.then(|| named.origin().ascii_serialization());
        return Err(origin.map_or_else(unusable, BadAddress::Foreign));
    }
    let mut parts = stream.clone().into_parts();
    let target = PathAndQuery::try_from(&named[Position::BeforePath..Position::AfterQuery]);
    parts.path_and_query = Some(target.map_err(|_| unusable())?);
    Uri::from_parts(parts).map_err(|_| unusable())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stream: &str, reference: &str) -> Result<String, BadAddress> {
        let stream: Uri = stream.parse().expect("an address");
        resolve(&stream, reference).map(|uri| uri.to_string())
    }

    #[test]
    fn an_address_is_seen_from_its_stream() {
        let check = |stream: &str, reference: &str, expected: &str| {
            assert_eq!(
                at(stream, reference).as_deref(),
                Ok(expected),
                "{reference}"
            );
        };
        let stream = "http://a:1/x/sse?key=k";
        check(
            stream,
            "/messages?session_id=1",
            "http://a:1/messages?session_id=1",
        );
        check(stream, " /messages\n", "http://a:1/messages");
        check(
            stream,
            "messages/?sessionId=a/b",
            "http://a:1/x/messages/?sessionId=a/b",
        );
        check(stream, "?sessionId=1", "http://a:1/x/sse?sessionId=1");
        check(stream, "", "http://a:1/x/sse?key=k");
        check(stream, "./m", "http://a:1/x/m");
        check(stream, "../m/../n/.", "http://a:1/n/");
        check(stream, "/../../m", "http://a:1/m");
        check(stream, "/m?x=1#part", "http://a:1/m?x=1");
        check(stream, "/m:1?u=http://b/", "http://a:1/m:1?u=http://b/");
        check(stream, "http://a:1/m?x=1", "http://a:1/m?x=1");
        check(stream, "HTTP://A:1/m", "http://a:1/m");
        check(stream, "//a:1/m", "http://a:1/m");
        check(stream, "http://user:pass@a:1/m", "http://a:1/m");
        check("http://a/sse", "http://a:80/m", "http://a/m");
        check("https://a:443/sse", "https://a", "https://a:443/");
        check("http://[::1]:1/sse", "http://[::1]:1/m", "http://[::1]:1/m");
    }

    #[test]
    fn another_origin_is_refused() {
        for (stream, reference) in [
            ("http://a:1/sse", "http://a:2/m"),
            ("http://a:1/sse", "https://a:1/m"),
            ("http://a/sse", "http://b/m"),
            ("http://a/sse", "//b/m"),
            ("http://a/sse", "http://a@b/m"),
            ("http://a/sse", "http://a.b/m?http://a/"),
        ] {
            let outcome = at(stream, reference);
            assert!(
                matches!(outcome, Err(BadAddress::Foreign(_))),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for reference in ["javascript:x", "mailto:a@b", "http://", "//"] {
            let outcome = at("http://a/sse", reference);
            let unusable = BadAddress::Unusable(reference.to_owned());
            assert_eq!(outcome, Err(unusable), "{reference:?}");
        }
    }
}
