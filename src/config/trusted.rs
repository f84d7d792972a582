//! Hosts and origins that are trusted and can never be what a client sends, because one has a scheme or a path and the other has none;
//! and the one that anybody can send.

use super::settings::Settings;

/// What is said of them.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let hosts = settings.trusted_hosts.iter().filter_map(|host| {
        let (_, behind) = host.split_once("://").unwrap_or(("", host));
        let name = behind.split('/').next().unwrap_or_default();
        (name != host).then(|| {
            format!("`trusted_hosts` names {host:?}, which no Host header can be; write {name:?}")
        })
    });
    let origins = settings.trusted_origins.iter().filter_map(|origin| {
        let origin = origin.trim_end_matches('/');
        let (scheme, host) = origin.split_once("://").unwrap_or(("https", origin));
        let host = host.split('/').next().unwrap_or_default();
        let meant = format!("{scheme}://{host}");
        if origin == "null" {
            let warning = "`trusted_origins` names \"null\", which every sandboxed frame of every page sends: leave it out";
            return Some(warning.to_owned());
        }
        (origin != meant).then(|| {
            format!(
                "`trusted_origins` names {origin:?}, which no Origin header can be; write {meant:?}"
            )
        })
    });
    hosts.chain(origins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_be_sent_and_what_anybody_can_send_is_named() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let settings = Settings {
            trusted_hosts: texts(&["h", "h:8080", "[::1]", "http://h.example/mcp"]),
            trusted_origins: texts(&[
                "https://o",
                "http://o:1/",
                "null",
                "o.example",
                "https://o/p",
            ]),
            ..Settings::default()
        };
        let expected = [
            "`trusted_hosts` names \"http://h.example/mcp\", which no Host header can be; write \"h.example\"",
            "`trusted_origins` names \"null\", which every sandboxed frame of every page sends: leave it out",
            "`trusted_origins` names \"o.example\", which no Origin header can be; write \"https://o.example\"",
            "`trusted_origins` names \"https://o/p\", which no Origin header can be; write \"https://o\"",
        ];
        assert_eq!(warnings(&settings), expected);
    }
}
