//! The command line: reads the arguments, runs one command, turns its outcome into an exit code.
//!
//! The only door to clap and comfy-table. Commands print through `output`. What they do is `management`'s: asked of the daemon
//! through `daemon_client`, or done on the files where none runs.

mod background;
mod call;
mod config;
mod connection;
mod failure;
mod location;
mod output;
mod platform;
mod pretty_json;
mod serve;
mod status;
mod stdio;
mod tools;
mod tools_search;
mod upstream;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::{failure::CommandFailure, location::Location};

/// One daemon between every AI client and every MCP server on this machine.
///
/// Run `mcpproxy serve` once, point your AI clients at `http://127.0.0.1:8080/mcp`, and manage the servers behind it from here.
#[derive(Debug, Parser)]
#[command(name = "mcpproxy", version, max_term_width = 100, after_long_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(flatten)]
    location: Location,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy serve                                       run the daemon in the foreground
  mcpproxy serve --demo                                the same, with a demo server to try
  mcpproxy stdio                                       serve a client that can only start a process
  mcpproxy upstream add time -- uvx mcp-server-time    add a server that runs as a process
  mcpproxy upstream list                               the servers and how they are
  mcpproxy tools list                                  what they offer
  mcpproxy tools search create issue                   what an AI client finds for these words
  mcpproxy call read time:get_current_time --args '{\"timezone\":\"Europe/Berlin\"}'

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 daemon not reachable, 4 refused by policy.";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeCommand),
    Stdio(stdio::StdioCommand),
    #[command(subcommand)]
    Upstream(upstream::UpstreamCommand),
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    #[command(subcommand)]
    Call(call::CallCommand),
    Status(status::StatusCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Run the bundled demo server on stdin and stdout
    #[command(hide = true)]
    DemoServer,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(help_or_mistake) => return output::usage(&help_or_mistake),
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::failure(&failure),
    }
}

fn run(arguments: Arguments) -> Result<(), CommandFailure> {
    let location = &arguments.location;
    match arguments.command {
        Command::Serve(serve) => serve.run(location),
        Command::Stdio(stdio) => finish(stdio.run(location)),
        Command::Upstream(upstream) => block_on(upstream.run(location)),
        Command::Tools(tools) => block_on(tools.run(location)),
        Command::Call(call) => block_on(call.run(location)),
        Command::Status(status) => block_on(status.run(location)),
        Command::Config(config) => config.run(location),
        Command::DemoServer => crate::demo_server::run().map_err(|source| {
            CommandFailure::failed(format!("failed to serve on stdin and stdout: {source}"))
        }),
    }
}

/// Runs a command until it is done, and leaves nothing waiting for input that may never come.
fn finish(command: impl Future<Output = Result<(), CommandFailure>>) -> Result<(), CommandFailure> {
    let runtime = runtime()?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    done
}

/// Runs a command that mostly waits for the daemon: one thread is enough.
fn block_on(
    command: impl Future<Output = Result<(), CommandFailure>>,
) -> Result<(), CommandFailure> {
    runtime()?.block_on(command)
}

fn runtime() -> Result<tokio::runtime::Runtime, CommandFailure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| CommandFailure::failed(format!("failed to start the runtime: {source}")))
}
