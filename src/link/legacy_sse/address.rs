//! The address that a stream names for messages: relative or whole, always of the stream's own origin. Pure.

use http::{Uri, uri::PathAndQuery, uri::Scheme};

/// Why an address is not posted to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadAddress {
    /// It is none.
    #[error("the server names no usable address to post to")]
    Unusable,
    /// Headers with credentials go to every address, so only the configured server may get them.
    #[error("the server names an address of another origin ({0}) to post to, which is refused")]
    Foreign(String),
}

/// Where `reference`, as it stands in an `endpoint` event, leads from the address of the stream (RFC 3986, section 5).
pub(super) fn resolve(stream: &Uri, reference: &str) -> Result<Uri, BadAddress> {
    let reference = reference.trim();
    let reference = reference.split('#').next().unwrap_or_default();
    let (before_query, query) = match reference.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (reference, None),
    };
    let path = if has_scheme(before_query) {
        let whole: Uri = before_query.parse().map_err(|_| BadAddress::Unusable)?;
        own_path(stream, &whole)?
    } else if before_query.starts_with("//") {
        let scheme = stream.scheme_str().unwrap_or("http");
        let whole = format!("{scheme}:{before_query}").parse();
        own_path(stream, &whole.map_err(|_| BadAddress::Unusable)?)?
    } else if before_query.starts_with('/') {
        before_query.to_owned()
    } else if before_query.is_empty() {
        stream.path().to_owned()
    } else {
        let folder = stream
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{folder}/{before_query}")
    };
    let path = without_dots(&path);
    let target = match query {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = stream.clone().into_parts();
    parts.path_and_query = Some(target.map_err(|_| BadAddress::Unusable)?);
    Uri::from_parts(parts).map_err(|_| BadAddress::Unusable)
}

/// Whether it begins with a scheme and not with a path.
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// The path of a whole address of the same origin.
fn own_path(stream: &Uri, whole: &Uri) -> Result<String, BadAddress> {
    let (Some(ours), Some(theirs)) = (origin(stream), origin(whole)) else {
        return Err(BadAddress::Unusable);
    };
    if ours != theirs {
        let (scheme, host, port) = theirs;
        return Err(BadAddress::Foreign(format!("{scheme}://{host}:{port}")));
    }
    Ok(whole.path().to_owned())
}

fn origin(uri: &Uri) -> Option<(&Scheme, String, u16)> {
    let scheme = uri.scheme()?;
    let usual = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?;
    Some((
        scheme,
        host.to_ascii_lowercase(),
        uri.port_u16().unwrap_or(usual),
    ))
}

/// Takes `.` and `..` out of a path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
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
        check(stream, "", "http://a:1/x/sse");
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
        for reference in ["javascript:x", "mailto:a@b", "http:", "http://", "/a b"] {
            let outcome = at("http://a/sse", reference);
            assert_eq!(outcome, Err(BadAddress::Unusable), "{reference:?}");
        }
    }
}
