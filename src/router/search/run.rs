//! One search over one state of settings, catalog and index. Pure, except that it measures its duration.

use std::{sync::Arc, time::Instant};

use super::{Absent, Found, FoundTool, Search, WholeList, notice};
use crate::{
    access::Caller,
    catalog::{IndexError, Matching, Query, Searcher, Snapshot, Writer},
    config::{OPERATOR, Settings},
    failure::{ErrorCode, Failure, Result},
    gate::{Rules, ServerRules, Variant},
    runtime::{long_work::Stop, quick_map::QuickMap},
    text::ServerName,
    wire::{Target, method},
};

/// The share of the best score below which a tool that has only some of the words is left out. The retrieval figures are the
/// same without those.
const FAR_BELOW: f32 = 0.05;

/// The state that a search reads, and the caller for whom it is made.
pub(super) struct SearchState<'a> {
    pub(super) settings: &'a Settings,
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) searcher: &'a Searcher,
    pub(super) caller: &'a Caller,
    /// Which of these servers, or of all if there are none, cannot be searched now.
    pub(super) absent: &'a dyn Fn(&[&str]) -> Absent,
}

/// Searches lists without a daemon.
pub(super) fn in_lists(
    caller: &Caller,
    settings: &Settings,
    snapshot: &Arc<Snapshot>,
    search: &Search,
) -> Result<Found> {
    let indexed = Writer::new().and_then(|mut writer| writer.update(snapshot.clone()));
    let (searcher, _) = indexed.map_err(|error| failed(&error))?;
    let state = SearchState {
        settings,
        snapshot,
        searcher: &searcher,
        caller,
        absent: &|_| Absent::default(),
    };
    let mut found = state.search(search, &Stop::default())?;
    found.add_step(search);
    Ok(found)
}

