//! The known names that an unknown one may stand for.

use super::{Search, ToolSearch};
use crate::{
    access::Caller,
    catalog::Matching,
    error_code::Failure,
    gate::{Moment, Variant},
    long_work::Stop,
    names,
    wire::Target,
};

/// Limit: known names for one that is unknown.
const SUGGESTED: usize = 3;

impl ToolSearch {
    /// For each of these names, which should be `server:tool` and are unknown, the closest ones that the caller may call: first the one
    /// that is spelt alike, then those that have its words. All known names are looked at for each, off the runtime's workers.
    pub async fn closest(
        &self,
        caller: &Caller,
        names: Vec<String>,
    ) -> Result<Vec<Vec<String>>, Failure> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let (search, caller) = (self.clone(), caller.clone());
        self.long(move |stop| {
            let now = search.0.gate.now();
            let known = known_names(&now);
            let closest = |name: &String| search.closest_to(name, &now, &caller, &known, stop);
            names.iter().map(closest).collect()
        })
        .await
    }

    fn closest_to(
        &self,
        name: &str,
        now: &Moment,
        caller: &Caller,
        known: &[String],
        stop: &Stop,
    ) -> Vec<String> {
        if stop.is_asked() {
            return Vec::new();
        }
        let is_visible = |name: &str| {
            name.split_once(':').is_some_and(|(server, tool)| {
                now.rules().allows(caller, server, &Target::tool(tool))
            })
        };
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
        };
        let found = self.search_here(caller, &search, stop).unwrap_or_default();
        for tool in found.tools {
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
