//! `mcpproxy completions`: scripts that complete commands, options and names of servers in a shell.
//!
//! The only door to `clap_complete`.

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

/// Stands in a generated script where names of servers are to be offered.
const SERVERS: &str = "MCPPROXY-SERVERS";

/// The same, in bash and zsh: only the file is read, so it takes some milliseconds.
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
    // Nothing is offered where the file cannot be read; the command itself will say why.
    let Ok(settings) = location.files()?.settings_without_secrets() else {
        return Ok(());
    };
    let mut names: Vec<&str> = settings.servers.keys().map(ServerName::as_str).collect();
    names.extend(settings.broken.iter().map(|broken| broken.name.as_str()));
    // Others cannot be named on a line.
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

/// The program with a placeholder in place of every name of a server.
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

/// Whether the name of a configured server is wanted.
fn names_a_server(parent: &str, command: &str, argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    if argument.is_positional() {
        // `add` takes a new name.
        return parent == "upstream" && command != "add" && ["name", "names"].contains(&id);
    }
    argument.get_long() == Some("server")
}

/// The function of zsh that offers the names.
fn with_function(script: &str) -> String {
    let function = format!(
        "_mcpproxy_servers() {{\n    local -a names\n    names=(${{(f)\"$({ASK})\"}})\n    compadd -a names\n}}\n"
    );
    match script.split_once("\n\n") {
        // The first line says for which command the file is.
        Some((first, rest)) => format!("{first}\n\n{function}\n{rest}"),
        None => format!("{script}\n{function}"),
    }
}

/// What the generator leaves out for fish: the verbs behind which a name stands.
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
