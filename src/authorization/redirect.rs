//! The redirect URI: where the authorization server sends the browser back to. On this machine a port listens there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

use super::callback_listener::CallbackListener;
use crate::{config::loopback::is_loopback, storage::in_words};

/// The path of the redirect URI where none is configured.
const PATH: &str = "/callback";

/// The machine and the address of the redirect URI.
pub(super) enum Redirect {
    /// This machine.
    Here {
        host: String,
        port: Option<u16>,
        path: String,
        /// With its `?`. The authorization server appends its own parameters (RFC 6749, 3.1.2).
        query: String,
    },
    /// Another machine: a person pastes the address that the browser ends at.
    Elsewhere(String),
}

impl Redirect {
    pub(super) fn of(configured: Option<&str>) -> Self {
        let Some(configured) = configured else {
            return Self::Here {
                host: Ipv4Addr::LOCALHOST.to_string(),
                port: None,
                path: PATH.to_owned(),
                query: String::new(),
            };
        };
        let uri: Uri = configured.parse().unwrap_or_default();
        match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(host)) if is_loopback(host) => Self::Here {
                host: host.to_owned(),
                port: uri.port_u16(),
                path: uri.path().to_owned(),
                query: uri
                    .query()
                    .map_or_else(String::new, |query| format!("?{query}")),
            },
            _ => Self::Elsewhere(configured.to_owned()),
        }
    }

    /// Listens, at the port of an earlier login if that is free: the authorization server may know that one only.
    pub(super) async fn listen(
        &self,
        earlier: Option<&str>,
    ) -> Result<Option<CallbackListener>, String> {
        let Self::Here {
            host, port, path, ..
        } = self
        else {
            return Ok(None);
        };
        let bare = host.trim_matches(['[', ']']);
        let ip: IpAddr = match bare.parse() {
            Ok(IpAddr::V6(_)) => Ipv6Addr::LOCALHOST.into(),
            Ok(IpAddr::V4(address)) => address.into(),
            Err(_) => Ipv4Addr::LOCALHOST.into(),
        };
        let bind = |port: u16| CallbackListener::bind((ip, port).into(), host, path);
        let bound = match (port, earlier.and_then(port_of)) {
            (Some(port), _) => bind(*port).await,
            (None, None) => bind(0).await,
            (None, Some(earlier)) => match bind(earlier).await {
                Ok(bound) => Ok(bound),
                Err(_) => bind(0).await,
            },
        };
        bound.map(Some).map_err(|error| {
            let (port, why) = (port.unwrap_or_default(), in_words(&error));
            format!("cannot listen at {host}:{port} for the browser's return: {why}")
        })
    }

    /// The redirect URI, with the port that listens.
    pub(super) fn address(&self, listener: Option<&CallbackListener>) -> String {
        match self {
            Self::Elsewhere(address) => address.clone(),
            Self::Here {
                host,
                port,
                path,
                query,
            } => {
                let bound = listener.map(CallbackListener::port);
                let port = bound.or(*port).unwrap_or_default();
                format!("http://{host}:{port}{path}{query}")
            }
        }
    }
}

fn port_of(address: &str) -> Option<u16> {
    let uri: Uri = address.parse().ok()?;
    uri.host().filter(|host| is_loopback(host))?;
    uri.port_u16()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_browser_comes_back_where_it_was_told_to() {
        let check = async |configured: Option<&str>, expected: &str| {
            let redirect = Redirect::of(configured);
            let listener = redirect.listen(None).await.expect("a free port");
            let address = redirect.address(listener.as_ref());
            let port = listener.map(|listener| listener.port());
            let expected = expected.replace("PORT", &port.unwrap_or_default().to_string());
            assert_eq!(address, expected);
        };
        check(None, "http://127.0.0.1:PORT/callback").await;
        check(Some("http://localhost/back"), "http://localhost:PORT/back").await;
        let with_query = "http://localhost:PORT/back?x=1";
        check(Some("http://localhost/back?x=1"), with_query).await;
        check(Some("https://h/back"), "https://h/back").await;
        let first = Redirect::of(None);
        let listener = first.listen(None).await.expect("a free port");
        let earlier = first.address(listener.as_ref());
        let taken = first.listen(Some(&earlier)).await.expect("another port");
        assert_ne!(first.address(taken.as_ref()), earlier);
        drop(listener);
        let again = first.listen(Some(&earlier)).await.expect("the same port");
        assert_eq!(first.address(again.as_ref()), earlier);
    }
}
