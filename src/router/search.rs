//! Searching the catalog on a caller's behalf: what the gate would not let it call is not found, and the caller is told where more
//! may be.

use std::sync::Arc;

use super::Router;
use crate::{
    access::Caller,
    catalog::{Matching, Query, Searcher, ServerCatalog, Snapshot, Tool, Writer},
    config::Settings,
    error_code::{ErrorCode, Failure},
    gate::{Rules, Variant},
    long_work::Stop,
    names::ServerName,
    wire::Target,
};

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words, as a model or a person typed them.
    pub query: String,
    /// How many results at most; the configured number where not given.
    pub limit: Option<usize>,
    /// How many of the words a tool must have.
    pub matching: Matching,
    /// Only tools of this server.
    pub server: Option<String>,
    /// Only tools that are called with this variant or a milder one.
    pub up_to: Variant,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// The best, best first.
    pub tools: Vec<FoundTool>,
    /// How many there are in all.
    pub total: usize,
    /// What the caller should know: where more may be, and what is held back.
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

impl Found {
    fn add_notice(&mut self, notice: &str) {
        let said = self.notice.get_or_insert_default();
        if !said.is_empty() {
            said.push(' ');
        }
        said.push_str(notice);
    }
}

/// Limit: reasons and servers that a notice names.
const NAMED: usize = 3;

/// What is said of a query that is larger than the limits.
const CUT: &str = "The query is too long: only its beginning was searched for, and its first phrases and filters. \
    Name the task in fewer words.";

impl Router {
    /// Searches what is known now; never waits for a server. What would take longer than a worker of the runtime can be spared is
    /// done off it, and is given up when the future is dropped.
    pub async fn search(&self, caller: &Caller, search: &Search) -> Result<Found, Failure> {
        if self.is_quick(search) {
            return self.search_here(caller, search, &Stop::default());
        }
        let (router, caller, search) = (self.clone(), caller.clone(), search.clone());
        let searching = move |stop: &Stop| router.search_here(&caller, &search, stop);
        self.0
            .long_work
            .run(searching)
            .await
            .map_err(|_| too_many())?
    }

    fn is_quick(&self, search: &Search) -> bool {
        let query = Query::parse(&search.query, &[]);
        self.0.catalog.searcher().is_quick(&query)
    }

    /// The search itself. Blocks as long as it takes.
    pub(super) fn search_here(
        &self,
        caller: &Caller,
        search: &Search,
        stop: &Stop,
    ) -> Result<Found, Failure> {
        let settings = self.settings();
        let ground = Ground {
            settings: &settings,
            snapshot: &self.0.catalog.snapshot(),
            searcher: &self.0.catalog.searcher(),
            caller,
        };
        let mut found = ground.search(search, stop)?;
        if let Some(pending) = self.still_discovering(&ground) {
            found.add_notice(&pending);
        }
        Ok(found)
    }

    /// Says so where the lists of some servers are not known or not indexed yet.
    fn still_discovering(&self, ground: &Ground<'_>) -> Option<String> {
        let (mut pending, mut down) = (Vec::new(), Vec::new());
        for name in ground.settings.servers.keys() {
            let is_known = ground.snapshot.servers.contains_key(name);
            if is_known || !ground.rules().is_usable(name.as_str()) {
                continue;
            }
            match self.0.upstreams.get(name.as_str()).map(|one| one.status()) {
                Some(status) if status.is_failing() => down.push(status.explained(name.as_str())),
                Some(_) => pending.push(name.to_string()),
                None => (),
            }
        }
        if !pending.is_empty() {
            let names = some_of(&pending);
            return Some(format!(
                "Discovery is still running: the tools of {names} are not known yet. Search again in a moment."
            ));
        }
        if !down.is_empty() {
            let names = some_of(&down);
            return Some(format!(
                "The tools of these servers are not known, because they are not available: {names}."
            ));
        }
        let is_behind = !Arc::ptr_eq(ground.searcher.snapshot(), ground.snapshot);
        is_behind.then(|| {
            "The newest tools are still being indexed. Search again in a moment.".to_owned()
        })
    }
}

/// Searches lists that no daemon has in hand.
pub(super) fn in_lists(
    caller: &Caller,
    settings: &Settings,
    snapshot: &Arc<Snapshot>,
    search: &Search,
) -> Result<Found, Failure> {
    let indexed = Writer::new().and_then(|mut writer| writer.update(snapshot.clone()));
    let (searcher, _) = indexed.map_err(|error| failed(&error))?;
    let ground = Ground {
        settings,
        snapshot,
        searcher: &searcher,
        caller,
    };
    ground.search(search, &Stop::default())
}

