//! Which arguments of a tool a client has to repeat in headers (revision 2026-07-28, server/tools, "x-mcp-header").

use super::{Router, View};
use crate::{config::RoutingMode, wire::header_params::HeaderParam};

impl Router {
    /// The arguments that a client of this endpoint knows to repeat: those of a tool that is listed there. A definition whose
    /// annotations are wrong asks for nothing, because clients leave such a tool out.
    pub fn header_params(&self, view: &View, name: &str) -> Box<[HeaderParam]> {
        let snapshot = self.0.catalog.glance();
        let tool = match view {
            View::Server(server) => snapshot.tool(server.as_str(), name),
            View::Configured | View::Mode(_) | View::Profile(_) => {
                match view.mode(&self.settings()) {
                    RoutingMode::Direct => snapshot.offered_tool(name).map(|(_, tool)| tool),
                    _ => None,
                }
            }
        };
        tool.map(|tool| tool.header_params.clone())
            .unwrap_or_default()
    }
}
