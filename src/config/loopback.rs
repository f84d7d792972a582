//! Which hosts are this machine, without asking a name server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether the host of a URL is `localhost` or a loopback address, in brackets or not.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || without_brackets(host)
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The socket that a program of this machine connects to: nobody can connect to an unspecified address.
pub fn on_this_machine(mut socket: SocketAddr) -> SocketAddr {
    match socket.ip() {
        IpAddr::V4(host) if host.is_unspecified() => socket.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(host) if host.is_unspecified() => socket.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => (),
    }
    socket
}

/// An IPv6 address without its brackets; any other host as it is.
pub fn without_brackets(host: &str) -> &str {
    let inside = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inside.unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn this_machine_has_few_names() {
        for host in [
            "localhost",
            "LocalHost",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.example",
            "10.0.0.1",
            "[::2]",
            "0.0.0.0",
            "[::1",
            "::1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