/// What a search stands on.
struct Ground<'a> {
    settings: &'a Settings,
    snapshot: &'a Arc<Snapshot>,
    searcher: &'a Searcher,
    caller: &'a Caller,
}

impl Ground<'_> {
    fn rules(&self) -> Rules<'_> {
        Rules::new(self.settings, self.snapshot)
    }

    fn search(&self, search: &Search, stop: &Stop) -> Result<Found, Failure> {
        let servers: Vec<&str> = self
            .settings
            .servers
            .keys()
            .map(ServerName::as_str)
            .collect();
        let mut query = Query::parse(&search.query, &servers);
        if let Some(server) = &search.server {
            self.rules().entry(server)?;
            query = query.of_server(server);
        }
        if query.is_empty() {
            let notice = "The query has no words to search for. Name what the tool should do.";
            return Ok(Found {
                notice: Some(notice.to_owned()),
                ..Found::default()
            });
        }
        let mut found = self.attempts(&query, search, stop)?;
        if query.was_cut {
            found.add_notice(CUT);
        }
        Ok(found)
    }

    fn attempts(&self, query: &Query, search: &Search, stop: &Stop) -> Result<Found, Failure> {
        let mut held = Vec::new();
        for (i, attempt) in query.attempts(search.matching).iter().enumerate() {
            let mut found = self.attempt(attempt, search, stop, &mut held)?;
            if found.total > 0 {
                if i > 0 && attempt.phrases != query.phrases {
                    found.add_notice("No tool has the exact phrase; these have its words.");
                }
                return Ok(found);
            }
        }
        let notice = if held.is_empty() {
            nothing(search)
        } else {
            held_back(&held)
        };
        Ok(Found {
            notice: Some(notice),
            ..Found::default()
        })
    }

    fn attempt(
        &self,
        query: &Query,
        search: &Search,
        stop: &Stop,
        held: &mut Vec<Failure>,
    ) -> Result<Found, Failure> {
        let limit = search
            .limit
            .unwrap_or(self.settings.tools_limit)
            .clamp(1, self.settings.tools_limit);
        let hits = self
            .searcher
            .search(query, search.matching, stop)
            .map_err(|error| failed(&error))?;
        let mut found = Found::default();
        for hit in hits.take_while(|_| !stop.is_asked()) {
            let name = hit.server.server.as_str();
            let target = Target::tool(&hit.tool().name);
            match self.rules().decide(self.caller, name, &target) {
                Ok(()) => (),
                Err(failure) => {
                    if is_held(&failure) && held.iter().all(|known| known.error != failure.error) {
                        held.push(failure);
                    }
                    continue;
                }
            }
            let call_with = || self.rules().call_with(name, hit.tool());
            if search.up_to != Variant::Destructive && !is_up_to(search.up_to, call_with()) {
                continue;
            }
            found.total += 1;
            if found.tools.len() < limit {
                let call_with = call_with();
                found.tools.push(FoundTool {
                    server: hit.server,
                    place: hit.place,
                    score: hit.score,
                    call_with,
                });
            }
        }
        Ok(found)
    }
}

fn too_many() -> Failure {
    Failure::new(
        ErrorCode::Overloaded,
        "too many searches are waiting",
        "Search again in a moment, in fewer words and without quotes.",
    )
}

fn failed(error: &crate::catalog::IndexError) -> Failure {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "a search failed");
    Failure::new(
        ErrorCode::Internal,
        "the search failed",
        "Try again; the daemon's log has the reason.",
    )
}

/// Whether a refusal holds a tool back for everybody, which may be said. What rules deny to a caller does not exist for it.
fn is_held(failure: &Failure) -> bool {
    matches!(
        failure.code,
        ErrorCode::ServerQuarantined
            | ErrorCode::ServerDisabled
            | ErrorCode::ToolDisabled
            | ErrorCode::ToolChanged
    )
}

fn is_up_to(most: Variant, variant: Variant) -> bool {
    match most {
        Variant::Read => variant == Variant::Read,
        Variant::Write => variant != Variant::Destructive,
        Variant::Destructive => true,
    }
}

fn nothing(search: &Search) -> String {
    match search.matching {
        Matching::All => {
            "No tool has all of these words. With `match` \"any\" those are found that have some."
        }
        Matching::Any => "No tool has any of these words. Name the task in other words.",
    }
    .to_owned()
}

fn held_back(held: &[Failure]) -> String {
    let reasons: Vec<String> = held
        .iter()
        .take(NAMED)
        .map(|failure| format!("{}. {}", failure.error, failure.hint))
        .collect();
    let more = if held.len() > NAMED {
        " There are others."
    } else {
        ""
    };
    format!(
        "All tools that fit are held back: {}{more}",
        reasons.join(" ")
    )
}

fn some_of(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMED));
    match rest.len() {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}