impl SearchState<'_> {
    /// Searches. Once `stop` is requested, the result is meaningless.
    pub(super) fn search(&self, search: &Search, stop: &Stop) -> Result<Found> {
        let began = Instant::now();
        // A filter for any other server would reveal that this server is configured.
        let is_shown = |server: &&str| self.rules().shows(self.caller, server);
        let servers = self.settings.servers.keys().map(ServerName::as_str);
        let servers: Vec<&str> = servers.filter(is_shown).collect();
        let broken = self.settings.broken.iter();
        let broken = broken.filter(|one| one.would_be_offered());
        let broken = broken.map(|one| one.name.as_str()).filter(is_shown);
        let known: Vec<&str> = servers.iter().copied().chain(broken).collect();
        let mut query = Query::parse(&search.query, &known);
        if let Some(server) = &search.server {
            let lists = Target::method_alone(method::TOOLS_LIST);
            self.rules().entry(self.caller, server, &lists)?;
            let named: Vec<&str> = query.servers().collect();
            if !named.is_empty() && !named.contains(&&**server) {
                return Ok(Found {
                    notice: Some(notice::contradiction(&named, server)),
                    ..Found::default()
                });
            }
            query = query.of_server(server);
        }
        if query.is_empty() {
            return Ok(Found {
                notice: Some(notice::NO_WORDS.to_owned()),
                ..Found::default()
            });
        }
        let mut found = Found::default();
        for (i, attempt) in query.attempts(search.matching).iter().enumerate() {
            let before = std::mem::take(&mut found.held);
            found = self.attempt(attempt, search, stop)?;
            let is_new = |one: &Failure| before.iter().all(|known| known.error != one.error);
            found.held.retain(is_new);
            found.held.splice(..0, before);
            if found.total > 0 || found.omitted.is_some() {
                if i > 0 && attempt.phrases != query.phrases {
                    found.add_notice(notice::NO_PHRASE);
                }
                break;
            }
        }
        let fits = found.total > 0 || found.omitted.is_some();
        found.is_held = !fits && !found.held.is_empty();
        let named: Vec<&str> = query.servers().collect();
        let absent = (self.absent)(&named);
        let mut unsearched = 0;
        if let Some(omitted) = found.omitted.filter(|_| found.total == 0) {
            found.add_notice(&notice::omitted(search.up_to, omitted));
        } else if !fits && found.held.is_empty() {
            let wanted = if named.is_empty() { &servers } else { &named };
            let searched = wanted.iter().filter(|server| !absent.has(server));
            let barren = searched.map(|server| self.barren(server, search));
            if servers.is_empty() {
                if absent.servers.is_empty() {
                    found.add_notice(notice::NO_SERVERS);
                }
            } else if let Some(reasons) = barren.collect::<Option<Vec<String>>>() {
                found.add_notice(&notice::first_of(&reasons));
            } else {
                found.add_notice(&notice::nothing(search, &query));
                unsearched = self.count_held(wanted);
            }
            if let Some(calls) = self.rules().only_calls(self.caller) {
                found.add_notice(&notice::beyond_token(calls));
            }
        }
        if !found.held.is_empty() {
            let held = notice::held_back(&found, search.is_at_terminal);
            found.add_notice(&held);
        }
        for notice in absent.notices(search.is_at_terminal) {
            found.add_notice(&notice);
        }
        if unsearched > 0 {
            found.add_notice(&notice::by_name(unsearched, search.is_at_terminal));
        }
        found.is_about_servers =
            unsearched > 0 || !absent.down.is_empty() || !absent.logins.is_empty();
        if query.was_cut {
            found.add_notice(&notice::too_long());
        }
        if search.explained {
            found.took_us = u64::try_from(began.elapsed().as_micros()).ok();
            found.listed = Some(self.listed());
        }
        Ok(found)
    }

    /// Why nothing of a server can be found, whatever the words are.
    fn barren(&self, server: &str, search: &Search) -> Option<String> {
        let lists = Target::method_alone(method::TOOLS_LIST);
        if let Err(failure) = self.rules().decide(self.caller, server, &lists) {
            return Some(notice::unusable(&failure, search.is_at_terminal));
        }
        match self.snapshot.servers.get(server) {
            None => Some(format!("The tools of {server} are not known yet.")),
            Some(known) if known.tools.is_empty() => {
                Some(format!("{server} has no tools. Search other servers."))
            }
            Some(_) => None,
        }
    }

    /// How many tools of these servers are held. Their texts are not searched.
    fn count_held(&self, servers: &[&str]) -> usize {
        let rules = self.rules();
        let mut held = 0;
        for server in servers {
            let known = self.snapshot.servers.get(*server);
            for tool in known.into_iter().flat_map(|known| &known.tools) {
                let target = Target::tool(&tool.name);
                let refused = rules.decide(self.caller, server, &target).err();
                let code = refused.map(|failure| failure.code);
                let is_held = matches!(code, Some(ErrorCode::ToolHeld | ErrorCode::ToolChanged));
                held += usize::from(is_held);
            }
        }
        held
    }

    /// Gives each tool that was found the shares of the words in its score.
    fn explain(&self, query: &Query, found: &mut Found) -> Result {
        let places = found.tools.iter();
        let places: Vec<(&str, usize)> = places
            .map(|tool| (tool.server.server.as_str(), tool.place))
            .collect();
        let explained = self.searcher.explain(query, &places);
        let explained = explained.map_err(|error| failed(&error))?;
        for (tool, why) in found.tools.iter_mut().zip(explained) {
            tool.why = Some(why);
        }
        Ok(())
    }

    /// The size of a list of every tool that the caller may call.
    fn listed(&self) -> WholeList {
        let rules = self.rules();
        let mut listed = WholeList {
            tools: 0,
            characters: 0,
        };
        for (name, server) in &self.snapshot.servers {
            for tool in &server.tools {
                let target = Target::tool(&tool.name);
                if rules.decide(self.caller, name.as_str(), &target).is_ok() {
                    listed.tools += 1;
                    listed.characters += tool.definition.as_str().len();
                }
            }
        }
        listed
    }

    /// Whether the caller may learn of a tool that is refused to it. What the rules deny it is hidden from it, unless it can change the rules.
    fn may_hear_of(&self, failure: &Failure) -> bool {
        let can_change_rules = self.caller.subject() == OPERATOR;
        is_held(failure) || can_change_rules && failure.code == ErrorCode::AccessDenied
    }

    fn rules(&self) -> Rules<'_> {
        Rules::new(self.settings, self.snapshot)
    }

    fn attempt(&self, query: &Query, search: &Search, stop: &Stop) -> Result<Found> {
        let most = self.settings.tools_limit;
        let limit = search.limit.unwrap_or(most).clamp(1, most);
        let hits = self.searcher.search(query, search.matching, stop);
        let mut hits = hits.map_err(|error| failed(&error))?;
        let (mut found, mut words, mut best) = (Found::default(), 0, None);
        let is_far_below = |score: f32, best: Option<f32>| {
            let best = best.filter(|_| search.matching == Matching::Any);
            best.is_some_and(|best| score < best * FAR_BELOW)
        };
        let (mut rest, mut rules_of) = (None, QuickMap::<&str, ServerRules<'_, '_>>::default());
        while !stop.is_requested() {
            let hit = match &mut rest {
                None if found.tools.len() < limit => hits.next(),
                rest => rest.get_or_insert_with(|| hits.unsorted()).next(),
            };
            let Some(hit) = hit else { break };
            let name = hit.server.server.as_str();
            let target = Target::tool(&hit.tool().name);
            let rules = rules_of.entry(name);
            let rules = rules.or_insert_with(|| self.rules().of_server(name));
            if let Err(failure) = rules.decide(self.caller, &target) {
                if !self.may_hear_of(&failure) {
                    continue;
                }
                words |= hit.words;
                // Only what would stand before all that may be called: nobody is sent to a server for a chance word.
                let is_first = found.total == 0 && found.omitted.is_none();
                if is_first && !is_far_below(hit.score, best) {
                    best = best.or(Some(hit.score));
                    if found.held.iter().all(|known| known.error != failure.error) {
                        found.held.push(failure);
                    }
                }
                continue;
            }
            let call_with = || self.rules().call_with(name, hit.tool());
            words |= hit.words;
            if is_far_below(hit.score, best) {
                continue;
            }
            best = best.or(Some(hit.score));
            if search.up_to != Variant::Destructive && !is_up_to(search.up_to, call_with()) {
                found.omitted.get_or_insert_default().count(hit.tool());
                continue;
            }
            found.total += 1;
            if found.tools.len() < limit {
                let call_with = call_with();
                found.tools.push(FoundTool {
                    server: hit.server.clone(),
                    place: hit.place,
                    score: hit.score,
                    call_with,
                    why: None,
                });
            }
        }
        if search.explained {
            self.explain(query, &mut found)?;
        }
        let missing = hits.words_but(words);
        if found.total > 0 && !missing.is_empty() {
            let only = self.rules().only_calls(self.caller);
            found.add_notice(&notice::without(&missing, only));
        }
        Ok(found)
    }
}

fn failed(error: &IndexError) -> Failure {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "a search failed");
    let hint = "Try again; the daemon's log has the reason.";
    Failure::new(ErrorCode::Internal, "the search failed", hint)
}

/// Whether a refusal concerns every caller, so that a notice may name what is refused.
fn is_held(failure: &Failure) -> bool {
    matches!(
        failure.code,
        ErrorCode::ServerQuarantined
            | ErrorCode::ServerDisabled
            | ErrorCode::ToolDisabled
            | ErrorCode::ToolChanged
            | ErrorCode::ToolHeld
    )
}

fn is_up_to(most: Variant, variant: Variant) -> bool {
    match most {
        Variant::Read => variant == Variant::Read,
        Variant::Write => variant != Variant::Destructive,
        Variant::Destructive => true,
    }
}
