//! The address to listen on, as written in `listen`, `--listen` and `--http`. The daemon binds it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use super::{references::Text, values::schema_as};

/// Where the daemon listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Text")]
pub struct Listen {
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    /// `localhost`, or no host at all.
    Localhost,
    Address(IpAddr),
}

/// A text that is no listen address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.what(), Self::STEP)]
pub struct BadListen(pub String);

impl BadListen {
    /// The next step.
    pub const STEP: &str =
        "write \"127.0.0.1:8080\", \"localhost:8080\", \":8080\" (loopback) or \"[::1]:8080\"";

    /// The error without the next step.
    pub fn what(&self) -> String {
        let port = self.0.rsplit(':').next().unwrap_or_default();
        let is_host = self.0.eq_ignore_ascii_case("localhost") || self.0.parse::<IpAddr>().is_ok();
        let why = match port.parse::<u64>() {
            _ if is_host => ": it has no port",
            Ok(port) if port > 65_535 => ": a port is at most 65535",
            Ok(_) if port == self.0 => ": a port needs `:` before it",
            _ => "",
        };
        format!("{:?} is not an address to listen on{why}", self.0)
    }
}

/// An address that other machines can reach, which needs `--insecure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("other machines can reach {0}, and traffic there is not encrypted")]
pub struct NotLoopback(pub Listen);

impl NotLoopback {
    /// The next step where the command takes --insecure.
    pub const STEP: &str = "listen on 127.0.0.1 behind a reverse proxy with TLS, or add --insecure";

    /// The error of `listen` in the configuration.
    pub fn in_file(&self) -> String {
        format!("{self}; the daemon listens there only with `serve --insecure`")
    }

    /// The next step for `listen` in the configuration.
    pub fn step_in_file(&self) -> String {
        let port = self.0.port();
        format!("`mcpproxy config set listen 127.0.0.1:{port}`")
    }
}

impl Listen {
    /// The addresses to bind. Binding the first must succeed; the others may fail, and use the port that the first one got if
    /// [`Listen::port`] is 0.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let first = match self.host {
            Host::Localhost => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Host::Address(address) => address,
        };
        let mut addresses = vec![SocketAddr::new(first, self.port)];
        // Clients resolve `localhost` to either family.
        if first == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            addresses.push(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), self.port));
        }
        addresses
    }

    /// Refuses an address that other machines can reach: HTTP is not encrypted.
    pub fn for_this_machine(&self) -> Result<(), NotLoopback> {
        if self.is_loopback() {
            Ok(())
        } else {
            Err(NotLoopback(*self))
        }
    }

    /// Whether only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        match self.host {
            Host::Localhost => true,
            Host::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// The port; 0 lets the system choose.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            host: Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port: 8080,
        }
    }
}

schema_as!(Listen, String);

impl TryFrom<Text> for Listen {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let read = text.value.parse();
        read.map_err(|_| format!("is wrong: {}", BadListen(text.shown)))
    }
}

impl FromStr for Listen {
    type Err = BadListen;

    fn from_str(text: &str) -> Result<Self, BadListen> {
        let bad = || BadListen(text.to_owned());
        if let Ok(socket) = text.parse::<SocketAddr>() {
            return Ok(Self {
                host: Host::Address(socket.ip()),
                port: socket.port(),
            });
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let is_here = host.is_empty() || host.eq_ignore_ascii_case("localhost");
        if !is_here || !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        Ok(Self {
            host: Host::Localhost,
            port: port.parse().map_err(|_| bad())?,
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Localhost => write!(f, "localhost:{}", self.port),
            Host::Address(address) => SocketAddr::new(address, self.port).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, addresses: &[&str], loopback: bool) {
        let listen: Listen = input.parse().expect("an address");
        let expected: Vec<SocketAddr> = addresses
            .iter()
            .map(|a| a.parse().expect("a socket address"))
            .collect();
        assert_eq!(listen.addresses(), expected, "{input}");
        assert_eq!(listen.is_loopback(), loopback, "{input}");
        assert_eq!(listen.to_string().parse(), Ok(listen), "{input}");
    }

    #[test]
    fn loopback_is_tried_in_both_families() {
        let both = ["127.0.0.1:8080", "[::1]:8080"];
        check("127.0.0.1:8080", &both, true);
        check("localhost:8080", &both, true);
        check("LOCALHOST:8080", &both, true);
        check(":8080", &both, true);
        check("[::1]:0", &["[::1]:0"], true);
        check("127.0.0.2:1", &["127.0.0.2:1"], true);
        assert_eq!(
            Listen::default(),
            "127.0.0.1:8080".parse().expect("an address")
        );
    }

    #[test]
    fn other_addresses_are_not_loopback() {
        check("0.0.0.0:8080", &["0.0.0.0:8080"], false);
        check("[::]:8080", &["[::]:8080"], false);
        check("192.168.1.2:80", &["192.168.1.2:80"], false);
    }

    #[test]
    fn nonsense_is_refused_naming_what_is_accepted() {
        for bad in [
            "",
            "8080",
            "localhost",
            "example.com:80",
            ":",
            ":99999",
            ":+80",
            "::1:80",
            "a b:1",
            "127.0.0.1",
        ] {
            let error = bad.parse::<Listen>().expect_err("no address").to_string();
            assert!(error.contains("localhost:8080"), "{error}");
        }
        for (bad, why) in [
            ("127.0.0.1", ": it has no port"),
            ("::1:80", ": it has no port"),
            ("LocalHost", ": it has no port"),
            ("8080", ": a port needs `:` before it"),
            (":99999", ": a port is at most 65535"),
            ("example.com:80", " on"),
        ] {
            let what = BadListen(bad.to_owned()).what();
            assert!(what.ends_with(why), "{what}");
        }
    }
}
