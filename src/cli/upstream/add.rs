//! `mcpproxy upstream add`: from arguments to an entry of the configuration.

use std::path::Path;

use clap::{Args, builder::PossibleValuesParser};
use http::Method;
use serde_json::{Map, Value, json};

use super::super::{
    connection,
    failure::CommandFailure,
    import::{self, values::SecretsPlace},
    location::Location,
    outcome,
    output::{self, Output},
    tools,
};
use crate::{
    clients::ImportReport,
    daemon_client::{self, AnswerDeadline},
    management::ServerChange,
    process::is_command_line,
    storage::in_words,
    text::names::ServerName,
};

/// Add a server by its command or URL
///
/// The server is trusted unless --quarantined is given. Write `${NAME}` for a variable of the daemon and
/// `${keyring:NAME}` for a stored secret, in single quotes.
#[derive(Debug, Args)]
#[command(override_usage = USAGE)]
#[command(group = clap::ArgGroup::new("target").required(true).args(["url", "command", "json"]))]
pub(in crate::cli) struct AddServer {
    /// At most 64 letters, digits, `.`, `_` and `-`, without `__`
    #[arg(value_parser = ServerName::parse, required_unless_present = "json")]
    name: Option<ServerName>,
    /// JSON, command or URL from the server's page; - reads stdin
    #[arg(long, value_name = "JSON", conflicts_with_all = ["env", "cwd", "header", "kind"])]
    json: Option<String>,
    /// Store secrets in the keyring, or in the configuration file
    #[arg(
        long,
        value_name = "keyring|file",
        value_enum,
        hide_possible_values = true
    )]
    secrets: Option<SecretsPlace>,
    /// The URL of a remote server
    #[arg(long)]
    url: Option<String>,
    /// The command and its arguments, after `--`; no shell is used
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// A variable for the command's environment; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = env_pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// The folder that the command starts in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// A header for every request to the URL; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header_pair, requires = "url", conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// stdio, http, sse or auto; by default from the command or URL
    #[arg(long = "type", value_name = "TYPE", hide_possible_values = true, value_parser = PossibleValuesParser::new(TYPES))]
    kind: Option<String>,
    /// Quarantine the server until you approve it
    #[arg(long = "quarantined")]
    is_held: bool,
    /// Add the server disabled
    #[arg(long)]
    disabled: bool,
    /// Connect first, and add the server only if it works
    #[arg(long, conflicts_with_all = ["disabled", "is_held"])]
    check: bool,
}

const TYPES: [&str; 5] = ["stdio", "http", "streamable-http", "sse", "auto"];

const USAGE: &str = "mcpproxy upstream add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...
       mcpproxy upstream add [OPTIONS] <NAME> --url <URL>
       mcpproxy upstream add [NAME] --json <JSON>";

