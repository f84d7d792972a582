//! `mcpproxy config get|set|history|undo`: values of the configuration file, and who changed them.

use clap::Args;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CommandFailure, Done, Output, connect, connection, import,
    mistake::whole_number,
    output,
    output::shell_word,
    table::{name, text},
};
use crate::{
    clients::{client_rows, home_places, our_address},
    config::{self, ChangeWay, ChangedValue, Needs},
    daemon_client::{self, AnswerDeadline},
    failure::ErrorCode,
    management::{
        ConfigChange, ConfigEdit, ConfigHistory, ConfigPatch, DaemonLocation, EditPath, Files,
        StatusReport, UndoRequest,
    },
    text::names,
};

/// Show the configuration file, or one value of it
///
/// Secrets are shown as `***`. For a KEY that is not in the file, the command shows the default value.
#[derive(Debug, Args)]
pub(super) struct ConfigGet {
    /// The key, such as `activity.max_age`
    #[arg(value_name = "KEY")]
    key: Option<String>,
}

/// Change a value, and show the difference
///
/// Comments and order are kept. The value is JSON or plain text; `null` removes the key.
#[derive(Debug, Args)]
pub(super) struct ConfigSet {
    /// The key, such as `activity.max_age`
    #[arg(value_name = "KEY")]
    key: String,
    /// The new value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// List changes to the configuration, tokens and approvals
#[derive(Debug, Args)]
pub(super) struct ConfigHistoryList {
    /// How many changes to show, latest first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number(1..=10_000_usize))]
    limit: usize,
}

/// Undo a change to the configuration, a token or an approval
///
/// Restores the file byte for byte if nothing has changed since, otherwise value by value. If the change issued a token, the undo revokes
/// the token. The history contains no secrets, so you can undo the removal of a secret only until the daemon restarts.
#[derive(Debug, Args)]
pub(super) struct ConfigUndo {
    /// The number in `config history`; by default the latest change
    #[arg(value_name = "NUMBER")]
    id: Option<u64>,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

const CONFIG: &str = "/api/v1/config";

impl ConfigGet {
    pub(super) fn run(self, files: &Files, out: Output) -> Done {
        let written = files.written_config()?.settings;
        let Some(key) = self.key else {
            return output::json(&output::as_json(&written)?);
        };
        let text = config::read_text(files.config_file()).unwrap_or_default();
        let path = config::keys_of_path(&key, &text);
        let found = path.iter().try_fold(&written, |value, key| value.get(key));
        let value = found.cloned().or_else(|| default_of(&path));
        match value {
            None => Err(match look_up(&path) {
                Ok(()) => {
                    CommandFailure::failed(format!("`{key}` is not set and has no default value"))
                        .next(format!("`mcpproxy config set {key} VALUE` sets it"))
                }
                Err(Some(meant)) => CommandFailure::failed(format!("there is no key `{key}`"))
                    .next(format!("did you mean `mcpproxy config get {meant}`?")),
                Err(None) => CommandFailure::failed(format!("there is no key `{key}`"))
                    .next("`mcpproxy config schema` lists every key"),
            }),
            Some(Value::String(text)) if !out.is_json() => output::exactly(&text),
            Some(value) => output::json(&output::as_json(&value)?),
        }
    }
}

/// What a key is where the file does not have it.
fn default_of(path: &[String]) -> Option<Value> {
    let schema: Value = serde_json::from_str(config::schema()).ok()?;
    let found = path
        .iter()
        .try_fold(&schema, |of, key| of.get("properties")?.get(key));
    let found = found?;
    let inner = || {
        let inner = found.get("properties")?.as_object()?;
        let defaults = inner.iter().filter_map(|(key, of)| {
            let default = of.get("default").filter(|value| !value.is_null())?;
            Some((key.clone(), default.clone()))
        });
        let defaults: serde_json::Map<String, Value> = defaults.collect();
        (!defaults.is_empty()).then_some(Value::Object(defaults))
    };
    let own = found.get("default").filter(|value| !value.is_null());
    own.cloned().or_else(inner)
}

/// Whether a path is one of the schema, or else the one that it may mean.
fn look_up(path: &[String]) -> Result<(), Option<String>> {
    let schema: Value = serde_json::from_str(config::schema()).unwrap_or_default();
    let mut of = &schema;
    for (at, key) in path.iter().enumerate() {
        // The members of other objects have names of their own.
        let Some(known) = of.get("properties").and_then(Value::as_object) else {
            break;
        };
        let Some(inner) = known.get(key) else {
            if path.iter().any(String::is_empty) {
                return Err(None);
            }
            let known = known.keys().map(String::as_str);
            let close = names::closest(key, known.filter(|key| !key.starts_with('$')));
            return Err(close.map(|close| {
                let (before, after) = (&path[..at], &path[at + 1..]);
                let whole = before.iter().map(String::as_str).chain([close]);
                let whole: Vec<&str> = whole.chain(after.iter().map(String::as_str)).collect();
                whole.join(".")
            }));
        };
        of = inner;
    }
    Ok(())
}

impl ConfigSet {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let key = self.key.clone();
        if key.is_empty() {
            let failure = CommandFailure::usage("the key is empty").undone("nothing was changed");
            return Err(failure.next("`mcpproxy config schema` lists every key"));
        }
        if self.value.starts_with(['{', '['])
            && let Err(error) = serde_json::from_str::<Value>(&self.value)
        {
            let why = config::json_mistake(&self.value, &error);
            let failure = CommandFailure::usage(format!("the value is not valid JSON: {why}"));
            let step = format!("`mcpproxy config set {key} VALUE`, in single quotes for the shell");
            return Err(failure.undone("nothing was changed").next(step));
        }
        let edit = ConfigEdit {
            path: EditPath::Dotted(self.key),
            value: None,
            typed: Some(self.value),
        };
        let request = ConfigPatch {
            changes: vec![edit],
            dry_run: self.dry_run,
            seen: None,
        };
        let made = change(files, out, Method::PATCH, CONFIG, (self.dry_run, &request)).await;
        let path = config::keys_of_path(&key, "");
        let is_wrong = |failure: &CommandFailure| {
            let is_server = path.first().is_none_or(|key| key == "mcpServers");
            failure.code == Some(ErrorCode::InvalidArguments) && !is_server
        };
        made.map_err(|failure| match look_up(&path) {
            Err(Some(meant)) => failure.next(format!("`mcpproxy config set {meant} VALUE`")),
            Err(None) => failure.next("`mcpproxy config schema` lists every key"),
            Ok(()) if is_wrong(&failure) => {
                let default = default_of(&path).filter(|value| !value.is_object());
                let text = default.map(|value| shown(Some(&value)));
                let step = match text {
                    Some(text) => format!("`mcpproxy config set {key} {}`", shell_word(&text)),
                    None => format!("`mcpproxy config set {key} VALUE`, with another value"),
                };
                failure.next(step)
            }
            Ok(()) => failure,
        })
    }
}

impl ConfigUndo {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let request = UndoRequest {
            id: self.id,
            dry_run: self.dry_run,
        };
        let path = "/api/v1/config/undo";
        change(files, out, Method::POST, path, (self.dry_run, &request)).await
    }
}

