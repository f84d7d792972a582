//! What was found, what is to become of it and what came of it, for programs.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::gathering::{Gathered, RepeatedKey, UnreadFile};
use crate::client_files::{Carried, Client, ImportOutcome, NeededKind, NeededValue, PlannedServer};

/// The servers in files of clients.
#[derive(Serialize, JsonSchema)]
pub struct ImportReport {
    /// The home folder below which files were looked for.
    pub home: String,
    /// Every server that was found, in the order of the files.
    pub servers: Vec<FoundServer>,
    /// The files that were read.
    pub files: Vec<String>,
    /// The files that could not be read.
    pub faults: Vec<FaultRow>,
    /// The keys that stand twice among the servers of a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<RepeatedRow>,
    /// How many were taken over.
    pub imported: usize,
}

/// A key that stands twice in a file. The last one counts, as it does for most clients.
#[derive(Serialize, JsonSchema)]
pub struct RepeatedRow {
    /// Which file.
    pub file: String,
    /// The path of the key there: `mcpServers.github`.
    pub key: String,
    /// What to do about it.
    pub next_step: String,
}

/// A file that could not be read.
#[derive(Serialize, JsonSchema)]
pub struct FaultRow {
    /// Which.
    pub file: String,
    /// Why.
    pub error: String,
    /// Where, counted from 1.
    pub line: Option<usize>,
    /// What to do about it.
    pub next_step: String,
}

/// A server that was found.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a member of the document that says something of its own"
)]
#[derive(Serialize, JsonSchema)]
pub struct FoundServer {
    /// Its name there.
    pub written_name: String,
    /// Whose file it stands in.
    pub client: Client,
    /// Which file.
    pub file: String,
    /// The project that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What it starts or reaches, everything secret masked.
    pub starts: String,
    /// What is to become of it.
    pub outcome: FoundOutcome,
    /// Its name here, or the name of the one that is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it is called otherwise, or cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The variables or headers that have other values here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// Whether it comes switched off, as it is there.
    pub disabled: bool,
    /// Whether it comes quarantined, as it is there.
    #[serde(rename = "quarantined")]
    pub is_held: bool,
    /// What it refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NeedRow>,
    /// The keys whose secrets stand in the file as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub literal_secrets: Vec<String>,
    /// For each of these the commands that put it into the keyring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_steps: Vec<String>,
    /// Keys of its entry that say nothing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Whether it is among those that are, or would be, taken.
    pub chosen: bool,
    /// Whether it was taken over.
    pub imported: bool,
    /// Why it was not, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is to become of a server that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundOutcome {
    /// It can be taken over under its own name.
    New,
    /// It can be taken over under another name.
    Renamed,
    /// It is here already.
    Same,
    /// It leads to us.
    Ourselves,
    /// There can be no entry for it here.
    Unusable,
}

/// Something that an entry refers to.
#[derive(Serialize, JsonSchema)]
pub struct NeedRow {
    /// What.
    #[serde(flatten)]
    pub need: NeededValue,
    /// Whether a variable of that name is set here.
    pub is_set: bool,
    /// What to do about it.
    pub next_step: String,
}

/// What came of taking one over.
pub struct AddedServer {
    /// Its place in the plan.
    pub at: usize,
    /// Its name here.
    pub name: String,
    /// Why it was not added.
    pub error: Option<String>,
}

/// One that is to be added. Its entry may hold secrets.
pub struct NewEntry {
    /// Its place in the plan.
    pub at: usize,
    /// Its name here.
    pub name: String,
    /// Its entry here.
    pub entry: Map<String, Value>,
}

/// The entries of those that were chosen, held until they are approved if that is wanted.
pub fn chosen_entries(gathered: &Gathered, chosen: &[usize], is_held: bool) -> Vec<NewEntry> {
    let entry = |&at: &usize| match &gathered.plan.get(at)?.outcome {
        ImportOutcome::New { name, carried, .. } => {
            let mut entry = carried.entry.clone();
            if is_held {
                entry.insert("quarantined".to_owned(), json!(true));
            }
            let name = name.to_string();
            Some(NewEntry { at, name, entry })
        }
        _ => None,
    };
    chosen.iter().filter_map(entry).collect()
}

