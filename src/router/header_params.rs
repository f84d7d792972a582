//! Which arguments of a tool a client has to repeat in headers (revision 2026-07-28, server/tools, "x-mcp-header").

use super::{Router, View};
use crate::{config::RoutingMode, wire::header_params::HeaderParam};

impl Router {
    /// The arguments that a client of this endpoint must repeat in headers: those of a tool that the endpoint lists. None if the annotations
    /// for that are wrong, because clients leave such a tool out.
    pub fn header_params(&self, view: &View, name: &str) -> Box<[HeaderParam]> {
        let snapshot = self.0.catalog.glance();
        let tool = match view.server() {
            Some(server) => snapshot.tool(server.as_str(), name),
            None if view.mode(&self.settings()) == RoutingMode::Direct => {
                snapshot.offered_tool(name).map(|(_, tool)| tool)
            }
            None => None,
        };
        tool.map(|tool| tool.header_params.clone())
            .unwrap_or_default()
    }
}
