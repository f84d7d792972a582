//! `mcpproxy upstream add`: adds a server, from a command, a URL or JSON.

use std::path::Path;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use http::Method;
use serde_json::{Map, Value, json};

use super::super::{
    CommandFailure, Done, Output, connection,
    import::{self, values::SecretsPlace},
    outcome, output, tools,
};
use crate::{
    clients::{FoundOutcome, ImportReport},
    config::WrittenTransport,
    daemon_client::DaemonClient,
    management::{Files, ServerChange},
    process::is_command_line,
    storage::in_words,
    text::names::ServerName,
};

/// Add a server by its command or URL
///
/// The server is trusted unless --quarantined is given. Write `${NAME}` for an environment variable of the
/// daemon and `${keyring:NAME}` for a stored secret, in single quotes.
#[derive(Debug, Args)]
#[command(override_usage = USAGE)]
#[command(group = clap::ArgGroup::new("target").required(true).args(["command", "url", "json"]))]
pub(in crate::cli) struct AddServer {
    /// At most 64 letters, digits, `.`, `_` and `-`, without `__`
    #[arg(value_parser = ServerName::parse, required_unless_present = "json")]
    name: Option<ServerName>,
    /// JSON, command or URL from the server's page; - reads stdin
    #[arg(long, value_name = "JSON", conflicts_with_all = ["env", "cwd", "header", "kind"])]
    json: Option<String>,
    /// Store secrets in the keyring, or in the configuration file
    #[arg(long, value_name = "keyring|file", hide_possible_values = true)]
    secrets: Option<SecretsPlace>,
    /// The URL of a remote server
    #[arg(long)]
    url: Option<String>,
    /// The command and its arguments, after `--`; no shell is used
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// A variable for the command's environment; may be repeated
    #[arg(long, short_alias = 'e', value_name = "KEY=VALUE", value_parser = env_pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// The folder that the command starts in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// A header for every request to the URL; may be repeated
    #[arg(long, short_alias = 'H', value_name = "NAME: VALUE", value_parser = header_pair, requires = "url", conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// stdio, http, sse or auto; by default from the command or URL
    #[arg(long = "type", alias = "transport", value_name = "TYPE", hide_possible_values = true, value_parser = transport())]
    kind: Option<WrittenTransport>,
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

/// The values of `--type` in help and errors.
const TYPES: [&str; 5] = ["stdio", "http", "streamable-http", "sse", "auto"];

const USAGE: &str = "mcpproxy upstream add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...
       mcpproxy upstream add [OPTIONS] <NAME> --url <URL>
       mcpproxy upstream add [NAME] --json <JSON>";

impl AddServer {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let daemon = if self.check {
            connection::open_to_act(files, out, "nothing was added").await?
        } else {
            connection::open_or_files(files, out).await?
        };
        match &self.json {
            Some(text) => self.add_pasted(text, files, daemon, out).await,
            None => self.add_typed(files, daemon, out).await,
        }
    }

    async fn add_pasted(
        &self,
        text: &str,
        files: &Files,
        mut daemon: DaemonClient,
        out: Output,
    ) -> Done {
        let name = self.name.as_ref().map(ServerName::as_str);
        let mut report = import::read_pasted(files, &daemon, text, name)?;
        // Those that cannot be used are named at the end.
        let usable = report.servers.iter();
        let mut usable = usable.filter(|server| server.outcome != FoundOutcome::Unusable);
        if let Some(name) = name
            && usable.clone().any(|server| server.written_name != name)
        {
            let n = report.servers.len();
            let what = format!("the text has {n} servers, which cannot all be called {name}");
            let failure = CommandFailure::usage(what).undone("nothing was added");
            return Err(failure.next("leave out the name, or paste one server alone"));
        }
        if let Some(name) = name
            && let Some(server) = usable.find(|server| server.outcome == FoundOutcome::Renamed)
        {
            let why = server.reason.clone().unwrap_or_default();
            let failure = CommandFailure::failed(why).undone("nothing was added");
            let step = format!(
                "choose another name, or change {name}: `mcpproxy upstream patch {name} KEY=VALUE`"
            );
            return Err(failure.next(step));
        }
        for server in &mut report.servers {
            server.disabled |= self.disabled;
        }
        let (is_checked, secrets) = (self.check, self.secrets);
        import::fill_in(files, &mut daemon, &mut report, is_checked, secrets, out).await?;
        import::add_pasted(daemon, report, self.is_held, out).await
    }

    async fn add_typed(self, files: &Files, mut daemon: DaemonClient, out: Output) -> Done {
        let Some(name) = self.name.clone() else {
            let failure = CommandFailure::usage("no name is given").undone("nothing was added");
            return Err(failure.next("`mcpproxy upstream add NAME -- COMMAND`"));
        };
        let (is_checked, secrets) = (self.check, self.secrets);
        let mut report = ImportReport::of_entry(&name, self.into_entry(out)?);
        import::fill_in(files, &mut daemon, &mut report, is_checked, secrets, out).await?;
        let is_meant = secrets == Some(SecretsPlace::File);
        let added = report.servers.iter().filter(|_| !is_meant);
        let notes: Vec<String> = added
            .flat_map(|server| import::plain_secrets(server, true))
            .collect();
        let mut body = Map::from_iter([("name".to_owned(), json!(name))]);
        body.extend(import::only_entry(report, out)?);
        let body = Value::Object(body).to_string();
        let adding = daemon.ask_for(Method::POST, "/api/v1/servers", body);
        let mut change: ServerChange = adding.await?;
        for note in &notes {
            out.note(note);
        }
        let seconds = is_checked.then_some(outcome::LONG_CONNECT_TIMEOUT);
        change.server = outcome::wait_for(&mut daemon, name.as_str(), seconds).await?;
        outcome::say(out, &daemon, "added", &change.server);
        if out.is_json() {
            output::print_value(&change)?;
        } else if is_checked {
            let path = connection::server_path(name.as_str(), "/tools");
            tools::print(daemon.fetch(&path).await?, out)?;
        }
        Ok(())
    }

