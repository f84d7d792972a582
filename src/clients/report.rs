//! The servers in files of clients, what is to become of each, and what came of those that were taken over.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Client, ClientServer, NeededKind, NeededValue, Placeholder, convert::lost_values,
    literal_secrets::LiteralSecret,
};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    text::names,
};

/// The servers that were found, and which of them were or would be imported.
#[derive(Default, Serialize, JsonSchema)]
pub struct ImportReport {
    /// The home folder below which clients' files were searched for.
    pub home: String,
    /// The servers, in the order of the files.
    pub servers: Vec<FoundServer>,
    /// The files that were read.
    pub files: Vec<String>,
    /// The files that could not be read.
    pub faults: Vec<UnreadFile>,
    /// The keys that appear twice in a server of a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<RepeatedKey>,
    /// The number of imported servers.
    pub imported: usize,
    /// The number of the import in the history, for an undo; absent if nothing was imported, or if each server has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The servers that were removed from clients' files, or would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedServers>,
    /// The named files that have no servers.
    #[serde(skip)]
    pub empty: Vec<String>,
}

/// The servers that were moved out of, or back into, a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MovedServers {
    /// The client with the file.
    pub client: Client,
    /// The path of the file.
    pub file: String,
    /// The names of the servers in that file.
    pub servers: Vec<String>,
    /// The backup of the old file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Why the file was not changed, or not all servers were put back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<NextStep>,
}

/// A key that appears twice in a file, of which most clients and mcpproxy use the last.
#[derive(Serialize, JsonSchema)]
pub struct RepeatedKey {
    /// The path of the file.
    pub file: String,
    /// The path of the key, such as `mcpServers.github`.
    pub key: String,
    /// The next step.
    pub next_step: String,
}

/// A file that could not be read.
#[derive(Serialize, JsonSchema)]
pub struct UnreadFile {
    /// The path of the file.
    pub file: String,
    /// Why it could not be read.
    pub error: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The next step.
    pub next_step: String,
    /// Whether the request named it.
    #[serde(skip)]
    pub is_named: bool,
}

/// A server in a client's file.
#[expect(clippy::struct_excessive_bools, reason = "each says something else")]
#[derive(Default, Serialize, JsonSchema)]
pub struct FoundServer {
    /// The name in that file.
    pub written_name: String,
    /// The client with the file.
    pub client: Client,
    /// The path of the file.
    pub file: String,
    /// The project with the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The command or URL, with secrets masked.
    pub starts: String,
    /// What an import does with it.
    pub outcome: FoundOutcome,
    /// The name in your configuration, or that of the same server there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is renamed because another server already has its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubled: bool,
    /// Why it is renamed or cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The variables or headers with other values in your configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// Whether it is disabled in the client's file, and stays so.
    pub disabled: bool,
    /// Whether it is quarantined in the client's file, and stays so.
    #[serde(rename = "quarantined")]
    pub is_held: bool,
    /// The secrets and variables that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NeededValue>,
    /// The variables of the daemon whose values it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// The values that it needs before it can be imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<Placeholder>,
    /// The program that it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The keys with secrets in plain text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub literal_secrets: Vec<LiteralSecret>,
    /// The commands that move these secrets into the keyring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_steps: Vec<String>,
    /// The keys that mcpproxy does not import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Whether it is selected.
    pub chosen: bool,
    /// Whether it was imported.
    pub imported: bool,
    /// Why it was not imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What will stop it from starting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Why a move leaves it in the client's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    /// Whether its file is a project's, which others may share.
    #[serde(skip)]
    pub is_in_project_file: bool,
    /// How it was found there.
    #[serde(skip)]
    pub(super) found: ClientServer,
    /// Its entry here, which may hold secrets.
    #[serde(skip)]
    pub(super) entry: Map<String, Value>,
}

/// What an import does with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundOutcome {
    /// Imports it.
    New,
    /// Imports it under another name.
    Renamed,
    /// Nothing: your configuration has it already.
    Same,
    /// Nothing: it is mcpproxy itself.
    #[default]
    Ourselves,
    /// Nothing: it cannot be used.
    Unusable,
}

