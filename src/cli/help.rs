//! How help looks: one line, usage, examples, what can be written, and one line for what every command takes.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Arguments;

const LAYOUT: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

const ROOT_LAYOUT: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}";

/// Without anything that can be written.
const BARE_LAYOUT: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{after-help}";

const COMMON: &str = "Also: --config, --data-dir, -o json, -q, -v: see `mcpproxy --help`";

const ROOT: &str = "\
Options of every command:
      --config <FILE>   the configuration file
      --data-dir <DIR>  the data folder
  -o, --output <FORMAT> table or json
  -q, --quiet           only data and errors; `serve` logs only warnings and errors
  -v, --verbose         more details; `serve` logs at the level debug
  -h, --help            help for the command
  -V, --version         version, commit and protocol revisions

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 refused";

/// The commands, as people look for them.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Set up",
        &[
            "setup",
            "import",
            "connect",
            "service",
            "completions",
            "uninstall",
        ],
    ),
    (
        "Run",
        &[
            "start", "stop", "restart", "serve", "stdio", "status", "logs", "doctor", "version",
        ],
    ),
    ("Servers", &["upstream", "secret", "config"]),
    (
        "Agents",
        &["tools", "call", "code", "activity", "access", "token", "ui"],
    ),
];

/// Examples of commands that have none beside their arguments, a command a line.
const EXAMPLES: &str = "\
access = mcpproxy access check ada github:create_issue
activity list = mcpproxy activity list --server github --since 2h
activity show = mcpproxy activity show 1234
activity export = mcpproxy activity export --format csv > all.csv
config = mcpproxy config check
config get = mcpproxy config get listen
config history = mcpproxy config history --limit 5
config path = mcpproxy config path
config edit = EDITOR=nano mcpproxy config edit
config check = mcpproxy config check -o json
config schema = mcpproxy config schema > mcp_config.schema.json
doctor = mcpproxy doctor --wait 5m
logs = mcpproxy logs -f
secret = mcpproxy secret set github-token
secret set = pass show github | mcpproxy secret set github-token
secret list = mcpproxy secret list
secret remove = mcpproxy secret remove github-token
service uninstall = mcpproxy service uninstall
service status = mcpproxy service status
service install = mcpproxy service install --listen 127.0.0.1:9090
status = mcpproxy status -o json
ui = mcpproxy ui --print     print the link, for a browser on another machine
version = mcpproxy version -o json
token = mcpproxy token add ada --servers github
token list = mcpproxy token list
upstream list = mcpproxy upstream list -o json
upstream logs = mcpproxy upstream logs github -f
upstream approve = mcpproxy upstream approve notion update_page
upstream lock = mcpproxy upstream lock mcp.lock.json
tools list = mcpproxy tools list --server github
tools search = mcpproxy tools search create issue --limit 5
tools show = mcpproxy tools show github:create_issue
tools disable = mcpproxy tools disable github:delete_repository
tools enable = mcpproxy tools enable github:delete_repository";

const ROOT_EXAMPLES: &str = "\
Examples:
  mcpproxy setup             import servers and connect clients; asks first
  mcpproxy serve --demo      try mcpproxy with a bundled server
  mcpproxy upstream add time -- uvx mcp-server-time";

/// The whole command line, laid out.
pub(super) fn command() -> Command {
    let command = shaped(Arguments::command(), "");
    let about = |name: &str| {
        let command = command.find_subcommand(name);
        command
            .and_then(Command::get_about)
            .map(ToString::to_string)
    };
    let examples: Vec<String> = ROOT_EXAMPLES.lines().map(unbroken).collect();
    let examples = examples.join("\n");
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups += title;
        groups += ":\n";
        for name in names {
            let about = about(name).unwrap_or_default();
            groups.extend([&*format!("  {name:<11} "), &about, "\n"]);
        }
    }
    command
        .help_template(ROOT_LAYOUT)
        .before_help(format!("{examples}\n\n{groups}\n{ROOT}"))
}

