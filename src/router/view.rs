//! The endpoints of the daemon, by what they show.

use std::{borrow::Cow, fmt, sync::Arc};

use crate::{
    activity::CallEntrance,
    config::{RoutingMode, Settings},
    forward::EndpointKind,
    text::names::ServerName,
};

/// What an endpoint shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// All servers, in the configured mode.
    Configured,
    /// All servers, in this mode.
    Mode(RoutingMode),
    /// The servers of this profile, in the configured mode.
    Profile(Arc<str>),
    /// One server, under its own names.
    Server(ServerName),
}

impl View {
    /// The mode of an endpoint of many servers.
    pub(super) fn mode(&self, settings: &Settings) -> RoutingMode {
        match self {
            Self::Mode(mode) => *mode,
            Self::Configured | Self::Profile(_) | Self::Server(_) => settings.routing_mode,
        }
    }

    /// A name that no other endpoint has, the same after a restart and in every daemon.
    pub fn identity(&self) -> Cow<'_, str> {
        match self {
            Self::Configured => "/mcp".into(),
            Self::Mode(mode) => format!("/mcp/{}", mode.as_str()).into(),
            Self::Profile(name) => format!("/mcp/p/{name}").into(),
            Self::Server(name) => format!("/mcp/server/{name}").into(),
        }
    }

    /// The server of an endpoint of one server.
    pub(super) fn server(&self) -> Option<&ServerName> {
        match self {
            Self::Server(server) => Some(server),
            Self::Configured | Self::Mode(_) | Self::Profile(_) => None,
        }
    }

    pub(super) fn kind(&self) -> EndpointKind {
        match self.server() {
            Some(_) => EndpointKind::OneServer,
            None => EndpointKind::ManyServers,
        }
    }

    /// The address that shows it, as calls and their records name it.
    pub fn entrance(&self) -> CallEntrance {
        match self {
            Self::Configured => CallEntrance::Path("/mcp"),
            Self::Mode(RoutingMode::RetrieveTools) => CallEntrance::Path("/mcp/call"),
            Self::Mode(RoutingMode::Direct) => CallEntrance::Path("/mcp/all"),
            Self::Mode(RoutingMode::CodeExecution) => CallEntrance::Path("/mcp/code"),
            Self::Mode(RoutingMode::Proxy) => CallEntrance::Path("/mcp/proxy"),
            Self::Profile(profile) => CallEntrance::Profile(profile.clone()),
            Self::Server(server) => CallEntrance::Server(server.clone()),
        }
    }
}

impl fmt::Display for View {
    /// As the address that shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entrance())
    }
}