impl FoundServer {
    /// Its name here, if it can be taken over.
    pub fn new_name(&self) -> Option<&str> {
        let is_new = matches!(self.outcome, FoundOutcome::New | FoundOutcome::Renamed);
        self.name.as_deref().filter(|_| is_new)
    }

    /// What happens with it, in words.
    pub fn summary(&self) -> String {
        let (name, reason) = (self.name.as_deref(), self.reason.as_deref());
        let (name, reason) = (name.unwrap_or_default(), reason.unwrap_or_default());
        let mut off = String::new();
        if self.disabled {
            off.push_str(", disabled");
        }
        if self.is_held {
            off.push_str(", quarantined");
        }
        if self.project.is_some() && self.client.can_connect() {
            off.push_str("; imported, it is for all projects and clients");
        }
        let after =
            |what: Option<String>| what.map_or_else(String::new, |what| format!("; {what}"));
        let (gets, trouble) = (after(self.gets()), after(self.trouble()));
        match self.outcome {
            FoundOutcome::New => format!("new{off}{gets}{trouble}"),
            FoundOutcome::Renamed => format!("new, as {name}: {reason}{off}{gets}{trouble}"),
            FoundOutcome::Same if self.differing.is_empty() => {
                format!("same as the server {name:?}{trouble}")
            }
            FoundOutcome::Same => {
                let differing = self.differing.join(", ");
                format!("already here as {name}, with different values: {differing}")
            }
            FoundOutcome::Ourselves => "is mcpproxy itself".to_owned(),
            FoundOutcome::Unusable => format!("cannot be used: {reason}"),
        }
    }

    /// Why it was not imported.
    pub fn why_not(&self) -> String {
        let is_unusable = self.outcome == FoundOutcome::Unusable;
        let fault = self.reason.as_ref().filter(|_| is_unusable);
        let why = self.error.as_ref().or(fault).cloned();
        why.unwrap_or_else(|| format!("it {}", self.predicate()))
    }

    /// The summary with a verb.
    fn predicate(&self) -> String {
        let verb = match self.outcome {
            FoundOutcome::Ourselves | FoundOutcome::Unusable => "",
            FoundOutcome::Same if self.differing.is_empty() => "is the ",
            _ => "is ",
        };
        format!("{verb}{}", self.summary())
    }

    /// Which variables it gets, beside those that its trouble names.
    pub fn gets(&self) -> Option<String> {
        let is_lacking = |name: &String| {
            let mut needs = self.needs.iter();
            let is_it =
                |need: &NeededValue| need.kind == NeededKind::Variable && need.name == *name;
            self.warning.is_none() && needs.any(|need| !need.is_set && is_it(need))
        };
        let names = self.variables.iter().filter(|name| !is_lacking(name));
        let names: Vec<&str> = names.map(String::as_str).collect();
        let s = if names.len() == 1 { "" } else { "s" };
        (!names.is_empty()).then(|| format!("gets the variable{s} {}", names.join(", ")))
    }

    /// What keeps it from starting here.
    fn trouble(&self) -> Option<String> {
        let lacks = || {
            let lacking = self.needs.iter().filter(|need| !need.is_set);
            let names: Vec<&str> = lacking.map(|need| &*need.name).collect();
            (!names.is_empty()).then(|| format!("needs {}", names.join(", ")))
        };
        let blank = || {
            let blank = self.placeholders.first()?;
            Some(format!("`{}` needs a value from you", blank.place))
        };
        self.warning.clone().or_else(lacks).or_else(blank)
    }

    /// Why its client would lose it if only the copy here were left; nothing where that one works as well.
    pub fn why_it_stays(&self) -> Option<String> {
        let differing = self.differing.join(", ");
        let differing =
            (!differing.is_empty()).then(|| format!("mcpproxy's entry differs in {differing}"));
        let lost = || {
            let key = lost_values(&self.left_behind).next()?;
            Some(format!("`{key}` is not imported"))
        };
        // Where nothing listens now, the client does not reach it either.
        let is_away = self.warning.is_some() && !self.entry.contains_key("command");
        differing
            .or_else(lost)
            .or_else(|| self.trouble().filter(|_| !is_away))
    }

