//! Searching the catalog on a caller's behalf: what the gate would not let it call is not found.

use std::sync::Arc;

use super::Router;
use crate::{
    caller::Caller,
    catalog::{Matching, Query, ServerCatalog, Tool},
    error_code::{ErrorCode, Failure},
    gate::{self, Variant, Wanted},
    names::ServerName,
    upstream::State,
};

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words, as a model or a person typed them.
    pub query: String,
    /// How many results at most; the configured number where not given.
    pub limit: Option<usize>,
    /// Which tools count as found.
    pub matching: Matching,
    /// Only tools of this server.
    pub server: Option<String>,
    /// Only tools that may be called with this variant or a milder one.
    pub up_to: Variant,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// The best, best first.
    pub tools: Vec<FoundTool>,
    /// How many there are in all.
    pub total: usize,
    /// Why there may be more to find, or what is held back.
    pub notice: Option<String>,
}

/// One tool that was found.
#[derive(Debug)]
pub struct FoundTool {
    /// Its server.
    pub server: Arc<ServerCatalog>,
    /// Its place in the server's list.
    pub place: usize,
    /// In (0, 1], falling.
    pub score: f32,
    /// The variant to call it with.
    pub call_with: Variant,
}

impl FoundTool {
    /// The tool itself.
    pub fn tool(&self) -> &Tool {
        &self.server.tools[self.place]
    }
}

impl Router {
    /// Searches what is known now; never waits.
    pub fn search(&self, caller: &Caller, search: &Search) -> Result<Found, Failure> {
        let (settings, snapshot) = (self.settings(), self.0.catalog.snapshot());
        let searcher = self.0.catalog.searcher();
        let servers: Vec<&str> = settings.servers.keys().map(ServerName::as_str).collect();
        let mut query = Query::parse(&search.query, &servers);
        if let Some(server) = &search.server {
            query = query.of_server(server);
        }
        let hits = searcher.search(&query, search.matching).map_err(|error| {
            tracing::error!(%error, "a search failed");
            Failure::new(
                ErrorCode::Internal,
                "the search failed",
                "Try again; the daemon's log has the reason.",
            )
        })?;
        let limit = search
            .limit
            .unwrap_or(settings.tools_limit)
            .clamp(1, settings.tools_limit);
        let mut found = Found {
            tools: Vec::new(),
            total: 0,
            notice: None,
        };
        for hit in hits {
            let name = hit.server.server.as_str();
            let wanted = Wanted::Tool(&hit.tool().name);
            if gate::decide(&settings, &snapshot, caller, name, wanted).is_err() {
                continue;
            }
            let call_with =
                gate::call_with(settings.servers.get(name).map(AsRef::as_ref), hit.tool());
            found.total += 1;
            if found.tools.len() < limit {
                found.tools.push(FoundTool {
                    server: hit.server,
                    place: hit.place,
                    score: hit.score,
                    call_with,
                });
            }
        }
        let discovering = self
            .0
            .upstreams
            .all()
            .iter()
            .any(|upstream| matches!(upstream.status().state, State::Connecting { .. }));
        found.notice = discovering.then(|| "Discovery is still running.".to_owned());
        Ok(found)
    }
}
