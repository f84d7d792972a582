//! Hosts and origins that can never be what a client sends, because one has a scheme or a path and the other has none; and the one that
//! anybody can send. Pure.

use super::{Settings, Warning};

/// Warnings of the hosts and origins of these settings.
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
    (name != host).then(|| not_a("a host", host, name, name))
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
    let meant = format!("{}://{host}", scheme.unwrap_or("https"));
    (origin != meant).then(|| not_a("an origin", written, host, &meant))
}

/// The scheme and the host of a URL, or of what stands in the place of one.
fn parts(written: &str) -> (Option<&str>, &str) {
    let (scheme, behind) = match written.split_once("://") {
        Some((scheme, behind)) => (Some(scheme), behind),
        None => (None, written),
    };
    (scheme, behind.split('/').next().unwrap_or_default())
}

fn pattern(value: &str) -> String {
    format!("names {value:?}, but patterns are not supported here: write each name in full")
}

fn not_a(kind: &str, value: &str, host: &str, meant: &str) -> String {
    if host.is_empty() {
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
        for possible in ["h", "h:8080", "[::1]"] {
            assert_eq!(impossible_host(possible), None);
        }
        for possible in ["https://o", "http://o:1/"] {
            assert_eq!(impossible_origin(possible), None);
        }
        let host = |host, expected| assert_eq!(impossible_host(host), Some(expected));
        let url = "http://h.example/mcp";
        host(url, not_a("a host", url, "h.example"));
        host("*.h", pattern("*.h"));
        host(
            "https://",
            "names \"https://\", which is not a host: leave it out".to_owned(),
        );
        let origin = |origin, expected| assert_eq!(impossible_origin(origin), Some(expected));
        origin(
            "o.example",
            not_a("an origin", "o.example", "https://o.example"),
        );
        origin(
            "https://o/p",
            not_a("an origin", "https://o/p", "https://o"),
        );
        origin("*", pattern("*"));
        origin("https://*.o", pattern("https://*.o"));
        origin(
            "https://",
            "names \"https://\", which is not an origin: leave it out".to_owned(),
        );
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
