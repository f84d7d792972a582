//! The text for the person who gets a token. Pure.

use std::net::SocketAddr;

use serde_json::json;

use crate::{
    config::{AllowedCalls, IssuedToken},
    text::moment,
};

/// Stands in an address for the name of this machine, where the daemon listens on all addresses and nobody knows which name clients use.
const UNNAMED_HOST: &str = "MCPPROXY-HOST";

/// The host and port at which clients find the daemon.
pub(super) struct ClientHost {
    address: String,
    /// Whether the host is [`UNNAMED_HOST`].
    pub(super) is_unnamed: bool,
}

impl ClientHost {
    /// That of a daemon that listens on this address.
    pub(super) fn of(listening: &str) -> Self {
        let everywhere = listening.parse::<SocketAddr>().ok();
        let everywhere = everywhere.filter(|address| address.ip().is_unspecified());
        let unnamed = everywhere.map(|address| format!("{UNNAMED_HOST}:{}", address.port()));
        Self {
            is_unnamed: unnamed.is_some(),
            address: unnamed.unwrap_or_else(|| listening.to_owned()),
        }
    }
}

/// The text for the person who gets a token: what it allows, and the entry for the configuration of a client.
pub(super) fn letter(token: &IssuedToken, text: &str, host: &ClientHost) -> String {
    let mut url = format!("http://{}/mcp", host.address);
    if let Some(profile) = &token.profile {
        url = format!("{url}/p/{profile}");
    }
    let what = match token.calls {
        AllowedCalls::Read => "You can read, but not change anything.",
        AllowedCalls::Write => "You can read and change, but not delete.",
        AllowedCalls::All => "You can use everything that its servers offer.",
    };
    let ends = match token.expires {
        Some(expires) => {
            let moment = moment::utc_seconds(expires / 1000);
            let (day, time) = moment.split_once('T').unwrap_or_default();
            let minute = time.get(..5).unwrap_or_default();
            format!(" The token expires on {day} at {minute} UTC.")
        }
        None => String::new(),
    };
    let headers = json!({ "Authorization": format!("Bearer {text}") });
    let entry =
        json!({ "mcpServers": { "mcpproxy": { "type": "http", "url": url, "headers": headers } } });
    format!(
        "This token gives you access to MCP servers. {what}{ends} Keep it to yourself.\n\n\
         Address: {url}\nToken: {text}\n\n\
         In the MCP configuration of your client:\n\n{entry:#}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_daemon_on_all_addresses_is_left_to_fill_in() {
        for (listening, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("localhost:8080", "localhost:8080"),
            ("0.0.0.0:8080", "MCPPROXY-HOST:8080"),
            ("[::]:8080", "MCPPROXY-HOST:8080"),
        ] {
            let host = ClientHost::of(listening);
            assert_eq!(host.address, expected);
            assert_eq!(host.is_unnamed, listening != expected);
        }
    }
}
