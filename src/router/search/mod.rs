//! Searches the tools of all servers for a caller, on behalf of built-in tools, REST and the command line. Finds only tools that the gate lets
//! the caller use; a notice says where more may be.

mod answer;
mod closest;
mod notice;
mod run;
mod signature;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::timeout;

pub use self::{
    answer::{Detail, SearchAnswer, search_lists},
    signature::signature,
};
use self::{notice::Absent, run::SearchState};
use crate::{
    access::Caller,
    catalog::{Catalog, Matching, Query, ServerCatalog, Tool, WordShare},
    failure::{ErrorCode, Failure, NextStep, Result},
    gate::{Gate, Moment, Variant},
    runtime::long_work::{LongWork, Stop},
    text::names::ServerName,
    upstream::{Status, Upstreams},
    wire::Raw,
};

/// Limit: how long the first searches wait for the index.
const FIRST_INDEX: Duration = Duration::from_secs(5);

/// The request for a search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words, as a model or a person typed them.
    pub query: String,
    /// The most results; the configured number if `None`.
    pub limit: Option<usize>,
    /// How many of the words a tool must have.
    pub matching: Matching,
    /// Only tools of this server.
    pub server: Option<String>,
    /// Only tools that are called with this variant or a milder one.
    pub up_to: Variant,
    /// Whether the answer explains the rank of each tool.
    pub explained: bool,
    /// Whether the operator is at a terminal, where notices name commands.
    pub is_at_terminal: bool,
}

/// The outcome of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// The best matches, the best first.
    pub tools: Vec<FoundTool>,
    /// The number of all matches that the caller may call.
    pub total: usize,
    /// Sentences for the caller: where more may be, and what is held back.
    pub notice: Option<String>,
    /// Whether there are matches, but all of them are held back.
    pub is_held: bool,
    /// Whether the notice is about the state of servers, which a person can look at.
    is_about_servers: bool,
    /// Why matches are held back that are better than all in `tools`, each reason once.
    pub held: Vec<Failure>,
    /// The matches that [`Search::up_to`] leaves out.
    pub omitted: Option<Omitted>,
    /// The size of a list of all tools that the caller may call, if the search is to be explained.
    pub listed: Option<WholeList>,
    /// The duration in microseconds, if the search is to be explained.
    pub took_us: Option<u64>,
}

/// Tools that a filter left out, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Omitted {
    /// Tools that declare that they write or delete.
    pub declares_write: usize,
    /// Tools that declare nothing, and whose words do not say that they only read.
    pub declares_nothing: usize,
    /// Tools that declare that they only read, but whose words say otherwise.
    #[serde(skip_serializing_if = "is_zero")]
    pub words_say_write: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde wants")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Omitted {
    fn count(&mut self, tool: &Tool) {
        *match (tool.hints.read_only, tool.hints.destructive) {
            (Some(false), _) | (_, Some(true)) => &mut self.declares_write,
            (Some(true), _) => &mut self.words_say_write,
            (None, _) => &mut self.declares_nothing,
        } += 1;
    }

    fn total(self) -> usize {
        self.declares_write + self.declares_nothing + self.words_say_write
    }
}

/// The size of a list of all tools.
#[derive(Debug, Clone, Copy, Serialize, schemars::JsonSchema)]
pub struct WholeList {
    /// The number of tools.
    pub tools: usize,
    /// The size of their definitions in bytes.
    pub characters: usize,
}

/// One tool that was found.
#[derive(Debug)]
pub struct FoundTool {
    /// Its server.
    pub server: Arc<ServerCatalog>,
    /// Its place in the server's list.
    pub place: usize,
    /// In (0, 1].
    pub score: f32,
    /// The variant to call it with.
    pub call_with: Variant,
    /// The shares of the query's words in its score, if the search is to be explained.
    pub why: Option<Vec<WordShare>>,
}

impl FoundTool {
    /// The tool itself.
    pub fn tool(&self) -> &Tool {
        &self.server.tools[self.place]
    }

    /// Its name in calls: `server:tool`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.server.server, self.tool().name)
    }
}

impl Found {
    fn add_notice(&mut self, notice: &str) {
        let text = self.notice.get_or_insert_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(notice);
    }

    /// A person's step comes last, after all that it shows. What is held has one of its own.
    fn add_step(&mut self, search: &Search) {
        if search.is_at_terminal && self.is_about_servers && self.held.is_empty() {
            self.add_notice("Next: `mcpproxy upstream list`.");
        }
    }
}

/// Searches the tools of a daemon's servers. Cheap to clone.
#[derive(Clone)]
pub struct ToolSearch(Arc<Parts>);

struct Parts {
    gate: Gate,
    catalog: Catalog,
    upstreams: Upstreams,
    long_work: LongWork,
}