/// Asks the daemon for a change, or makes it over the files, and shows what came of it.
async fn change(
    files: &Files,
    out: Output,
    method: Method,
    path: &'static str,
    (dry_run, body): (bool, &impl Serialize),
) -> Done {
    let mut daemon = connection::open_or_files(files, out).await?;
    let sending = daemon.send(method, path, output::as_json(body)?, AnswerDeadline::Daemon);
    let body = sending.await?;
    let change: ConfigChange = daemon_client::read(path, &body)?;
    for warning in &change.warnings {
        out.warning(&warning.to_string());
    }
    let is_auth = |one: &&ChangedValue| one.path == ["serverAuth"] && one.after.is_none();
    if change.changes.iter().find(is_auth).is_some() {
        out.warning("without `serverAuth` every client can use every tool");
    }
    if change.changes.iter().any(requires_tokens) {
        warn_of_clients(files, import::location_of(&daemon).as_ref(), out);
    }
    let listens = change.changes.iter().find(|one| one.path == ["listen"]);
    if let Some(Value::String(address)) = listens.and_then(|one| one.after.as_ref())
        && let Ok(listen) = address.parse::<config::Listen>()
        && let Err(error) = listen.for_this_machine()
    {
        out.warning(&format!(
            "{}; the daemon listens there only with `serve --insecure`",
            error.what()
        ));
    }
    if change.id.is_some() && listens.is_some() {
        connect::warn_of_address(files, import::location_of(&daemon).as_ref(), None, out);
    }
    for one in daemon_client::read::<Undone>(path, &body)?.put_back {
        import::moving::say_put_back(
            (&one.file, &one.servers),
            one.error.as_deref(),
            dry_run,
            out,
        );
    }
    match (change.id, change.changes.is_empty()) {
        (None, true) => out.note("nothing to change"),
        (None, false) if dry_run => out.note("nothing was written"),
        (None, false) => {
            let folder = files.data_dir().display();
            out.warning(&format!(
                "changed, but `config undo` cannot undo it: {folder} cannot be written to"
            ));
        }
        (Some(id), _) => {
            out.done(&match change.undoes {
                Some(undone) => format!("undid change {undone}; saved as change {id}"),
                None => format!("saved as change {id}; `mcpproxy config undo {id}` undoes it"),
            });
            let is_fixed = change.needs == Needs::Restart && !daemon.is_over_files();
            // What is as it was at its start needs none.
            if is_fixed
                && let StatusReport { needs_restart, .. } = daemon.fetch("/api/v1/status").await?
                && !needs_restart.is_empty()
            {
                out.next("`mcpproxy restart`, so that it takes effect");
            }
        }
    }
    out.answer(path, &body, |change: ConfigChange| {
        if change.changes.is_empty() {
            return Ok(());
        }
        let columns = [name("KEY"), text("BEFORE", 1), text("AFTER", 1)];
        output::table(columns, change.changes.iter().map(cells))
    })
}