impl AddServer {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let files = location.files()?;
        let (is_checked, secrets) = (self.check, self.secrets);
        let mut daemon = if is_checked {
            connection::open_to_act(&files, out, "nothing was added").await?
        } else {
            connection::open_or_files(&files, out).await?
        };
        if let Some(text) = &self.json {
            let name = self.name.as_ref().map(ServerName::as_str);
            let is_held = self.is_held;
            let mut report = import::read_pasted(&files, &daemon, text, name)?;
            let servers = report.servers.iter_mut();
            servers.for_each(|server| server.disabled |= self.disabled);
            import::fill_in(&files, &mut daemon, &mut report, is_checked, secrets, out).await?;
            return import::add_pasted(daemon, report, is_held, out).await;
        }
        let Some(name) = self.name.clone() else {
            let failure = CommandFailure::usage("no name is given").undone("nothing was added");
            return Err(failure.next("`mcpproxy upstream add NAME -- COMMAND`"));
        };
        let mut report = ImportReport::of_entry(&name, self.entry(out)?);
        import::fill_in(&files, &mut daemon, &mut report, is_checked, secrets, out).await?;
        let entry = import::only_entry(report)?;
        let mut body = Map::from_iter([("name".to_owned(), json!(name))]);
        body.extend(entry);
        let body = Value::Object(body).to_string();
        let (path, deadline) = ("/api/v1/servers", AnswerDeadline::Daemon);
        let adding = daemon.request(Method::POST, path, body, deadline);
        let mut change: ServerChange = adding.await?;
        let seconds = is_checked.then_some(outcome::LONG_CONNECT_TIMEOUT);
        change.server = outcome::wait_for(&mut daemon, name.as_str(), seconds).await?;
        outcome::say(out, &daemon, "added", &change.server);
        if out.is_json() {
            output::json(&output::as_json(&change)?)?;
        } else if is_checked {
            let name = daemon_client::encoded(name.as_str());
            let path = format!("/api/v1/servers/{name}/tools");
            tools::print(daemon.fetch(&path).await?, out)?;
        }
        Ok(())
    }

    /// The entry as it stands in the configuration; keys with their default value are left out.
    fn entry(self, out: Output) -> Result<Map<String, Value>, CommandFailure> {
        let mut entry = Map::new();
        if let Some(kind) = self.kind {
            let is_stdio = kind == "stdio";
            if is_stdio == self.url.is_some() {
                let shape = if self.url.is_some() {
                    "a URL"
                } else {
                    "a command"
                };
                return Err(CommandFailure::usage(format!(
                    "--type {kind} cannot be used with {shape}"
                ))
                .undone("nothing was added")
                .next("leave out --type: a command is stdio, and a URL is not"));
            }
            entry.insert("type".to_owned(), json!(kind));
        }
        if let Some(url) = self.url {
            entry.insert("url".to_owned(), json!(url));
            insert_pairs(&mut entry, "headers", self.header);
        } else {
            let here = files_here(&self.command);
            let mut words = self.command.into_iter();
            let command = words.next().unwrap_or_default();
            refuse_shell_line(&command)?;
            entry.insert("command".to_owned(), json!(from_here(command)?));
            let arguments: Vec<String> = words.collect();
            if !arguments.is_empty() {
                entry.insert("args".to_owned(), json!(arguments));
            }
            insert_pairs(&mut entry, "env", self.env);
            if let Some(cwd) = self.cwd {
                let cwd = if cwd.starts_with(['~', '$']) {
                    cwd
                } else {
                    absolute(&cwd)?
                };
                entry.insert("cwd".to_owned(), json!(cwd));
            } else if let Some(file) = here {
                let cwd = absolute(".")?;
                out.note(&format!(
                    "it starts in {cwd}, where its file {file} is; --cwd changes that"
                ));
                entry.insert("cwd".to_owned(), json!(cwd));
            }
        }
        if self.is_held {
            entry.insert("quarantined".to_owned(), json!(true));
        }
        if self.disabled {
            entry.insert("enabled".to_owned(), json!(false));
        }
        Ok(entry)
    }
}

/// A command with its arguments in one word is what a shell would have taken apart.
fn refuse_shell_line(command: &str) -> Result<(), CommandFailure> {
    if !is_command_line(command) {
        return Ok(());
    }
    let mistake = format!("no program {command:?}: a command line in quotes is one word");
    let failure = CommandFailure::usage(mistake).undone("nothing was added");
    Err(failure.next(format!("write it without quotes: -- {command}")))
}

/// The first word of a command that is a file of this folder, and means nothing elsewhere.
fn files_here(command: &[String]) -> Option<String> {
    let arguments = command.iter().skip(1);
    let names_a_file = |word: &&String| {
        let path = Path::new(word);
        !word.starts_with('-') && path.is_relative() && path.is_file()
    };
    arguments.into_iter().find(names_a_file).cloned()
}

fn insert_pairs(entry: &mut Map<String, Value>, key: &str, pairs: Vec<(String, String)>) {
    if !pairs.is_empty() {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        entry.insert(key.to_owned(), Value::Object(pairs));
    }
}

/// A command given relative to this folder must mean the same to the daemon, which runs elsewhere.
fn from_here(command: String) -> Result<String, CommandFailure> {
    if command.starts_with("./") || command.starts_with("../") {
        return absolute(&command);
    }
    Ok(command)
}

fn absolute(path: &str) -> Result<String, CommandFailure> {
    let absolute = std::path::absolute(Path::new(path)).map_err(|error| {
        CommandFailure::failed(format!(
            "nothing was added: {path:?} cannot be made an absolute path: {}",
            in_words(&error)
        ))
    })?;
    absolute
        .into_os_string()
        .into_string()
        .map_err(|path| CommandFailure::failed(format!("the path {} is not UTF-8", path.display())))
}

fn env_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".to_owned()),
    }
}

fn header_pair(text: &str) -> Result<(String, String), String> {
    let how = "write it as \"NAME: VALUE\"";
    let (name, value) = text.split_once(':').ok_or(how)?;
    let name = name.trim();
    if http::HeaderName::try_from(name).is_err() {
        return Err(format!("{how}; {name:?} is not the name of a header"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}