impl ToolSearch {
    /// A search over these parts.
    pub fn new(gate: Gate, catalog: Catalog, upstreams: Upstreams) -> Self {
        Self(Arc::new(Parts {
            gate,
            catalog,
            upstreams,
            long_work: LongWork::default(),
        }))
    }

    /// Searches the known lists and gives the answer: `{"tools", "query", "total", "notice"?}`. Never waits for a server. A slow search runs
    /// on a thread of its own, and stops when the future is dropped.
    pub async fn answer(&self, caller: &Caller, search: &Search, detail: Detail) -> Result<Raw> {
        // If the index is not there in time, the notice says what is not searched.
        let _ = timeout(FIRST_INDEX, self.0.catalog.index_first()).await;
        let words = Query::parse(&search.query, &[]);
        let searcher = self.0.catalog.searcher();
        let found = if self.0.catalog.is_indexed_for(caller) && searcher.is_quick(&words) {
            self.search_here(caller, search, &Stop::default())?
        } else {
            let (searching, caller, search) = (self.clone(), caller.clone(), search.clone());
            self.long(move |stop| searching.search_here(&caller, &search, stop))
                .await??
        };
        let settings = self.0.gate.settings();
        Ok(answer::of(&found, &settings, search, detail))
    }

    /// The search itself. Blocks as long as it takes.
    fn search_here(&self, caller: &Caller, search: &Search, stop: &Stop) -> Result<Found> {
        let now = self.0.gate.now_for(caller);
        let searcher = self.0.catalog.searcher_for(caller);
        let covers = |snapshot| Arc::ptr_eq(searcher.snapshot(), snapshot);
        let is_behind = !covers(now.snapshot()) && !covers(&self.0.catalog.snapshot());
        let state = SearchState {
            settings: now.settings(),
            snapshot: now.snapshot(),
            searcher: &searcher,
            caller,
            absent: &|named| self.absent(caller, &now, named, is_behind),
        };
        let mut found = state.search(search, stop)?;
        let unconnected = self.unconnected(&found);
        if !unconnected.is_empty() {
            found.add_notice(&notice::unconnected(&unconnected));
            found.is_about_servers = true;
        }
        found.add_step(search);
        Ok(found)
    }

    /// The servers whose tools are not known, so that no search finds them: of these, or of all if there are none.
    fn absent(&self, caller: &Caller, now: &Moment, named: &[&str], is_behind: bool) -> Absent {
        let mut absent = Absent {
            is_behind,
            ..Absent::default()
        };
        let is_unknown = |name: &&ServerName| {
            (named.is_empty() || named.contains(&name.as_str()))
                && !now.snapshot().servers.contains_key(*name)
                && now.rules().offers(caller, name.as_str())
        };
        for name in now.settings().servers.keys().filter(is_unknown) {
            let Some(upstream) = self.0.upstreams.get(name.as_str()) else {
                continue;
            };
            let status = upstream.status();
            absent.servers.push(name.to_string());
            if upstream.is_login_needed() {
                absent.logins.push(name.to_string());
            } else if status.is_failing() {
                absent.down.push(down(name, &status));
            } else {
                absent.awaited.push(name.to_string());
            }
        }
        let broken = now.settings().broken.iter();
        for one in broken.filter(|one| one.would_be_offered()) {
            let is_wanted = named.is_empty() || named.contains(&one.name.as_str());
            if is_wanted && now.rules().shows(caller, &one.name) {
                let why = match one.step() {
                    NextStep::SetSecret { .. } => "needs a secret",
                    NextStep::SetVariable { .. } => "needs a variable",
                    _ => "its entry has a mistake",
                };
                absent.servers.push(one.name.clone());
                absent.down.push(format!("{} ({why})", one.name));
            }
        }
        absent
    }

    /// The servers of found tools that a call would not reach.
    fn unconnected(&self, found: &Found) -> Vec<String> {
        let servers: BTreeSet<_> = found.tools.iter().map(|tool| &tool.server.server).collect();
        let unconnected = servers.into_iter().filter_map(|name| {
            let status = self.0.upstreams.get(name.as_str())?.status();
            status.is_failing().then(|| down(name, &status))
        });
        unconnected.collect()
    }

    /// Does work on a thread of its own that would hold up a worker of the runtime.
    async fn long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T> {
        self.0.long_work.run(work).await.map_err(|_| {
            let hint = "Search again in a moment, in fewer words and without quotes.";
            Failure::new(ErrorCode::Overloaded, "too many searches are waiting", hint)
        })
    }
}

/// A server that is not available, and why: `name (reason)`.
fn down(name: &ServerName, status: &Status) -> String {
    let reason = status.last_error.as_ref();
    let reason = reason.map_or("unavailable", |error| &error.outside);
    format!("{name} ({reason})")
}