/// What undoing a change did beside the file.
#[derive(Deserialize)]
struct Undone {
    #[serde(default)]
    put_back: Vec<PutBack>,
}

/// Servers that were moved here, back in the file of their client.
#[derive(Deserialize)]
struct PutBack {
    file: String,
    servers: Vec<String>,
    error: Option<String>,
}

/// Whether clients have to show a token from then on.
fn requires_tokens(change: &ChangedValue) -> bool {
    let keys: Vec<&str> = change.path.iter().map(String::as_str).collect();
    match (&keys[..], &change.after) {
        (["serverAuth", "required"], Some(value)) => *value == true,
        (["serverAuth"], Some(value)) => value["required"] == true,
        _ => false,
    }
}

/// Names the clients of this machine that show no token.
fn warn_of_clients(files: &Files, location: Option<&DaemonLocation>, out: Output) {
    let Ok(places) = home_places(files) else {
        return;
    };
    let rows = client_rows(&places, &our_address(files, location), true);
    for row in rows {
        if row.connected && row.shows_token == Some(false) {
            out.warning(&format!(
                "{} sends no token and is now refused: `mcpproxy connect {} --token`",
                row.title,
                row.client.id()
            ));
        }
    }
}

fn cells(change: &ChangedValue) -> [String; 3] {
    [
        change.path.join("."),
        shown(change.before.as_ref()),
        shown(change.after.as_ref()),
    ]
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

impl ConfigHistoryList {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let mut daemon = connection::open_or_files(files, out).await?;
        let path = "/api/v1/config/history";
        let body = daemon.get(path).await?;
        let mut history: ConfigHistory = daemon_client::read(path, &body)?;
        if history.entries.is_empty() && !out.is_json() {
            out.note("no changes yet");
        }
        history.entries.truncate(self.limit);
        out.answer(
            path,
            &output::as_json(&history)?,
            |history: ConfigHistory| {
                if history.entries.is_empty() {
                    return Ok(());
                }
                let columns = [
                    name("NUMBER"),
                    name("WHEN"),
                    name("BY"),
                    text("CHANGED", usize::MAX),
                    text("UNDONE", 1),
                ];
                output::table(columns, history.entries.into_iter().map(row))
            },
        )
    }
}

/// The path of what was changed, with what became of a token or a server as a whole.
fn named(change: &ChangedValue) -> String {
    let path = change.path.join(".");
    let verb = match (change.path.first().map(String::as_str), change.path.len()) {
        (Some("tokens"), 2) => ["issued", "revoked"],
        (Some("mcpServers"), 2) => ["added", "removed"],
        _ => return path,
    };
    match (&change.before, &change.after, verb) {
        (None, Some(_), [came, _]) => format!("{path} {came}"),
        (Some(_), None, [_, went]) => format!("{path} {went}"),
        _ => path,
    }
}

fn row(entry: config::HistoryEntry) -> [String; 5] {
    let paths: Vec<String> = entry.changes.iter().map(named).collect();
    let changed = match (entry.undoes, &paths[..]) {
        (_, []) => "comments, whitespace, or unknown".to_owned(),
        (None, paths) => paths.join(", "),
        (Some(id), paths) => format!("{} (undoes {id})", paths.join(", ")),
    };
    let way = match entry.author.way {
        ChangeWay::Terminal => "terminal",
        ChangeWay::Page => "web UI",
        ChangeWay::Rest => "REST",
        ChangeWay::Agent => "agent",
        ChangeWay::File => "file",
    };
    let undone = entry.undone_by.map(|id| format!("by {id}"));
    [
        entry.id.to_string(),
        entry.at,
        format!("{}, {way}", entry.author.by),
        changed,
        undone.unwrap_or_else(|| "-".to_owned()),
    ]
}
