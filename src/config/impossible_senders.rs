//! Warnings of `trusted_hosts` and `trusted_origins` that no client can send, because they are not in the form of the header, and of the
//! origin `null`, which every web page can send. Pure.

use std::{borrow::Cow, net::Ipv6Addr};

use super::{Settings, Warning};

/// The warnings for these settings.
pub(super) fn impossible_senders(settings: &Settings) -> Vec<Warning> {
    let hosts = settings.trusted_hosts.iter();
    let hosts = hosts.filter_map(|host| Some(("trusted_hosts", impossible_host(host)?)));
    let origins = settings.trusted_origins.iter();
    let origins =
        origins.filter_map(|origin| Some(("trusted_origins", impossible_origin(origin)?)));
    let all = hosts.chain(origins);
    all.map(|(key, what)| Warning::of_key(key, what)).collect()
}

fn impossible_host(host: &str) -> Option<String> {
    if host.contains('*') {
        return Some(pattern(host));
    }
    let (_, name) = parts(host);
    let meant = in_brackets(name);
    (name.is_empty() || meant != host).then(|| not_a("a host", host, &meant))
}

fn impossible_origin(written: &str) -> Option<String> {
    let origin = written.trim_end_matches('/');
    if origin == "null" {
        return Some("has \"null\", which any web page can send: leave it out".to_owned());
    }
    if origin.contains('*') {
        return Some(pattern(written));
    }
    let (scheme, host) = parts(written);
    let scheme = scheme.unwrap_or("https");
    let host = in_brackets(host);
    // Browsers leave the default port out.
    let default_port = match &*scheme.to_ascii_lowercase() {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let meant = match host.strip_suffix(default_port).unwrap_or(&host) {
        "" => String::new(),
        host => format!("{scheme}://{host}"),
    };
    (meant.is_empty() || origin != meant).then(|| not_a("an origin", written, &meant))
}

/// The scheme and the host of a text that may be a URL.
fn parts(written: &str) -> (Option<&str>, &str) {
    let (scheme, behind) = match written.split_once("://") {
        Some((scheme, behind)) => (Some(scheme), behind),
        None => (None, written),
    };
    let host = behind.split('/').next();
    let host = host.filter(|host| !host.contains(char::is_whitespace));
    (scheme, host.unwrap_or_default())
}

/// A host, in brackets if it is an IPv6 address.
fn in_brackets(host: &str) -> Cow<'_, str> {
    match host.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{host}]").into(),
        Err(_) => host.into(),
    }
}

fn pattern(value: &str) -> String {
    format!("names {value:?}, but patterns are not supported here: write each name in full")
}

/// `meant` is empty if no value can be meant.
fn not_a(kind: &str, value: &str, meant: &str) -> String {
    if meant.is_empty() {
        return format!("names {value:?}, which is not {kind}: leave it out");
    }
    format!("names {value:?}, which is not {kind}; write {meant:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_be_sent_and_what_anybody_can_send_is_named() {
        let pattern = |value| {
            format!("names {value:?}, but patterns are not supported here: write each name in full")
        };
        let not_a =
            |kind, value, meant| format!("names {value:?}, which is not {kind}; write {meant:?}");
        for possible in ["h", "h:8080", "[::1]", "[::1]:80"] {
            assert_eq!(impossible_host(possible), None);
        }
        for possible in ["https://o", "http://o:1/", "http://o:443", "http://[::80]"] {
            assert_eq!(impossible_origin(possible), None);
        }
        let host = |host, expected| assert_eq!(impossible_host(host), Some(expected));
        let url = "http://h.example/mcp";
        host(url, not_a("a host", url, "h.example"));
        host("fd00::1", not_a("a host", "fd00::1", "[fd00::1]"));
        host("*.h", pattern("*.h"));
        for empty in ["", "https://", "a b"] {
            let expected = format!("names {empty:?}, which is not a host: leave it out");
            host(empty, expected);
        }
        let origin = |origin, expected| assert_eq!(impossible_origin(origin), Some(expected));
        origin(
            "o.example",
            not_a("an origin", "o.example", "https://o.example"),
        );
        origin(
            "https://o/p",
            not_a("an origin", "https://o/p", "https://o"),
        );
        for (written, meant) in [
            ("https://o:443", "https://o"),
            ("http://o:80/", "http://o"),
            ("http://fd00::80", "http://[fd00::80]"),
        ] {
            origin(written, not_a("an origin", written, meant));
        }
        origin("*", pattern("*"));
        origin("https://*.o", pattern("https://*.o"));
        for empty in ["", "https://", "https://a b"] {
            let expected = format!("names {empty:?}, which is not an origin: leave it out");
            origin(empty, expected);
        }
        origin(
            "null",
            "has \"null\", which any web page can send: leave it out".to_owned(),
        );
        let settings = Settings {
            trusted_hosts: vec!["*".to_owned()],
            trusted_origins: vec!["null".to_owned()],
            ..Settings::default()
        };
        let warnings = impossible_senders(&settings);
        let keys: Vec<String> = warnings.iter().map(Warning::to_string).collect();
        assert!(keys[0].starts_with("`trusted_hosts` names"), "{keys:?}");
        assert!(keys[1].starts_with("`trusted_origins` has"), "{keys:?}");
    }
}
