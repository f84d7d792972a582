//! `mcpproxy upstream lock`: writes the approved tools to a lock file. A file that would lose entries is replaced only with --force.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    super::{CommandFailure, Done, Output, connection, output, output::count},
    name_some,
};
use crate::{
    gate::Standing,
    management::{Files, ServerList, ServerRow},
    storage::{self, DiskFault, in_words},
    text::names::as_argument,
    trust::approvals::{Lock, LockChanges, LockError},
};

/// Write approved tools to a lock file
///
/// `mcpproxy serve --locked FILE`, or `lock_file` in the configuration, accepts only the tools in such a file. Without FILE, the command
/// prints the text. If the daemon already uses a lock file, the command writes the entries in that file, without those of quarantined
/// servers.
#[derive(Debug, Args)]
pub(in crate::cli) struct WriteLock {
    /// The file, such as mcp.lock.json
    file: Option<PathBuf>,
    /// Replace the file, whatever it contains
    #[arg(long, requires = "file")]
    force: bool,
}

impl WriteLock {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let mut daemon = connection::open_or_files(files, out).await?;
        let servers: ServerList = daemon.fetch("/api/v1/servers").await?;
        let text = daemon.get("/api/v1/lock").await?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let summary = contents(&text, &servers.servers);
        let Some(file) = self.file else {
            return output::print_line(text.trim_end());
        };
        let changes = match replaced(&file, &text) {
            Ok(changes) => changes,
            Err(_) if self.force => LockChanges::default(),
            Err(refusal) => return Err(refusal),
        };
        if !changes.lost.is_empty() && !self.force {
            return Err(would_lose(&file, &changes.lost));
        }
        std::fs::write(&file, &text).map_err(DiskFault::of("write", &file))?;
        if out.is_json() {
            let (tools, servers) = counted(&text);
            return output::print_value(&json!({
                "file": file,
                "tools": tools,
                "servers": servers.len(),
                "lost": changes.lost,
                "changed": changes.changed,
            }));
        }
        out.done(&format!("wrote {}: {summary}", file.display()));
        for (what, tools) in [
            ("no longer in the file", &changes.lost),
            ("with a different fingerprint than before", &changes.changed),
        ] {
            if !tools.is_empty() {
                out.note(&format!("{what}: {}", name_some(tools)));
            }
        }
        // The key is relative to the folder of the configuration.
        let file = std::path::absolute(&file).unwrap_or(file);
        let file = as_argument(&file.display().to_string());
        out.next(&format!(
            "`mcpproxy serve --locked {file}`, or `mcpproxy config set lock_file {file}`"
        ));
        Ok(())
    }
}

/// The number of tools in a lock file, and their servers.
fn counted(text: &str) -> (usize, BTreeSet<String>) {
    let locked: Value = serde_json::from_str(text).unwrap_or_default();
    let tools = locked["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let servers = tools.iter().filter_map(|tool| tool["server"].as_str());
    (tools.len(), servers.map(str::to_owned).collect())
}

/// The changes to the existing file. Fails if it is not a lock file.
fn replaced(file: &Path, text: &str) -> Done<LockChanges> {
    let shown = file.display();
    let there = match storage::read_text(file, u64::MAX) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let why = in_words(&error);
            let what = format!("nothing was written: {shown} cannot be read: {why}");
            return Err(CommandFailure::failed(what).next("name another file"));
        }
    };
    if there.trim().is_empty() {
        return Ok(LockChanges::default());
    }
    let parse = |text: &str, whose: &str| {
        Lock::parse(text).map_err(|error| {
            let why = match error {
                // It would be a mistake in a file that is not meant as a lock file.
                LockError::Unreadable(_) => String::new(),
                error => format!(": {error}"),
            };
            let what = format!("nothing was written: {whose} is not a lock file{why}");
            let step = format!("name another file, or replace {shown} with --force");
            CommandFailure::refused(what).next(step)
        })
    };
    let there = parse(&there, &shown.to_string())?;
    Ok(there.changes_to(&parse(text, "the daemon's answer")?))
}

fn would_lose(file: &Path, lost: &[String]) -> CommandFailure {
    let what = format!(
        "nothing was written: {} has {} no longer approved: {}",
        file.display(),
        match lost.len() {
            1 => "1 entry".to_owned(),
            n => format!("{n} entries"),
        },
        name_some(lost)
    );
    CommandFailure::refused(what)
        .next("write to another file and compare, or replace it with --force")
}

/// The summary of a lock file: how many tools it has, which servers it leaves out and why, and whose tools are in it as approved before.
fn contents(text: &str, servers: &[ServerRow]) -> String {
    let (tools, of) = counted(text);
    let (tools, servers_in_it) = (count(tools, "tool"), count(of.len(), "server"));
    let mut summary = format!("{tools} of {servers_in_it}");
    let mut held_of: Vec<String> = Vec::new();
    let left_out: Vec<String> = servers
        .iter()
        .filter_map(|row| {
            let why = match (row.standing(), row.held) {
                (Standing::Quarantined, _) => "quarantined".to_owned(),
                (_, Some(held)) if of.contains(&*row.name) => {
                    held_of.push(format!("{} ({held})", row.name));
                    return None;
                }
                (_, Some(held)) => format!("{held} held"),
                (Standing::Disabled, _) if !of.contains(&*row.name) => "disabled".to_owned(),
                _ if !of.contains(&*row.name) => "no approved tools".to_owned(),
                _ => return None,
            };
            Some(format!("{} ({why})", row.name))
        })
        .collect();
    if !left_out.is_empty() {
        summary.extend(["; left out: ", &name_some(&left_out)]);
    }
    if !held_of.is_empty() {
        let held = name_some(&held_of);
        summary.extend(["; held: ", &held, ", in the file as last approved"]);
    }
    summary
}
