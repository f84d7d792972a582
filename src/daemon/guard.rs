//! Who may speak to us at all: `Host` against DNS rebinding, `Origin` against web pages (transports, "Security Warning").

use std::net::IpAddr;

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::{
    api,
    config::{
        Settings,
        loopback::{is_loopback, without_brackets},
    },
    failure::{ErrorCode, Failure},
    inbound,
    telemetry::log_throttle::{LogThrottle, LogThrottles},
    text::cut::beginning,
};

/// Headers that decide what a request may do, and so may appear only once: of two values another program may use the other one. Headers
/// that repeat the body are compared with it later.
static ONCE: [HeaderName; 8] = [
    header::ORIGIN,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-forwarded-user"),
];

/// How headers begin that repeat an argument of a tool (revision 2026-07-28, server/tools, "x-mcp-header").
const ARGUMENT: &str = "mcp-param-";

/// How many bytes of a header are shown in a log line or an answer.
const SHOWN: usize = 128;

/// What becomes of a request.
pub(super) enum Passed {
    /// It is let in.
    In,
    /// It is let in, and a page of this origin may read the answer.
    Shared(HeaderValue),
    /// This is its answer: it is refused, or is a preflight.
    Answered(Response),
}

/// Bounds the lines about refused requests, for each reason.
#[derive(Default)]
pub(super) struct RefusalLines {
    /// For each host and origin.
    untrusted: LogThrottles,
    twice: LogThrottle,
    /// Requests without a token, or with an unknown one.
    pub(super) unknown: LogThrottle,
}

/// Lets a request through, or answers 403; 400 where it says a thing twice.
pub(super) fn check(settings: &Settings, lines: &RefusalLines, request: &Request) -> Passed {
    let verdict = judge(settings, request.uri().path(), request.headers());
    Passed::Answered(match verdict {
        // A page that asks first would not get to read the answer.
        Verdict::Pass if is_preflight(request) => refused(lines, request, &header::ORIGIN),
        Verdict::Pass => return Passed::In,
        Verdict::Refuse(what) => refused(lines, request, &what),
        Verdict::Twice(name) => {
            if let Some(times) = lines.twice.due() {
                tracing::info!(header = %name, times, "request refused: a header appears twice");
            }
            twice(&name)
        }
        Verdict::Share(origin) if request.method() == Method::OPTIONS => {
            shared(preflight(request.headers()), &origin)
        }
        Verdict::Share(origin) => return Passed::Shared(origin),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// A trusted page: it may read our answers.
    Share(HeaderValue),
    /// What this header says is not trusted.
    Refuse(HeaderName),
    /// This header appears twice.
    Twice(HeaderName),
}

fn judge(settings: &Settings, path: &str, headers: &HeaderMap) -> Verdict {
    // Monitoring asks under whatever name it knows us by.
    if !api::is_health(path) && !host_is_ours(settings, headers) {
        return Verdict::Refuse(header::HOST);
    }
    if let Some(name) = doubled(headers) {
        return Verdict::Twice(name.clone());
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Verdict::Pass;
    };
    let Ok(text) = origin.to_str() else {
        return Verdict::Refuse(header::ORIGIN);
    };
    if settings
        .trusted_origins
        .iter()
        .any(|trusted| trusted.trim_end_matches('/').eq_ignore_ascii_case(text))
    {
        return Verdict::Share(origin.clone());
    }
    let host = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .map(without_port);
    match host {
        Some(host) if is_loopback(host) => Verdict::Pass,
        _ => Verdict::Refuse(header::ORIGIN),
    }
}

fn host_is_ours(settings: &Settings, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let name = without_port(host);
    // An address in place of a name cannot be rebound.
    let is_address = || without_brackets(name).parse::<IpAddr>().is_ok();
    is_loopback(name)
        || settings
            .trusted_hosts
            .iter()
            .any(|t| t.eq_ignore_ascii_case(name) || t.eq_ignore_ascii_case(host))
        || (!settings.listen.is_loopback() && is_address())
}

/// `host`, `host:port`, `[v6]:port` without the port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|c| c.is_ascii_digit())
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

/// The first header that must stand there once and does not.
fn doubled(headers: &HeaderMap) -> Option<&'static HeaderName> {
    if headers.len() == headers.keys_len() {
        return None;
    }
    ONCE.iter()
        .find(|name| headers.get_all(*name).iter().nth(1).is_some())
}

/// All values of one header.
fn values_of(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
    values.collect::<Vec<_>>().join(", ")
}

/// Whether a page asks with this what it may send.
fn is_preflight(request: &Request) -> bool {
    let has = |name: HeaderName| request.headers().contains_key(name);
    let is_asked = has(header::ORIGIN) && has(header::ACCESS_CONTROL_REQUEST_METHOD);
    is_asked && request.method() == Method::OPTIONS
}

/// The refusal of a request whose header is not trusted.
fn refused(lines: &RefusalLines, request: &Request, what: &HeaderName) -> Response {
    let values = values_of(request.headers(), what);
    let rejected = beginning(&values, SHOWN);
    if let Some((_, times)) = lines.untrusted.due(rejected) {
        tracing::info!(
            path = beginning(request.uri().path(), SHOWN),
            rejected,
            times,
            "request refused: its {what} is not trusted"
        );
    }
    let why = format!("the {what} {rejected:?} is not trusted");
    let hint = match rejected {
        // Every page can claim it.
        "null" => {
            "Serve the page over HTTP and not in a sandboxed frame, and add its origin, such as http://localhost:3000, to `trusted_origins` in the configuration file.".to_owned()
        }
        _ => format!("To trust it, add it to `trusted_{what}s` in the configuration file."),
    };
    inbound::failed(&Failure::new(ErrorCode::AccessDenied, why, hint))
}

fn twice(name: &HeaderName) -> Response {
    let why = format!("the header {name} appears twice");
    inbound::failed(&Failure::new(
        ErrorCode::InvalidArguments,
        why,
        "Send it once.",
    ))
}

/// What a page may send that is allowed to send anything.
const ALLOWED_HEADERS: &str = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID";

/// Limit: headers of arguments that one request may have.
const MOST_ARGUMENTS: usize = 64;

/// [`ALLOWED_HEADERS`], and as many of the requested headers as repeat arguments of a tool, whose schema names them.
fn allowed_headers(headers: &HeaderMap) -> HeaderValue {
    let requested = headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let requested = requested.iter().filter_map(|names| names.to_str().ok());
    let names = requested.flat_map(|names| names.split(',')).map(str::trim);
    let is_argument = |name: &&str| {
        let lower = name.to_ascii_lowercase();
        lower.starts_with(ARGUMENT) && HeaderName::try_from(lower).is_ok()
    };
    let names = names.filter(is_argument).take(MOST_ARGUMENTS);
    let all: Vec<&str> = [ALLOWED_HEADERS].into_iter().chain(names).collect();
    HeaderValue::try_from(all.join(", "))
        .unwrap_or_else(|_| HeaderValue::from_static(ALLOWED_HEADERS))
}

fn preflight(request: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        allowed_headers(request),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("600"),
    );
    response
}

