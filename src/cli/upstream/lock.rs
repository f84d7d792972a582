//! `mcpproxy upstream lock`: what was approved, as a file that a team reviews and keeps.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;
use serde_json::Value;

use super::super::{
    Location, connection,
    failure::CommandFailure,
    output::{self, Output},
};
use crate::{
    daemon_client,
    gate::Standing,
    management::{ServerList, ServerRow},
};

/// Write what was approved of every trusted server to a lock file, by server and tool
///
/// `mcpproxy serve --locked FILE` accepts exactly what such a file has. Without FILE the text goes to stdout.
#[derive(Debug, Args)]
pub(in crate::cli) struct WriteLock {
    /// The file, mcp.lock.json for example
    file: Option<PathBuf>,
}

impl WriteLock {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let (text, servers) = match connection::open_if_running(&files, out).await? {
            Some(mut daemon) => {
                let path = "/api/v1/servers";
                let servers: ServerList = daemon_client::read(path, &daemon.get(path).await?)?;
                let body = daemon.get("/api/v1/lock").await?;
                (String::from_utf8_lossy(&body).into_owned(), servers)
            }
            None => (files.lock_text()?, files.servers()?),
        };
        let said = contents(&text, &servers.servers);
        let Some(file) = self.file else {
            return output::exactly(text.trim_end());
        };
        std::fs::write(&file, text).map_err(|error| {
            CommandFailure::failed(format!("failed to write {}: {error}", file.display()))
        })?;
        let file = file.display();
        out.note(&format!("wrote {file}: {said}"));
        out.note(&format!(
            "next step: review it, keep it with the code, and start with `mcpproxy serve --locked {file}`"
        ));
        Ok(())
    }
}

/// How much the file accepts, and what of the servers is left out.
fn contents(text: &str, servers: &[ServerRow]) -> String {
    let locked: Value = serde_json::from_str(text).unwrap_or_default();
    let tools = locked["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let of: BTreeSet<&str> = tools
        .iter()
        .filter_map(|tool| tool["server"].as_str())
        .collect();
    let count = |count: usize, of: &str| match count {
        1 => format!("1 {of}"),
        count => format!("{count} {of}s"),
    };
    let mut said = format!(
        "{} of {}",
        count(tools.len(), "tool"),
        count(of.len(), "server")
    );
    let left_out: Vec<String> = servers
        .iter()
        .filter_map(|row| {
            let why = match (row.standing(), row.held) {
                (Standing::Quarantined, _) => "quarantined".to_owned(),
                (_, Some(held)) => format!("{held} held"),
                _ if !of.contains(&*row.name) => "nothing of it is approved".to_owned(),
                _ => return None,
            };
            Some(format!("{} ({why})", row.name))
        })
        .collect();
    if !left_out.is_empty() {
        let added = format!("; left out: {}", left_out.join(", "));
        said.push_str(&added);
    }
    said
}
