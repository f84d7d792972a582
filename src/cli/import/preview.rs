//! What was found, as a table for people and as a report for programs.

use serde::Serialize;

use super::{
    super::{
        failure::CommandFailure,
        output,
        table::{name, text},
    },
    apply::Added,
    gathered::Gathered,
};
use crate::client_files::{Client, ImportOutcome, NeededKind, NeededValue, PlannedServer};

/// Prints a row for each server; those that can be taken are numbered.
pub(in crate::cli) fn show_table(gathered: &Gathered) -> Result<(), CommandFailure> {
    if gathered.plan.is_empty() {
        return Ok(());
    }
    let mut n = 0;
    let rows: Vec<[String; 5]> = gathered
        .plan
        .iter()
        .map(|server| {
            let number = if server.new_name().is_some() {
                n += 1;
                n.to_string()
            } else {
                "-".to_owned()
            };
            [
                number,
                server.written_name.clone(),
                place(gathered, server),
                server.starts.clone(),
                outcome_of(server),
            ]
        })
        .collect();
    let columns = [
        name("#"),
        name("SERVER"),
        text("FROM", 2),
        text("STARTS", 2),
        text("WHAT HAPPENS", 4),
    ];
    output::table(columns, rows)
}

fn place(gathered: &Gathered, server: &PlannedServer) -> String {
    let file = gathered.shown(&server.file);
    let client = server.client.name();
    match &server.project {
        Some(project) if !server.file.starts_with(project) => {
            format!("{client}: {file}, for {}", gathered.shown(project))
        }
        _ => format!("{client}: {file}"),
    }
}

/// What happens with it, in words.
pub(super) fn outcome_of(server: &PlannedServer) -> String {
    match &server.outcome {
        ImportOutcome::New {
            name,
            renamed,
            carried,
        } => {
            let off = if carried.entry.get("enabled").is_some() {
                ", switched off as it is there"
            } else {
                ""
            };
            match renamed {
                Some(why) => format!("new, as {name}{off}: {why}"),
                None => format!("new{off}"),
            }
        }
        ImportOutcome::Same { name, differing } if differing.is_empty() => {
            format!("same as {name}")
        }
        ImportOutcome::Same { name, differing } => {
            format!(
                "same as {name}, which has another value for {}",
                differing.join(", ")
            )
        }
        ImportOutcome::Ourselves => "left out: it is mcpproxy itself".to_owned(),
        ImportOutcome::Unusable { why } => format!("cannot be used: {why}"),
    }
}

/// The whole for programs.
#[derive(Serialize)]
pub(in crate::cli) struct ImportReport<'a> {
    servers: Vec<Row<'a>>,
    files: Vec<String>,
    faults: Vec<FaultRow>,
    imported: usize,
}

#[derive(Serialize)]
struct FaultRow {
    file: String,
    error: String,
    line: Option<usize>,
    next_step: String,
}

#[derive(Serialize)]
struct Row<'a> {
    written_name: &'a str,
    client: Client,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    starts: &'a str,
    outcome: &'static str,
    /// Its name here, or the name of the one that is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// Why it is called otherwise, or cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differing: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs: Vec<NeedRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    literal_secrets: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_behind: &'a [String],
    /// Whether it is among those that are, or would be, taken.
    chosen: bool,
    imported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct NeedRow<'a> {
    #[serde(flatten)]
    need: &'a NeededValue,
    is_set: bool,
    next_step: String,
}

/// Makes the report.
pub(in crate::cli) fn report<'a>(
    gathered: &'a Gathered,
    chosen: &[usize],
    added: &'a [Added],
) -> ImportReport<'a> {
    let servers = gathered.plan.iter().enumerate();
    let servers = servers.map(|(at, server)| {
        let outcome = added.iter().find(|added| added.at == at);
        Row {
            chosen: chosen.contains(&at),
            imported: outcome.is_some_and(|added| added.error.is_none()),
            error: outcome.and_then(|added| added.error.as_deref()),
            ..row(server)
        }
    });
    ImportReport {
        servers: servers.collect(),
        files: gathered
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
        faults: gathered.faults.iter().map(fault_row).collect(),
        imported: added.iter().filter(|added| added.error.is_none()).count(),
    }
}

fn fault_row(fault: &super::gathered::Fault) -> FaultRow {
    FaultRow {
        file: fault.file.display().to_string(),
        error: fault.problem.to_string(),
        line: fault.problem.line,
        next_step: fault.step(),
    }
}

fn row(server: &PlannedServer) -> Row<'_> {
    let mut row = Row {
        written_name: &server.written_name,
        client: server.client,
        file: server.file.display().to_string(),
        project: server
            .project
            .as_ref()
            .map(|folder| folder.display().to_string()),
        starts: &server.starts,
        outcome: "ourselves",
        name: None,
        reason: None,
        differing: &[],
        needs: Vec::new(),
        literal_secrets: Vec::new(),
        left_behind: &[],
        chosen: false,
        imported: false,
        error: None,
    };
    match &server.outcome {
        ImportOutcome::New {
            name,
            renamed,
            carried,
        } => {
            row.outcome = if renamed.is_some() { "renamed" } else { "new" };
            row.name = Some(name.as_str());
            row.reason = renamed.as_deref();
            row.needs = carried.needs.iter().map(need_row).collect();
            row.literal_secrets = carried
                .literals
                .iter()
                .map(|secret| &*secret.place)
                .collect();
            row.left_behind = &carried.left_behind;
        }
        ImportOutcome::Same { name, differing } => {
            row.outcome = "same";
            row.name = Some(name);
            row.differing = differing;
        }
        ImportOutcome::Ourselves => (),
        ImportOutcome::Unusable { why } => {
            row.outcome = "unusable";
            row.reason = Some(why);
        }
    }
    row
}

fn need_row(need: &NeededValue) -> NeedRow<'_> {
    NeedRow {
        need,
        is_set: is_set(need),
        next_step: need.step(),
    }
}

/// Whether a variable is set here. Secrets are looked up when they are needed.
pub(super) fn is_set(need: &NeededValue) -> bool {
    need.kind == NeededKind::Variable && std::env::var_os(&need.name).is_some()
}
