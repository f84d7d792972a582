//! Which tools the filters of a query let through. Pure.

use std::collections::HashMap;

use super::Indexed;
use crate::catalog::Query;

/// The filters of a query, by what they let through.
pub(super) struct Filters<'a> {
    /// The beginnings of names that each server's tools must have one of.
    of_servers: Option<HashMap<&'a str, Vec<&'a str>>>,
}

impl<'a> Filters<'a> {
    pub(super) fn of(query: &'a Query) -> Self {
        let mut of_servers: HashMap<&str, Vec<&str>> = HashMap::new();
        for filter in &query.filters {
            for server in &filter.servers {
                of_servers.entry(server).or_default().push(&filter.prefix);
            }
        }
        Self {
            of_servers: (!query.filters.is_empty()).then_some(of_servers),
        }
    }

    pub(super) fn pass(&self, tool: &Indexed) -> bool {
        let Some(of_servers) = &self.of_servers else {
            return true;
        };
        let Some(prefixes) = of_servers.get(tool.server.server.as_str()) else {
            return false;
        };
        let name = tool.tool().name.to_lowercase();
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}