/// Lets a page of this origin read the answer.
pub(super) fn shared(mut response: Response, origin: &HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id"),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        settings: &Settings,
        path: &str,
        host: Option<&str>,
        origin: Option<&str>,
        expected: &str,
    ) {
        let mut headers = HeaderMap::new();
        let value = |text: &str| HeaderValue::from_str(text).expect("a header value");
        if let Some(host) = host {
            headers.insert(header::HOST, value(host));
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, value(origin));
        }
        let found = match judge(settings, path, &headers) {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Share(_) => "share".to_owned(),
            Verdict::Refuse(what) => what.to_string(),
            Verdict::Twice(name) => format!("{name} twice"),
        };
        assert_eq!(found, expected, "{host:?} {origin:?}");
    }

    #[test]
    fn only_loopback_and_trusted_names_are_ours() {
        let settings = Settings {
            trusted_hosts: vec!["proxy.example.com".to_owned()],
            trusted_origins: vec!["https://app.example.com".to_owned()],
            ..Settings::default()
        };
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "127.3.2.1",
            "proxy.example.com",
            "proxy.example.com:443",
        ] {
            check(&settings, "/mcp", Some(host), None, "pass");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com",
            "192.168.1.7:8080",
            "127.0.0.1.evil.com:80",
            "",
        ] {
            check(&settings, "/mcp", Some(host), None, "host");
        }
        check(&settings, "/mcp", None, None, "host");
        check(&settings, "/health", Some("evil.example.com"), None, "pass");
    }

    #[test]
    fn pages_may_speak_to_us_only_from_here_or_when_trusted() {
        let settings = Settings {
            trusted_origins: vec!["https://app.example.com".to_owned()],
            ..Settings::default()
        };
        let here = Some("127.0.0.1:8080");
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:6274",
            "https://[::1]:1",
        ] {
            check(&settings, "/mcp", here, Some(origin), "pass");
        }
        check(
            &settings,
            "/mcp",
            here,
            Some("https://app.example.com"),
            "share",
        );
        for origin in [
            "https://evil.example.com",
            "null",
            "file://",
            "http://localhost.evil.com",
            "",
        ] {
            check(&settings, "/mcp", here, Some(origin), "origin");
        }
    }

    #[test]
    fn a_page_may_repeat_arguments_in_headers() {
        let check = |asked: &str, more: &str| {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_str(asked).expect("a header value");
            headers.insert(header::ACCESS_CONTROL_REQUEST_HEADERS, value);
            let allowed = allowed_headers(&headers);
            assert_eq!(allowed, format!("{ALLOWED_HEADERS}{more}"), "{asked}");
        };
        check("content-type,x-other", "");
        check(
            "mcp-param-region, Mcp-Param-N,accept",
            ", mcp-param-region, Mcp-Param-N",
        );
        check("mcp-param-a b, mcp-paramx", "");
        let many = "mcp-param-a,".repeat(100);
        check(&many, &", mcp-param-a".repeat(MOST_ARGUMENTS));
    }

    #[test]
    fn what_decides_stands_there_once() {
        let check = |names: &[&'static str], expected: Option<&str>| {
            let value = HeaderValue::from_static("x");
            let names = names.iter().map(|name| HeaderName::from_static(name));
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(name, value.clone());
            }
            let found = doubled(&headers).map(HeaderName::as_str);
            assert_eq!(found, expected, "{headers:?}");
        };
        check(&["origin", "mcp-session-id", "accept"], None);
        check(&["accept", "accept", "origin"], None);
        check(&["origin", "origin"], Some("origin"));
        check(
            &["mcp-session-id", "x", "mcp-session-id"],
            Some("mcp-session-id"),
        );
        check(&["mcp-param-a", "mcp-param-a"], None);
        check(&["authorization", "authorization"], Some("authorization"));
    }
}
