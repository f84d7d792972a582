//! The command line: reads the arguments, runs one command, and turns its result into an exit code.
//!
//! No other room uses clap. Commands print through `output`. They do their work through the daemon's REST (`daemon_client`), which serves the
//! same routes from the files where no daemon runs.

mod access;
mod activity;
mod background;
mod browser;
mod call;
mod client_warnings;
mod code;
mod completions;
mod config;
mod connect;
mod connection;
mod daemon_options;
pub mod demo_server;
mod doctor;
mod escapes;
mod example_call;
mod failure;
mod help;
mod import;
mod input;
mod location;
mod logs;
mod mistake;
mod outcome;
mod output;
mod platform;
mod pretty_json;
mod progress;
mod questions;
mod secret;
mod serve;
mod service;
mod setup;
mod start;
mod status;
mod stdio;
mod stop;
mod table;
mod token;
mod tool_name;
mod tools;
mod tools_search;
mod tools_switch;
mod typed;
mod ui;
mod uninstall;
mod unusable_file;
mod upstream;
mod version;
#[cfg(unix)]
mod watcher;

use std::{env, ffi::OsString, pin::Pin, process::ExitCode};

use clap::{FromArgMatches, Parser, Subcommand};
use tokio::runtime;

use crate::{code_execution, storage::in_words};

use self::{
    failure::{CommandFailure, Done, OrUndone},
    location::Location,
    output::Output,
};

/// Run each MCP server once and share it with all your AI clients.
#[derive(Debug, Parser)]
#[command(name = "mcpproxy", version, long_version = version::with_commit_and_revisions())]
#[command(max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    location: Location,
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeCommand),
    Stdio(stdio::StdioCommand),
    Setup(setup::SetupCommand),
    Import(import::ImportCommand),
    Connect(connect::ConnectCommand),
    #[command(subcommand)]
    Upstream(upstream::UpstreamCommand),
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    Call(call::CallCommand),
    Code(code::CodeCommand),
    #[command(subcommand)]
    Activity(activity::ActivityCommand),
    Ui(ui::UiCommand),
    Status(status::StatusCommand),
    Logs(logs::DaemonLogs),
    Start(start::StartCommand),
    Stop(stop::StopCommand),
    Restart(start::RestartCommand),
    #[command(subcommand)]
    Access(access::AccessCommand),
    #[command(subcommand)]
    Service(service::ServiceCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    #[command(subcommand)]
    Token(token::TokenCommand),
    Doctor(doctor::DoctorCommand),
    Uninstall(uninstall::UninstallCommand),
    Completions(completions::CompletionsCommand),
    Version(version::VersionCommand),
}

impl Command {
    /// Whether the command only shows something, so that a failure means that nothing was shown.
    fn shows(&self) -> bool {
        use self::{
            activity::ActivityCommand, config::ConfigCommand, secret::SecretCommand,
            token::TokenCommand, tools::ToolsCommand, upstream::UpstreamCommand,
        };
        match self {
            Self::Upstream(UpstreamCommand::Inspect(inspect)) => !inspect.connect,
            Self::Logs(_)
            | Self::Upstream(
                UpstreamCommand::List(_) | UpstreamCommand::Show(_) | UpstreamCommand::Logs(_),
            )
            | Self::Tools(ToolsCommand::List(_) | ToolsCommand::Show(_))
            | Self::Activity(ActivityCommand::Show(_))
            | Self::Config(ConfigCommand::Get(_))
            | Self::Secret(SecretCommand::List)
            | Self::Token(TokenCommand::List) => true,
            _ => false,
        }
    }
}

/// Runs the command of this process, if it is one that the daemon starts. Those are not for people, so help and completions leave them out.
fn run_inner() -> Option<Done> {
    let (ran, doing) = match env::args_os().nth(1)?.to_str()? {
        // The bundled demo server.
        "demo-server" => (demo_server::run(), "serve on stdin and stdout"),
        // Its calls and result go through stdout.
        "run-script" => (code_execution::run_sandbox(), "run a script from stdin"),
        // The process that ends the servers of a killed daemon.
        #[cfg(unix)]
        watcher::ARGUMENT => (watcher::run(), "watch a daemon"),
        _ => return None,
    };
    Some(ran.map_err(|error| {
        CommandFailure::failed(format!("failed to {doing}: {}", in_words(&error)))
    }))
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some(done) = run_inner() {
        return match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => Output::default().failure(&failure),
        };
    }
    let mut words: Vec<OsString> = env::args_os().collect();
    if let Some(place) = help::place_of_help(&words) {
        // `help GROUP COMMAND` and `GROUP help COMMAND` are read as `GROUP COMMAND --help`.
        words.remove(place);
        words.retain(|word| word != "help" && word != "--help" && word != "-h");
        words.push("--help".into());
    }
    // Help is laid out, which takes time, only if these arguments show help or are wrong.
    let read = Arguments::try_parse_from(&words).or_else(|_| {
        if let Some(place) = help::place_of_list(&words) {
            words.insert(place, "list".into());
        }
        let read = help::command().try_get_matches_from(words);
        read.and_then(|found| Arguments::from_arg_matches(&found))
    });
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(help_or_mistake) => return output::print_usage(&help_or_mistake),
    };
    if let Command::Upstream(_) | Command::Secret(_) | Command::Token(_) = arguments.command
        && let Some(failure) = mistake::empty_name()
    {
        return arguments.output.failure(&failure);
    }
    // The stdout of these belongs to a client.
    let serves = match &arguments.command {
        Command::Serve(serve) => serve.serves(),
        Command::Stdio(_) => true,
        _ => false,
    };
    let out = if serves {
        arguments.output.without_data()
    } else {
        arguments.output
    };
    let shows = arguments.command.shows();
    match run(arguments, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if shows && failure.outcome.is_none() && !failure.is_shown => {
            out.failure(&failure.undone("nothing was shown"))
        }
        Err(failure) => out.failure(&failure),
    }
}