    /// Notes the commands that move its secrets into the keyring.
    pub(super) fn note_secret_steps(&mut self) {
        let name = self.name.as_deref().unwrap_or_default();
        let secrets = self.literal_secrets.iter();
        self.secret_steps = secrets.map(|secret| secret.step(name)).collect();
    }

    /// Whether it stays in its file unless that is named: the file is a project's, and this run did not import it.
    pub fn is_foreign(&self) -> bool {
        self.is_in_project_file && !self.imported
    }

    fn is_written_as(&self, name: &str) -> bool {
        self.written_name.eq_ignore_ascii_case(name)
    }

    /// Whether it has this name, there or here.
    pub fn is_called(&self, name: &str) -> bool {
        let here = self.name.as_deref();
        self.is_written_as(name) || here.is_some_and(|here| here.eq_ignore_ascii_case(name))
    }

    /// Whether it is here already, with the same values.
    pub fn is_here_as_it_is(&self) -> bool {
        self.outcome == FoundOutcome::Same && self.differing.is_empty()
    }
}

/// The key of an entry that keeps clients from using its server.
pub(super) fn key_for_off(entry: &Map<String, Value>) -> Option<&'static str> {
    let mut keys = ["enabled", "disabled", "quarantined"].into_iter();
    keys.find(|key| entry.get(*key) == Some(&Value::Bool(*key != "enabled")))
}

impl ImportReport {
    /// Nothing yet; files are looked for below this folder.
    pub(super) fn of(home: &Path) -> Self {
        Self {
            home: home.display().to_string(),
            ..Self::default()
        }
    }

    /// The places of those that can be taken; of those with these names, there or here, if any are given.
    pub fn picked(&self, names: &[String]) -> Result<Vec<usize>> {
        let new = self.servers.iter().enumerate();
        let new = new.filter(|(_, server)| server.new_name().is_some());
        if names.is_empty() {
            return Ok(new.map(|(at, _)| at).collect());
        }
        let mut picked = Vec::new();
        for name in names {
            let meant = new.clone().filter(|(_, server)| server.is_called(name));
            let before = picked.len();
            picked.extend(meant.map(|(at, _)| at));
            if picked.len() == before {
                return Err(self.not_picked(name));
            }
        }
        picked.sort_unstable();
        picked.dedup();
        Ok(picked)
    }

    /// Whether there are servers of this name, and all are here already just as they were found.
    pub fn is_here(&self, name: &str) -> bool {
        let servers = self.servers.iter();
        let mut meant = servers.filter(|server| server.is_written_as(name));
        let mut others = meant.clone().filter(|server| !server.is_here_as_it_is());
        meant.next().is_some() && others.next().is_none()
    }

    fn not_picked(&self, name: &str) -> Failure {
        let mut servers = self.servers.iter();
        let Some(server) = servers.find(|server| server.is_written_as(name)) else {
            let written = self.servers.iter().map(|server| &*server.written_name);
            let meant = names::closest(name, written);
            let meant = meant.map(|meant| format!("; {}", names::did_you_mean(&[meant])));
            let meant = meant.unwrap_or_default();
            let error = format!("nothing was imported: no server named {name:?} was found{meant}");
            return Failure::new(
                ErrorCode::UnknownServer,
                error,
                "GET /api/v1/import shows the servers.",
            )
            .at_terminal("to see the servers, give --dry-run instead of --server");
        };
        let (code, correct) = match server.outcome {
            FoundOutcome::Same => (ErrorCode::ServerExists, ""),
            FoundOutcome::Ourselves => (ErrorCode::ServerMisconfigured, ""),
            _ => (ErrorCode::ServerMisconfigured, "correct its entry, or "),
        };
        let place = match &*server.file {
            "" | "-" => String::new(),
            file => format!(" in {file}"),
        };
        let why = server.predicate();
        let error = format!("nothing was imported: {name:?}{place} {why}");
        let option = names::shell_word(name);
        Failure::new(code, error, format!("{correct}leave it out of `servers`"))
            .at_terminal(format!("{correct}leave out --server {option}"))
    }

