//! Searching the catalog on a caller's behalf: what the gate would not let it call is not found.

use std::sync::Arc;

use super::Router;
use crate::{
    caller::Caller,
    catalog::{ServerCatalog, Tool, words_of},
    gate::{self, Variant, Wanted},
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

/// How many of the query's words a tool must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Matching {
    /// One is enough; more rank higher.
    #[default]
    Any,
    /// All of them.
    All,
}

impl Matching {
    /// Reads the spelling that requests use.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "any" => Some(Self::Any),
            "all" => Some(Self::All),
            _ => None,
        }
    }
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
    pub fn search(&self, caller: &Caller, search: &Search) -> Found {
        let (settings, snapshot) = (self.settings(), self.0.catalog.snapshot());
        let words = words_of(&search.query);
        let mut tools = Vec::new();
        for server in snapshot.servers.values() {
            for (place, tool) in server.tools.iter().enumerate() {
                let name = server.server.as_str();
                let text = words_of(&format!("{name} {} {}", tool.name, tool.description));
                let hits = words.iter().filter(|word| text.contains(word)).count();
                let wanted = Wanted::Tool(&tool.name);
                if hits == 0 || gate::decide(&settings, &snapshot, caller, name, wanted).is_err() {
                    continue;
                }
                tools.push(FoundTool {
                    server: server.clone(),
                    place,
                    score: hits as f32 / words.len() as f32,
                    call_with: gate::call_with(settings.servers.get(name).map(AsRef::as_ref), tool),
                });
            }
        }
        tools.sort_by(|a, b| b.score.total_cmp(&a.score));
        let total = tools.len();
        tools.truncate(
            search
                .limit
                .unwrap_or(settings.tools_limit)
                .min(settings.tools_limit),
        );
        let discovering = self
            .0
            .upstreams
            .all()
            .iter()
            .any(|upstream| matches!(upstream.status().state, State::Connecting { .. }));
        let notice = discovering.then(|| "Discovery is still running.".to_owned());
        Found {
            tools,
            total,
            notice,
        }
    }
}
