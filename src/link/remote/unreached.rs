//! Why a connection was not made, in words that name the address.

use std::{
    error::Error,
    io::{self, ErrorKind},
};

use http::Uri;

use super::{reply::cause, tls};
use crate::link::LinkError;

/// The reason, for a connection to a server that leads to this address first.
pub(super) fn why(error: &(dyn Error + 'static), server: &Uri, address: &Uri) -> LinkError {
    if let Some(mistake) = tls::mistake_in(error) {
        return LinkError::Tls(mistake);
    }
    let at = shown(address);
    let reason = match kind(error) {
        Some(ErrorKind::ConnectionRefused) => {
            format!("nothing listens at {at} (connection refused)")
        }
        Some(ErrorKind::TimedOut) => format!("no answer from {at} within 10 s"),
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
            format!("cannot reach {at}")
        }
        Some(ErrorKind::NotFound) if server == address => {
            let host = address.host().unwrap_or_default();
            return LinkError::NoHost(host.to_owned());
        }
        Some(ErrorKind::NotFound) => format!("no such host: {at}"),
        _ => format!("no connection to {at}: {}", cause(error)),
    };
    if server == address {
        return LinkError::NotDelivered(reason);
    }
    let variable = match server.scheme_str() {
        Some("https") => "HTTPS_PROXY",
        _ => "HTTP_PROXY",
    };
    LinkError::NoProxy(format!("{reason}, the proxy of {variable}"))
}

/// Host and port.
fn shown(address: &Uri) -> String {
    let host = address.host().unwrap_or_default();
    let usual = match address.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    format!("{host}:{}", address.port_u16().unwrap_or(usual))
}

/// What the system says, wherever in the chain.
fn kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(system) = error.downcast_ref::<io::Error>() {
            return Some(system.kind());
        }
        link = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_named() {
        let check = |kind: ErrorKind, address: &str, expected: &str| {
            let address: Uri = address.parse().expect("an address");
            let error = io::Error::from(kind);
            assert_eq!(why(&error, &address, &address).to_string(), expected);
            let server = Uri::from_static("https://behind.example/mcp");
            let proxied = why(&error, &server, &address).to_string();
            assert!(proxied.ends_with(", the proxy of HTTPS_PROXY"), "{proxied}");
        };
        let refused = ErrorKind::ConnectionRefused;
        check(
            refused,
            "http://127.0.0.1:9/mcp",
            "nothing listens at 127.0.0.1:9 (connection refused)",
        );
        check(
            refused,
            "https://h.example/mcp?key=k",
            "nothing listens at h.example:443 (connection refused)",
        );
        let unknown = "no such host: h.example";
        check(ErrorKind::NotFound, "https://h.example/mcp", unknown);
    }
}