    /// Notes which are to be taken, or would be.
    pub fn choose(&mut self, chosen: &[usize]) {
        for (at, server) in self.servers.iter_mut().enumerate() {
            server.chosen = chosen.contains(&at);
        }
    }

    /// The place, the name and the entry of each that was chosen, held until it is approved if that is wanted. Entries may hold secrets.
    pub fn entries(&self, is_held: bool) -> Vec<(usize, String, Map<String, Value>)> {
        let chosen = self.servers.iter().enumerate();
        let chosen = chosen.filter(|(_, server)| server.chosen);
        let entries = chosen.filter_map(|(at, server)| {
            let mut entry = server.entry.clone();
            if is_held {
                entry.insert("quarantined".to_owned(), json!(true));
            }
            if server.disabled && key_for_off(&entry).is_none_or(|key| key == "quarantined") {
                entry.insert("enabled".to_owned(), json!(false));
            }
            Some((at, server.new_name()?.to_owned(), entry))
        });
        entries.collect()
    }

    /// Leaves those that would stay in their client's file to their client alone.
    pub fn leave_what_stays(&mut self) {
        let servers = self.servers.iter_mut();
        for server in servers.filter(|server| server.chosen || server.error.is_some()) {
            server.stays = server.error.take().or_else(|| server.why_it_stays());
            server.chosen &= server.stays.is_none();
        }
    }

    /// Does the same with those whose file a move cannot change, as its dry run found. If nothing would move: why, and the next step.
    pub fn leave_unmovable(&mut self) -> Option<(String, Option<NextStep>)> {
        let unmoved = |file: &str| {
            let mut moved = self.moved.iter();
            moved.find(|moved| moved.file == file)?.error.clone()
        };
        for server in self.servers.iter_mut().filter(|server| server.chosen) {
            server.stays = unmoved(&server.file);
            server.chosen = server.stays.is_none();
        }
        if self.moved.iter().any(|moved| moved.error.is_none()) {
            return None;
        }
        let refused = |moved: &MovedServers| Some((moved.error.clone()?, moved.step.clone()));
        let stays = |server: &FoundServer| {
            let why = server.stays.as_ref()?;
            Some((format!("{}: {why}", server.written_name), None))
        };
        let refused = self.moved.iter().find_map(refused);
        refused.or_else(|| self.servers.iter().find_map(stays))
    }

    /// Notes what came of adding one.
    pub fn note(&mut self, at: usize, error: Option<String>) {
        if let Some(server) = self.servers.get_mut(at) {
            server.imported = error.is_none();
            server.error = error;
            self.imported += usize::from(server.imported);
        }
    }

    /// The places of the servers that are here once those have come for which `comes` holds. The one that a server is the same as may
    /// itself have been found only.
    pub(super) fn here(&self, comes: impl Fn(&FoundServer) -> bool) -> Vec<usize> {
        let others = self.servers.iter().filter(|server| !comes(server));
        let found_only: Vec<&str> = others.filter_map(FoundServer::new_name).collect();
        let is_here = |server: &FoundServer| {
            let same = (server.name.as_deref()).filter(|_| server.outcome == FoundOutcome::Same);
            comes(server) || same.is_some_and(|name| !found_only.contains(&name))
        };
        let servers = self.servers.iter().enumerate();
        let here = servers.filter(|(_, server)| is_here(server));
        here.map(|(at, _)| at).collect()
    }

    /// Those that are here now, whether they came or were here, and run in their client, too.
    pub fn doubled(&self) -> impl Iterator<Item = &FoundServer> {
        let here = self.here(|server| server.imported).into_iter();
        let here = here.filter_map(move |at| self.servers.get(at));
        here.filter(|server| {
            let is_off = || key_for_off(&server.entry).is_some();
            server.imported || !is_off() && server.why_it_stays().is_none()
        })
    }

    /// Those that were taken over.
    pub fn taken(&self) -> impl Iterator<Item = &FoundServer> {
        self.servers.iter().filter(|server| server.imported)
    }
}