    /// The entry as it stands in the configuration; keys with their default value are left out.
    fn into_entry(self, out: Output) -> Done<Map<String, Value>> {
        let mut entry = Map::new();
        if let Some(kind) = self.kind {
            check_kind(kind, self.url.is_some())?;
            entry.insert("type".to_owned(), json!(kind));
        }
        match self.url {
            Some(url) => {
                entry.insert("url".to_owned(), json!(url));
                insert_pairs(&mut entry, "headers", self.header);
            }
            None => entry.extend(stdio_entry(&self.command, self.env, self.cwd, out)?),
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

/// Fails if the transport contradicts the URL or the command.
fn check_kind(kind: WrittenTransport, has_url: bool) -> Done {
    let shape = match (kind == WrittenTransport::Stdio, has_url) {
        (true, true) => "a URL",
        (false, false) => "a command",
        _ => return Ok(()),
    };
    let kind = json!(kind);
    let kind = kind.as_str().unwrap_or_default();
    let mistake = format!("--type {kind} cannot be used with {shape}");
    let failure = CommandFailure::usage(mistake).undone("nothing was added");
    Err(failure.next("leave out --type: a command is stdio, and a URL is not"))
}

fn stdio_entry(
    line: &[String],
    env: Vec<(String, String)>,
    cwd: Option<String>,
    out: Output,
) -> Done<Map<String, Value>> {
    let command = line.first().map_or("", String::as_str);
    refuse_shell_line(command)?;
    let mut entry = Map::from_iter([("command".to_owned(), json!(from_here(command)?))]);
    if let Some(option) = own_option(line) {
        out.note(&format!(
            "`{option}` was passed to the program; put it before `--` if it is for mcpproxy"
        ));
    }
    if let Some(arguments @ [_, ..]) = line.get(1..) {
        entry.insert("args".to_owned(), json!(arguments));
    }
    insert_pairs(&mut entry, "env", env);
    if let Some(cwd) = folder_of(line, cwd, out)? {
        entry.insert("cwd".to_owned(), json!(cwd));
    }
    Ok(entry)
}

/// The last argument of a command if it is an option of this one.
fn own_option(line: &[String]) -> Option<&String> {
    let (last, _) = line.get(1..)?.split_last()?;
    let command = AddServer::augment_args(clap::Command::new("add"));
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
    let is_own = options.any(|option| last.strip_prefix("--") == Some(option));
    is_own.then_some(last)
}

/// The folder that a command starts in: the given one, or this one if an argument is a file of it.
fn folder_of(line: &[String], given: Option<String>, out: Output) -> Done<Option<String>> {
    match (given, find_file_here(line)) {
        (Some(cwd), _) if cwd.starts_with(['~', '$']) => Ok(Some(cwd)),
        (Some(cwd), _) => absolute(&cwd).map(Some),
        (None, Some(file)) => {
            let cwd = absolute(".")?;
            out.note(&format!(
                "the server starts in {cwd}, where its file {file} is; --cwd changes that"
            ));
            Ok(Some(cwd))
        }
        (None, None) => Ok(None),
    }
}

/// Reads `--type`.
fn transport() -> impl TypedValueParser<Value = WrittenTransport> {
    PossibleValuesParser::new(TYPES).try_map(|kind| serde_json::from_value(json!(kind)))
}

/// Fails if a command and its arguments are one word, which only a shell would split.
fn refuse_shell_line(command: &str) -> Done {
    if !is_command_line(command) {
        return Ok(());
    }
    let mistake = format!("no program {command:?}: a command line in quotes is one word");
    let failure = CommandFailure::usage(mistake).undone("nothing was added");
    Err(failure.next(format!("write it without quotes: -- {command}")))
}

/// The first argument that is a relative path to a file here, so that it depends on the folder.
fn find_file_here(line: &[String]) -> Option<&String> {
    let mut arguments = line.iter().skip(1);
    let names_a_file = |word: &&String| {
        let path = Path::new(word);
        !word.starts_with('-') && path.is_relative() && path.is_file()
    };
    arguments.find(names_a_file)
}

fn insert_pairs(entry: &mut Map<String, Value>, key: &str, pairs: Vec<(String, String)>) {
    if !pairs.is_empty() {
        entry.insert(key.to_owned(), pairs.into_iter().collect());
    }
}

/// The command with an absolute path if it is relative to this folder, because the daemon runs elsewhere.
fn from_here(command: &str) -> Done<String> {
    if command.starts_with("./") || command.starts_with("../") {
        return absolute(command);
    }
    Ok(command.to_owned())
}

fn absolute(path: &str) -> Done<String> {
    let failed = |why: &str| {
        let what = format!("{path:?} cannot be made into an absolute path: {why}");
        CommandFailure::failed(what).undone("nothing was added")
    };
    let absolute = std::path::absolute(path).map_err(|error| failed(&in_words(&error)))?;
    let text = absolute.into_os_string().into_string();
    text.map_err(|_| failed("it is not UTF-8"))
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
