//! The addresses of the MCP endpoints. They are no routes of the HTTP library: each call would pass its layers.

use percent_encoding::percent_decode_str;

use crate::{config::RoutingMode, router::View};

/// What the addresses of the streams of HTTP+SSE end in.
pub(super) const SUFFIX: &str = "/sse";

/// What an address leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientEndpoint {
    /// All servers, in this view.
    All(View),
    /// Those of the profile of this name, if there is one.
    Profile(String),
    /// The server of this name, if there is one.
    Server(String),
}

/// Which transports an address serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressKind {
    /// Streamable HTTP, and HTTP+SSE to those who ask for it.
    Both,
    /// HTTP+SSE only.
    LegacySse,
}

impl ClientEndpoint {
    /// The endpoint at a path, and how it is reached there.
    pub(super) fn at(path: &str) -> Option<(Self, AddressKind)> {
        if let Some(endpoint) = Self::of_both(path) {
            return Some((endpoint, AddressKind::Both));
        }
        let endpoint = match path.strip_suffix(SUFFIX)? {
            "" => Self::All(View::Configured),
            path => Self::of_both(path)?,
        };
        Some((endpoint, AddressKind::LegacySse))
    }

    fn of_both(path: &str) -> Option<Self> {
        let mode = match path.strip_prefix("/mcp")? {
            "" => return Some(Self::All(View::Configured)),
            "/all" => RoutingMode::Direct,
            "/call" => RoutingMode::RetrieveTools,
            "/code" => RoutingMode::CodeExecution,
            "/proxy" => RoutingMode::Proxy,
            below => {
                let profile = below
                    .strip_prefix("/p/")
                    .map(|name| named(name, Self::Profile));
                let server = || Some(named(below.strip_prefix("/server/")?, Self::Server));
                return profile.or_else(server)?;
            }
        };
        Some(Self::All(View::Mode(mode)))
    }
}

/// The last part of a path, if it is one.
fn named(part: &str, endpoint: fn(String) -> ClientEndpoint) -> Option<ClientEndpoint> {
    if part.is_empty() || part.contains('/') {
        return None;
    }
    let name = percent_decode_str(part).decode_utf8().ok()?;
    Some(endpoint(name.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_one_endpoint() {
        let all = |mode| Some(ClientEndpoint::All(View::Mode(mode)));
        let configured = || Some(ClientEndpoint::All(View::Configured));
        let profile = |name: &str| Some(ClientEndpoint::Profile(name.to_owned()));
        let server = |name: &str| Some(ClientEndpoint::Server(name.to_owned()));
        for (path, expected) in [
            ("/mcp", configured()),
            ("/mcp/all", all(RoutingMode::Direct)),
            ("/mcp/call", all(RoutingMode::RetrieveTools)),
            ("/mcp/code", all(RoutingMode::CodeExecution)),
            ("/mcp/proxy", all(RoutingMode::Proxy)),
            ("/mcp/p/work", profile("work")),
            ("/mcp/p/a%20b", profile("a b")),
            ("/mcp/p/sse", profile("sse")),
            ("/mcp/server/a.b", server("a.b")),
            ("/mcp/server/sse", server("sse")),
            ("/mcp/server/a%2Fb", server("a/b")),
        ] {
            let expected = expected.map(|endpoint| (endpoint, AddressKind::Both));
            assert_eq!(ClientEndpoint::at(path), expected, "{path}");
        }
        for (path, expected) in [
            ("/sse", configured()),
            ("/mcp/sse", configured()),
            ("/mcp/all/sse", all(RoutingMode::Direct)),
            ("/mcp/p/work/sse", profile("work")),
            ("/mcp/server/sse/sse", server("sse")),
        ] {
            let expected = expected.map(|endpoint| (endpoint, AddressKind::LegacySse));
            assert_eq!(ClientEndpoint::at(path), expected, "{path}");
        }
        for path in [
            "",
            "/",
            "/mcp/",
            "/mcpx",
            "/mcp/other",
            "/mcp/All",
            "/mcp/all/",
            "/mcp/p",
            "/mcp/p/",
            "/mcp/p//sse",
            "/mcp/p/a/b",
            "/mcp/p/%ff",
            "/mcp/server/",
            "/mcp/sse/sse",
            "/sse/",
        ] {
            assert_eq!(ClientEndpoint::at(path), None, "{path}");
        }
    }
}
