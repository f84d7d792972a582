//! Suggests known tools for unknown names.

use super::{Search, ToolSearch};
use crate::{
    access::Caller,
    catalog::Matching,
    failure::Result,
    gate::{Moment, Variant},
    runtime::long_work::Stop,
    text::names,
    wire::Target,
};

/// How many known names are suggested for an unknown one.
const SUGGESTED: usize = 3;

/// Limit: comparisons of unknown with known names in one request. Names beyond it are not compared.
const COMPARED: usize = 100_000;

/// Limit: unknown names of one request whose words are searched for. A search looks at every tool that has one of them.
const SEARCHED: usize = 3;

/// The work for one unknown name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Effort {
    /// Whether it is compared with every known name.
    compares: bool,
    /// Whether its words are searched for.
    searches: bool,
}

/// The work for each of so many unknown names, where so many are known. Bounds the cost of one request: strangers choose the unknown names,
/// and servers the known ones.
fn efforts(unknown: usize, known: usize) -> impl Iterator<Item = Effort> {
    let comparable = COMPARED / known.max(1);
    (0..unknown).map(move |n| Effort {
        compares: n < comparable,
        searches: n < SEARCHED,
    })
}

impl ToolSearch {
    /// The closest tools that the caller may call, for each of these unknown names: first the one that is spelt alike, then those that have its
    /// words, each as `server:tool`.
    pub async fn closest(&self, caller: &Caller, names: Vec<String>) -> Result<Vec<Vec<String>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let (search, caller) = (self.clone(), caller.clone());
        self.long(move |stop| {
            let now = search.0.gate.now_for(&caller);
            let known = known_names(&now);
            let efforts = efforts(names.len(), known.len());
            let closest = |(name, effort): (&String, Effort)| {
                search.closest_to((name, effort), &now, &caller, &known, stop)
            };
            names.iter().zip(efforts).map(closest).collect()
        })
        .await
    }

    fn closest_to(
        &self,
        (name, effort): (&str, Effort),
        now: &Moment,
        caller: &Caller,
        known: &[String],
        stop: &Stop,
    ) -> Vec<String> {
        if stop.is_requested() {
            return Vec::new();
        }
        let is_visible = |name: &str| {
            name.split_once(':').is_some_and(|(server, tool)| {
                now.rules().allows(caller, server, &Target::tool(tool))
            })
        };
        let known = if effort.compares { known } else { &[] };
        let known = known.iter().map(String::as_str);
        let spelt_alike = names::closest_allowed(name, known, is_visible);
        let mut closest: Vec<String> = spelt_alike.map(str::to_owned).into_iter().collect();
        let search = Search {
            // As words: a filter would look for the very name that is not there.
            query: name.replace([':', '"'], " "),
            limit: Some(SUGGESTED),
            matching: Matching::Any,
            server: None,
            up_to: Variant::Destructive,
            explained: false,
            is_at_terminal: false,
        };
        let found = effort
            .searches
            .then(|| self.search_here(caller, &search, stop));
        for tool in found.and_then(Result::ok).unwrap_or_default().tools {
            let name = tool.name();
            if !closest.contains(&name) {
                closest.push(name);
            }
        }
        closest.truncate(SUGGESTED);
        closest
    }
}

/// Every known tool as `server:tool`.
fn known_names(now: &Moment) -> Vec<String> {
    let servers = now.snapshot().servers.iter();
    servers
        .flat_map(|(server, known)| known.tools.iter().map(move |tool| (server, tool)))
        .map(|(server, tool)| format!("{server}:{}", tool.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_request_costs_has_a_bound_whatever_it_asks_for() {
        for (unknown, known) in [
            (20, 20_000),
            (20, 100_000),
            (20, 1_000_000),
            (1, 0),
            (20, 5_000),
        ] {
            let efforts: Vec<Effort> = efforts(unknown, known).collect();
            assert_eq!(efforts.len(), unknown);
            let compared = efforts.iter().filter(|effort| effort.compares).count() * known;
            let searched = efforts.iter().filter(|effort| effort.searches).count();
            assert!(compared <= COMPARED && searched <= SEARCHED, "{known}");
        }
        let small = efforts(20, 500).filter(|effort| effort.compares).count();
        assert_eq!(small, 20, "an ordinary catalog is compared whole");
        let first = efforts(1, 20_000).next().expect("one");
        assert!(first.compares && first.searches);
    }
}
