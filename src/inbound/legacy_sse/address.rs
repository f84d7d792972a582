//! The addresses of HTTP+SSE: which requests are meant for it, where its clients post, and which session they name.

use http::{HeaderMap, Uri, header};

use crate::inbound::{
    answer::{REVISION, SESSION},
    endpoint::{AddressKind, SUFFIX},
};

/// The part of an address that names a session.
pub(super) const SESSION_ID: &str = "session_id";

/// Whether a GET on an endpoint that has both transports asks for this one: it names no session and no revision, and takes events. A
/// browser takes whatever there is, but waits for a page.
pub(in crate::inbound) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let accepted: Vec<String> = accepted
        .map(|value| value.to_str().unwrap_or_default().to_ascii_lowercase())
        .collect();
    let names = |kind: &str| accepted.iter().any(|value| value.contains(kind));
    let takes_all = accepted.is_empty() || names("*/*") || names("text/*");
    !headers.contains_key(SESSION)
        && !headers.contains_key(REVISION)
        && (names("text/event-stream") || (takes_all && !names("text/html")))
}

/// Whether a POST belongs to a session of this transport.
pub(in crate::inbound) fn is_meant(uri: &Uri, headers: &HeaderMap) -> bool {
    !headers.contains_key(SESSION) && session_id(uri).is_some()
}

/// The session that an address names.
pub(super) fn session_id(uri: &Uri) -> Option<&str> {
    let pairs = uri.query()?.split('&');
    let mut values = pairs.filter_map(|pair| pair.split_once('='));
    values
        .find(|(name, _)| *name == SESSION_ID)
        .map(|(_, value)| value)
}

/// Where a client posts whose stream is at `path`.
pub(super) fn endpoint(transport: AddressKind, path: &str) -> &str {
    match transport {
        AddressKind::Both => path,
        AddressKind::LegacySse => match path.strip_suffix(SUFFIX) {
            Some("") | None => "/mcp",
            Some(endpoint) => endpoint,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_names_the_endpoint_it_belongs_to() {
        let check =
            |transport, path: &str, expected: &str| assert_eq!(endpoint(transport, path), expected);
        check(AddressKind::LegacySse, "/sse", "/mcp");
        check(AddressKind::LegacySse, "/mcp/sse", "/mcp");
        check(AddressKind::LegacySse, "/mcp/all/sse", "/mcp/all");
        check(
            AddressKind::LegacySse,
            "/mcp/server/a%2Eb/sse",
            "/mcp/server/a%2Eb",
        );
        check(
            AddressKind::LegacySse,
            "/mcp/server/sse/sse",
            "/mcp/server/sse",
        );
        check(AddressKind::Both, "/mcp", "/mcp");
        check(AddressKind::Both, "/mcp/server/sse", "/mcp/server/sse");
    }

    #[test]
    fn a_session_is_named_by_the_address() {
        let check = |address: &str, expected: Option<&str>| {
            let uri: Uri = address.parse().expect("an address");
            assert_eq!(session_id(&uri), expected, "{address}");
        };
        check("/mcp?session_id=a-1", Some("a-1"));
        check("/mcp?x=1&session_id=a&session_id=b", Some("a"));
        check("/mcp?session_id=", Some(""));
        check("/mcp?session_id", None);
        check("/mcp?my_session_id=a", None);
        check("/mcp", None);
    }

    #[test]
    fn who_takes_events_and_names_no_session_opens_a_stream() {
        let check = |headers: &[(&'static str, &'static str)], expected: bool| {
            let headers = headers
                .iter()
                .map(|(name, value)| {
                    let name = http::HeaderName::from_static(name);
                    (name, http::HeaderValue::from_static(value))
                })
                .collect();
            assert_eq!(wants_stream(&headers), expected, "{headers:?}");
        };
        let events = ("accept", "text/event-stream");
        check(&[events], true);
        check(
            &[("accept", "application/json, Text/Event-Stream;q=0.9")],
            true,
        );
        check(&[("accept", "*/*")], true);
        check(&[("accept", "text/*")], true);
        check(&[], true);
        check(&[("accept", "application/json")], false);
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        check(&[("accept", browser)], false);
        check(&[events, ("mcp-session-id", "a")], false);
        check(&[events, ("mcp-protocol-version", "2025-06-18")], false);
    }
}