/// Where among the words of a command line `help` stands as a command.
pub(super) fn place_of_help(words: &[OsString]) -> Option<usize> {
    let is_help = |place: usize| words.get(place).is_some_and(|word| word == "help");
    if is_help(1) {
        return Some(1);
    }
    let root = Arguments::command();
    let group = words.get(1).filter(|_| is_help(2))?;
    root.find_subcommand(group)
        .is_some_and(Command::has_subcommands)
        .then_some(2)
}

fn shaped(command: Command, path: &str) -> Command {
    let own = command.get_after_long_help().map(ToString::to_string);
    let mut named = EXAMPLES.lines().filter_map(|line| line.split_once(" = "));
    let named = named
        .find(|(of, _)| *of == path)
        .map(|(_, text)| text.to_owned());
    let examples = own.unwrap_or_else(|| {
        // Of verbs that take a name alone.
        let text = named.unwrap_or_else(|| format!("mcpproxy {path} github"));
        format!("Examples:\n  {text}")
    });
    // What is longer than a line stands above the examples, so that `-h` and `--help` are the same.
    let about = command.get_long_about().map(ToString::to_string);
    let details = about.as_deref().and_then(|about| about.split_once("\n\n"));
    let examples = match details {
        Some((_, details)) => format!("{details}\n\n{examples}"),
        None => examples,
    };
    let examples: Vec<String> = examples.lines().map(unbroken).collect();
    let examples = examples.join("\n");
    let has_own = command.has_subcommands() || command.get_arguments().next().is_some();
    let (layout, examples, end) = if has_own {
        (LAYOUT, examples, COMMON)
    } else {
        (BARE_LAYOUT, format!("{examples}\n\n{COMMON}"), "")
    };
    let inner: Vec<String> = command
        .get_subcommands()
        .map(|inner| inner.get_name().to_owned())
        .collect();
    // `mcpproxy help GROUP COMMAND` shows the same.
    let command = command.disable_help_subcommand(!path.is_empty());
    let help = Arg::new("help").short('h').long("help").hide(true);
    let command = command
        .disable_help_flag(true)
        .arg(help.action(ArgAction::HelpShort))
        .help_template(layout)
        .mut_args(|arg| {
            // A number below 0 is a wrong value, and no option.
            let takes_a_value = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes_a_value)
        })
        .before_help(examples)
        .after_help(end);
    inner.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim().to_owned();
        command.mut_subcommand(name, |inner| shaped(inner, &path))
    })
}

/// Stands for a blank of an example, where lines must not be broken: a copy of a broken one does not run.
const BLANK: &str = "\u{e000}";

fn unbroken(line: &str) -> String {
    if line.starts_with("  ") && line.contains("mcpproxy") {
        return line.replace(' ', BLANK);
    }
    line.to_owned()
}

/// Help as it is shown.
pub(super) fn as_typed(help: &str) -> String {
    help.replace(BLANK, " ")
}

/// The first example of a command, as it is typed.
pub(super) fn example(command: &Command) -> Option<String> {
    let text = as_typed(&command.get_before_help()?.to_string());
    let found = text.lines().find_map(|line| {
        let at = line.find("mcpproxy ").filter(|_| line.starts_with("  "))?;
        line.get(at..)
    });
    let line = found?.split("  ").next()?;
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Command;

    fn check(command: &mut Command, path: &str, wrong: &mut Vec<String>) {
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        if path != "mcpproxy" && about.chars().count() > 60 || about.contains(':') {
            wrong.push(format!("{path}: {about}"));
        }
        let lines = command.render_help().to_string().lines().count();
        let most = if path == "mcpproxy" { 50 } else { 35 };
        if lines > most {
            wrong.push(format!("{path}: {lines} lines"));
        }
        for inner in command
            .get_subcommands_mut()
            .filter(|one| one.get_name() != "help")
        {
            let path = format!("{path} {}", inner.get_name());
            check(inner, &path, wrong);
        }
    }

    #[test]
    fn every_help_fits_a_screen_and_says_what_it_is_for_in_a_line() {
        let (mut command, mut wrong) = (super::command(), Vec::new());
        command.build();
        check(&mut command, "mcpproxy", &mut wrong);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