/// What happens with a server, in words.
pub fn outcome_of(server: &PlannedServer) -> String {
    match &server.outcome {
        ImportOutcome::New {
            name,
            renamed,
            carried,
        } => {
            let mut off = String::new();
            if is_disabled(carried) {
                off.push_str(", switched off as it is there");
            }
            if is_held(carried) {
                off.push_str(", quarantined as it is there");
            }
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

fn is_disabled(carried: &Carried) -> bool {
    carried.entry.get("enabled") == Some(&Value::Bool(false))
}

fn is_held(carried: &Carried) -> bool {
    carried.entry.get("quarantined") == Some(&Value::Bool(true))
}

/// Makes the report.
pub fn import_report(gathered: &Gathered, chosen: &[usize], added: &[AddedServer]) -> ImportReport {
    let servers = gathered.plan.iter().enumerate();
    let servers = servers.map(|(at, server)| {
        let outcome = added.iter().find(|added| added.at == at);
        FoundServer {
            chosen: chosen.contains(&at),
            imported: outcome.is_some_and(|added| added.error.is_none()),
            error: outcome.and_then(|added| added.error.clone()),
            ..found(server)
        }
    });
    ImportReport {
        home: gathered.home.display().to_string(),
        servers: servers.collect(),
        files: gathered
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
        faults: gathered.faults.iter().map(fault_row).collect(),
        repeated: gathered.repeated.iter().map(repeated_row).collect(),
        imported: added.iter().filter(|added| added.error.is_none()).count(),
    }
}

fn repeated_row(repeated: &RepeatedKey) -> RepeatedRow {
    RepeatedRow {
        file: repeated.file.display().to_string(),
        key: repeated.key.clone(),
        next_step: repeated.step(),
    }
}

fn fault_row(fault: &UnreadFile) -> FaultRow {
    FaultRow {
        file: fault.file.display().to_string(),
        error: fault.problem.to_string(),
        line: fault.problem.line,
        next_step: fault.step(),
    }
}

fn found(server: &PlannedServer) -> FoundServer {
    let project = server.project.as_ref();
    let mut row = FoundServer {
        written_name: server.written_name.clone(),
        client: server.client,
        file: server.file.display().to_string(),
        project: project.map(|folder| folder.display().to_string()),
        starts: server.starts.clone(),
        outcome: FoundOutcome::Ourselves,
        name: None,
        reason: None,
        differing: Vec::new(),
        disabled: false,
        is_held: false,
        needs: Vec::new(),
        literal_secrets: Vec::new(),
        secret_steps: Vec::new(),
        left_behind: Vec::new(),
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
            let is_renamed = renamed.is_some();
            row.outcome = if is_renamed {
                FoundOutcome::Renamed
            } else {
                FoundOutcome::New
            };
            row.name = Some(name.to_string());
            row.reason.clone_from(renamed);
            row.disabled = is_disabled(carried);
            row.is_held = is_held(carried);
            row.needs = carried.needs.iter().map(need_row).collect();
            let literals = carried.literals.iter();
            row.secret_steps = literals
                .clone()
                .map(|secret| secret.step(name.as_str()))
                .collect();
            row.literal_secrets = literals.map(|secret| secret.place.clone()).collect();
            row.left_behind.clone_from(&carried.left_behind);
        }
        ImportOutcome::Same { name, differing } => {
            row.outcome = FoundOutcome::Same;
            row.name = Some(name.clone());
            row.differing.clone_from(differing);
        }
        ImportOutcome::Ourselves => (),
        ImportOutcome::Unusable { why } => {
            row.outcome = FoundOutcome::Unusable;
            row.reason = Some(why.clone());
        }
    }
    row
}

fn need_row(need: &NeededValue) -> NeedRow {
    NeedRow {
        need: need.clone(),
        is_set: is_set(need),
        next_step: need.step(),
    }
}

/// Whether a variable is set here. Of a secret that is stored nobody can tell here whether it is the right one.
pub fn is_set(need: &NeededValue) -> bool {
    need.kind == NeededKind::Variable && std::env::var_os(&need.name).is_some()
}
