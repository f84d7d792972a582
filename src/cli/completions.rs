//! `mcpproxy completions`: scripts for shells that complete commands, options and names of servers. No other file uses `clap_complete`.

use clap::{Arg, Args, Command};
use clap_complete::Shell;

use super::{Done, Location, output};
use crate::text::names::ServerName;

/// Print a shell completion script
#[derive(Debug, Args)]
pub(super) struct CompletionsCommand {
    /// The shell
    #[arg(value_enum, required_unless_present = "servers", value_name = "SHELL")]
    shell: Option<Shell>,
    /// Print the names of the servers, a line each, which is what the scripts ask
    #[arg(long, hide = true)]
    servers: bool,
}

/// The placeholder for the names of servers in a generated script.
const SERVERS: &str = "MCPPROXY-SERVERS";

/// The command that takes its place. It only reads the configuration file, so it takes a few milliseconds.
const ASK: &str = "mcpproxy completions --servers 2>/dev/null";

impl CompletionsCommand {
    pub(super) fn run(self, location: &Location, program: Command) -> Done {
        match self.shell {
            Some(shell) => output::print_line(script(shell, program).trim_end()),
            None => print_servers(location),
        }
    }
}

fn print_servers(location: &Location) -> Done {
    // If the file cannot be read, nothing is offered; the completed command will say why.
    let Ok(settings) = location.files()?.settings_without_secrets() else {
        return Ok(());
    };
    let mut names: Vec<&str> = settings.servers.keys().map(ServerName::as_str).collect();
    names.extend(settings.broken.iter().map(|broken| broken.name.as_str()));
    // Other names would have to be quoted.
    names.retain(|name| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    });
    if names.is_empty() {
        return Ok(());
    }
    output::print_line(&names.join("\n"))
}

fn script(shell: Shell, program: Command) -> String {
    let mut program = match shell {
        Shell::Bash | Shell::Zsh | Shell::Fish => offering_servers(program, ""),
        _ => program,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "mcpproxy", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => script.replace(SERVERS, &format!("$({ASK})")),
        Shell::Zsh => with_function(&script.replace(&format!("({SERVERS})"), "_mcpproxy_servers")),
        Shell::Fish => format!(
            "{}\n{}",
            script.replace(&format!("{SERVERS}\\t''"), &format!("({ASK})")),
            fish_positionals(&program)
        ),
        _ => script.into_owned(),
    }
}

/// The command with the placeholder as the value of every argument that names a server.
fn offering_servers(command: Command, parent: &str) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| {
        if names_a_server(parent, &name, &argument) {
            argument.value_parser([SERVERS])
        } else {
            argument
        }
    });
    command.mut_subcommands(|inner| offering_servers(inner, &name))
}

/// Whether an argument names a configured server.
fn names_a_server(parent: &str, command: &str, argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    if argument.is_positional() {
        // `add` takes a new name.
        return parent == "upstream" && command != "add" && ["name", "names"].contains(&id);
    }
    argument.get_long() == Some("server")
}

/// The script for zsh with the function that offers the names.
fn with_function(script: &str) -> String {
    let function = format!(
        "_mcpproxy_servers() {{\n    local -a names\n    names=(${{(f)\"$({ASK})\"}})\n    compadd -a names\n}}\n"
    );
    match script.split_once("\n\n") {
        // The first line must stay first: it names the command.
        Some((first, rest)) => format!("{first}\n\n{function}\n{rest}"),
        None => format!("{script}\n{function}"),
    }
}

/// The part that the generator leaves out for fish: the commands that take a server's name.
fn fish_positionals(program: &Command) -> String {
    let upstream = program.find_subcommand("upstream");
    let verbs = upstream.into_iter().flat_map(Command::get_subcommands);
    let verbs = verbs.filter(|verb| {
        let mut arguments = verb.get_arguments();
        arguments.any(|argument| names_a_server("upstream", verb.get_name(), argument))
    });
    let verbs: Vec<&str> = verbs
        .flat_map(Command::get_name_and_visible_aliases)
        .collect();
    format!(
        "complete -c mcpproxy -n \"__fish_seen_subcommand_from upstream; and __fish_seen_subcommand_from {}\" -f -a \"({ASK})\"\n",
        verbs.join(" ")
    )
}