fn run(arguments: Arguments, out: Output) -> Done {
    let location = &arguments.location;
    match arguments.command {
        Command::Serve(serve) => serve.run(location, out),
        Command::Stdio(stdio) => finish(stdio.run(location, out)),
        Command::Setup(setup) => finish(setup.run(location, out)),
        Command::Import(import) => finish(import.run(location, out)),
        Command::Connect(connect) => finish(connect.run(location, out)),
        Command::Upstream(upstream) => finish(upstream.run(location, out)),
        Command::Tools(tools) => finish(tools.run(location, out)),
        Command::Call(call) => finish(call.run(location, out)),
        Command::Code(code) => finish(code.run(location, out)),
        Command::Activity(activity) => finish(activity.run(location, out)),
        Command::Ui(ui) => finish(ui.run(location, out)),
        Command::Status(status) => finish(status.run(location, out)),
        Command::Logs(logs) => finish(logs.run(location, out)),
        Command::Start(start) => finish(start.run(location, out)),
        Command::Stop(stop) => finish(stop.run(location, out)),
        Command::Restart(restart) => finish(restart.run(location, out)),
        Command::Access(access) => finish(access.run(location, out)),
        Command::Service(service) => finish(service.run(location, out)),
        Command::Config(config) => finish(config.run(location, out)),
        Command::Secret(secret) => finish(secret.run(location, out)),
        Command::Token(token) => finish(token.run(location, out)),
        Command::Doctor(doctor) => finish(doctor.run(location, out)),
        Command::Uninstall(uninstall) => finish(uninstall.run(location, out)),
        Command::Completions(completions) => completions.run(location, help::command()),
        Command::Version(version) => finish(version.run(location, out)),
    }
}

/// Runs a command on one thread until it is done, without waiting for a read of stdin that may never return. The command is boxed, because
/// the runtime's code would be compiled for each type of future.
fn finish(command: impl Future<Output = Done>) -> Done {
    let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(command);
    let runtime = build_runtime(runtime::Builder::new_current_thread())?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    done
}

/// A runtime in which a write beyond `ulimit -f` fails instead of ending the process.
fn build_runtime(mut builder: runtime::Builder) -> Done<runtime::Runtime> {
    let runtime = builder.enable_all().build().map_err(|error| {
        CommandFailure::failed(format!("failed to start the runtime: {}", in_words(&error)))
    })?;
    platform::outlive_file_limit(&runtime);
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::help;

    const PAGE: &str = include_str!("../../docs/cli.md");

    /// Every command that can be seen, with what leads to it.
    fn commands(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for inner in command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set())
        {
            let path = format!("{path} {}", inner.get_name());
            found.push((path.clone(), inner.clone()));
            commands(inner, &path, found);
        }
    }

    #[test]
    fn the_page_on_the_command_line_names_every_command_and_option() {
        let mut found = Vec::new();
        commands(&help::command(), "mcpproxy", &mut found);
        let mut missing = Vec::new();
        for (path, command) in found {
            let name = command.get_name().to_owned();
            // The variants of a call, and verbs that share a row, stand there by their last word.
            if !PAGE.contains(&path)
                && !PAGE.contains(&format!("`{name} "))
                && !PAGE.contains(&format!("`{name}`"))
                && !PAGE.contains(&format!("|{name}"))
            {
                missing.push(path.clone());
            }
            for option in command.get_opts().filter(|option| !option.is_hide_set()) {
                let long = option.get_long().map(|long| format!("--{long}"));
                missing.extend(long.filter(|long| !PAGE.contains(long.as_str())));
            }
        }
        assert_eq!(missing, [] as [String; 0], "docs/cli.md does not name them");
    }

    #[test]
    fn the_arguments_are_well_formed() {
        help::command().debug_assert();
    }
}
