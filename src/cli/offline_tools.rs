//! The tools as the servers listed them last, read from disk when no daemon runs.

use serde_json::value::RawValue;

use super::{
    failure::Failure,
    offline::Files,
    tools::{ShownTool, ToolList, ToolRow},
};
use crate::{
    catalog::{ServerCatalog, Tool, last_known},
    config::ServerEntry,
    names,
    wire::Raw,
};

impl Files {
    /// The tools of all servers, or of one.
    pub(super) fn tools(&self, server: Option<&str>) -> Result<ToolList, Failure> {
        if let Some(wanted) = server
            && !self.settings()?.servers.contains_key(wanted)
        {
            let unknown = Failure::failed(format!("no server {wanted:?} is configured"));
            return Err(unknown.next(self.suggestion(wanted)));
        }
        let mut tools = Vec::new();
        for (entry, known) in self.last_known()? {
            if server.is_none_or(|server| server == entry.name.as_str()) {
                tools.extend(known.tools.iter().map(|tool| row(entry, tool)));
            }
        }
        Ok(ToolList {
            total: tools.len() as u64,
            tools,
        })
    }

    /// One tool, named `server:tool` or as clients see it.
    pub(super) fn tool(&self, wanted: &str) -> Result<ShownTool, Failure> {
        let mut names = Vec::new();
        for (entry, known) in self.last_known()? {
            for tool in &known.tools {
                let row = row(entry, tool);
                if row.name == wanted || *tool.offered == *wanted {
                    return Ok(ShownTool {
                        name: row.name,
                        server: row.server,
                        offered_name: row.offered_name,
                        callable: row.callable,
                        reason: row.reason,
                        definition: raw_value(&tool.definition),
                    });
                }
                names.push(row.name);
            }
        }
        let unknown = Failure::failed(format!("no tool {wanted:?} is known"));
        Err(
            match names::closest(wanted, names.iter().map(String::as_str)) {
                Some(close) => unknown.next(format!("did you mean {close}?")),
                None => unknown
                    .next("start the daemon with `mcpproxy serve`, so that it asks the servers"),
            },
        )
    }

    /// Every sound entry whose server has been listed since the entry last changed.
    pub(super) fn last_known(
        &self,
    ) -> Result<impl Iterator<Item = (&ServerEntry, ServerCatalog)>, Failure> {
        let entries = self.settings()?.servers.values();
        Ok(entries.filter_map(|entry| {
            let listing = last_known::load(self.data_dir(), &entry.name, &entry.fingerprint)?;
            Some((
                &**entry,
                ServerCatalog::ingest(&entry.name, &entry.fingerprint, listing),
            ))
        }))
    }
}

fn row(entry: &ServerEntry, tool: &Tool) -> ToolRow {
    let reason = why_not_callable(entry, &tool.name);
    ToolRow {
        name: format!("{}:{}", entry.name, tool.name),
        server: Some(entry.name.to_string()),
        offered_name: Some(tool.offered.to_string()),
        description: Some(tool.description.to_string()),
        annotations: tool.definition.get("annotations").as_ref().map(raw_value),
        callable: reason.is_none(),
        reason: reason.map(str::to_owned),
    }
}

fn why_not_callable(entry: &ServerEntry, tool: &str) -> Option<&'static str> {
    if !entry.enabled {
        Some("the server is disabled")
    } else if entry.quarantined {
        Some("the server is quarantined")
    } else if !entry.tools.allows(tool) {
        Some("the tool is switched off by enabled_tools or disabled_tools")
    } else {
        None
    }
}

fn raw_value(raw: &Raw) -> Box<RawValue> {
    raw.read::<&RawValue>()
        .expect("a raw value is one JSON value")
        .to_owned()
}
