//! What is wrong with a command line, as a failure of the command: of clap's errors what they know, not their words.

use std::{env, fmt, num::ParseIntError, ops::RangeInclusive, str::FromStr};

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{CommandFailure, help};
use crate::{clients::UnknownClient, text::names::BadServerName};

/// The failure; nothing for help that was asked for, and for what clap alone can word.
pub(super) fn failure_of(mistake: &clap::Error) -> Option<CommandFailure> {
    // The best suggestion is the last one.
    let text = |kind| words(mistake, kind).pop();
    let argument = || text(ContextKind::InvalidArg).map(|argument| shown(&argument));
    let value = || text(ContextKind::InvalidValue);
    let (line, command) = command_line();
    let help = format!("`{line} --help`");
    let example = || match help::example(&command) {
        Some(example) => format!("for example: `{example}`"),
        None => help.clone(),
    };
    let (what, step) = match mistake.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            if line == "mcpproxy secret" && ["get", "show"].contains(&&*name) {
                let what = format!("no command {name:?}: a stored value is never shown");
                let step = "`mcpproxy secret list` lists the names";
                return Some(CommandFailure::usage(what).next(step));
            }
            let named = || {
                let meant = text(ContextKind::SuggestedSubcommand)?;
                Some(format!("{line} {meant}"))
            };
            let small = name.to_lowercase();
            let meant = command.find_subcommand(&small).is_some();
            let meant = meant.then(|| format!("{line} {small}"));
            let step = match meant.or_else(|| elsewhere(&line, &name)).or_else(named) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("{help} lists the commands"),
            };
            (format!("no command {name:?}"), step)
        }
        ErrorKind::MissingSubcommand => (
            "no command is given".to_owned(),
            format!("{help} lists the commands"),
        ),
        ErrorKind::UnknownArgument => {
            let argument = text(ContextKind::InvalidArg)?;
            if line == "mcpproxy secret set" && !argument.starts_with('-') {
                // It does not show: it is a secret by now.
                let failure = CommandFailure::usage("others can read a value on a command line");
                let name = env::args().skip_while(|word| word != "set").nth(1);
                let name = name.unwrap_or_else(|| "NAME".to_owned());
                let step = format!("`mcpproxy secret set {name}`, then paste the value");
                return Some(failure.undone("nothing was stored").next(step));
            }
            if argument.starts_with('-') {
                let meant = text(ContextKind::SuggestedArg).filter(|meant| meant != "--help");
                let step = match meant {
                    _ if is_address_of_start(&line, &argument) => {
                        "`mcpproxy setup --port PORT` sets it".to_owned()
                    }
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if lacks_options(&command) => example(),
                    None => format!("{help} lists the options"),
                };
                (format!("no option {argument}"), step)
            } else {
                let step = option_for(&line, &argument).unwrap_or_else(example);
                (format!("unexpected argument {argument:?}"), step)
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = words(mistake, ContextKind::InvalidArg);
            let mut missing: Vec<String> = missing.iter().map(|one| shown(one)).collect();
            // A choice is read more easily at the end.
            missing.sort_by_key(|one| one.contains(" or "));
            let verb = line.strip_prefix("mcpproxy ").unwrap_or(&line);
            let is_choice = missing.last().is_some_and(|last| last.contains(" or "));
            let and = if is_choice { ", and " } else { " and " };
            (format!("`{verb}` needs {}", missing.join(and)), example())
        }
        ErrorKind::InvalidValue => {
            let known = words(mistake, ContextKind::ValidValue).join(", ");
            let value = value()?;
            if value.is_empty() {
                let option = text(ContextKind::InvalidArg)?.replace(['<', '>'], "");
                (
                    format!("{} has no value", argument()?),
                    format!("write `{option}`"),
                )
            } else {
                let what = format!("{} cannot be {value:?}", argument()?);
                (what, format!("write one of: {known}"))
            }
        }
        ErrorKind::ValueValidation => {
            let cause = std::error::Error::source(mistake)?;
            refused_value(cause, &argument()?, &value()?, &help)
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).map(|argument| shown(&argument))?;
            let what = match argument()? {
                argument if argument == other => format!("{argument} is given twice"),
                argument => format!("{argument} cannot be used with {other}"),
            };
            (what, "leave one of them out".to_owned())
        }
        ErrorKind::InvalidUtf8 => ("an argument is not UTF-8 text".to_owned(), example()),
        _ => return None,
    };
    Some(CommandFailure::usage(what).next(step))
}

/// Whether somebody gives the daemon's address to a command that takes it from the configuration.
fn is_address_of_start(line: &str, option: &str) -> bool {
    let starts = ["mcpproxy start", "mcpproxy restart"].contains(&line);
    starts && ["--port", "--listen"].contains(&option)
}

/// Which option of a command takes the word that is too many.
fn option_for(line: &str, word: &str) -> Option<String> {
    if ["mcpproxy logs", "mcpproxy restart"].contains(&line) {
        let line = line.replace(' ', " upstream ");
        return Some(format!("did you mean `{line} {word}`?"));
    }
    if line == "mcpproxy upstream add" && !word.contains("://") {
        let step = format!("write `--` before {word}: `mcpproxy upstream add NAME -- COMMAND`");
        return Some(step);
    }
    let (thing, option) = match line {
        "mcpproxy config check" => ("file", "--config"),
        "mcpproxy upstream add" => ("URL", "--url"),
        _ => return None,
    };
    Some(format!("name that {thing} with `{option} {word}` instead"))
}

/// Whether a command has no options of its own, so that its help lists none.
fn lacks_options(command: &Command) -> bool {
    command.get_name() != "mcpproxy" && command.get_opts().all(clap::Arg::is_hide_set)
}

/// What is wrong with a value, and what to do; what our own readers say of it is a step.
fn refused_value(
    cause: &(dyn std::error::Error + 'static),
    argument: &str,
    value: &str,
    help: &str,
) -> (String, String) {
    if cause.is::<BadServerName>() {
        return (cause.to_string(), BadServerName::STEP.to_owned());
    }
    if cause.is::<UnknownClient>() {
        return (cause.to_string(), format!("{help} lists the clients"));
    }
    if argument == "--token" {
        // Its value does not show.
        let is_empty = value.trim().is_empty();
        let what = if is_empty {
            "is empty"
        } else {
            "cannot be used"
        };
        return (format!("the value of --token {what}"), cause.to_string());
    }
    let step = if cause.is::<ParseIntError>() {
        WHOLE_NUMBER.to_owned()
    } else {
        cause.to_string()
    };
    (format!("{argument} cannot be {value:?}"), step)
}

const WHOLE_NUMBER: &str = "write a whole number";

/// Reads a number of this range; its failures are steps.
pub(super) fn whole_number<N>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + fmt::Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        number.ok_or_else(|| format!("{WHOLE_NUMBER} from {least} to {most}"))
    }
}

/// Words of other programs, with what does that here.
const OTHER_WORDS: [(&str, &str); 6] = [
    ("config show", "config get"),
    ("config unset", "config set KEY null"),
    ("upstream edit", "upstream patch NAME KEY=VALUE"),
    ("disconnect", "connect CLIENT --undo"),
    ("servers", "upstream list"),
    ("clients", "connect"),
];

/// The whole command that does what another program calls so, or the first group's that has a command of this name.
fn elsewhere(line: &str, name: &str) -> Option<String> {
    let root = help::command();
    let program = root.get_name();
    let typed = format!("{line} {name}");
    let typed = typed.strip_prefix(&format!("{program} "))?;
    if let Some((_, ours)) = OTHER_WORDS.iter().find(|(word, _)| *word == typed) {
        return Some(format!("{program} {ours}"));
    }
    if line != program {
        return None;
    }
    let inner = |group: &Command| {
        let inner = group.find_subcommand(name)?.get_name().to_owned();
        Some(format!("{line} {} {inner}", group.get_name()))
    };
    root.get_subcommands().find_map(inner)
}

/// The failure of a command that got an empty word in place of a name.
pub(super) fn empty_name() -> Option<CommandFailure> {
    let mut words = env::args_os().take_while(|word| word != "--");
    if !words.any(|word| word.is_empty()) {
        return None;
    }
    let (_, command) = command_line();
    let example = help::example(&command).unwrap_or_default();
    Some(CommandFailure::usage("an argument is empty").next(format!("for example: `{example}`")))
}

/// The command of this process, without its arguments.
fn command_line() -> (String, Command) {
    let mut command = help::command();
    let mut line = command.get_name().to_owned();
    for argument in env::args_os().skip(1) {
        if let Some(inner) = command.find_subcommand(argument).cloned() {
            line.extend([" ", inner.get_name()]);
            command = inner;
        }
    }
    (line, command)
}

fn words(mistake: &clap::Error, kind: ContextKind) -> Vec<String> {
    match mistake.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// `--output` of `--output <table|json>`, `NAME` of `[NAME]...`, and `--url URL or COMMAND` of `<--url <URL>|COMMAND>`.
fn shown(argument: &str) -> String {
    if argument.starts_with('-') {
        return argument.split(' ').next().unwrap_or(argument).to_owned();
    }
    let one = argument.trim_end_matches("...");
    let bare = one.strip_prefix(['<', '[']).unwrap_or(one);
    let bare = bare.strip_suffix(['>', ']']).unwrap_or(bare);
    // What follows in brackets may be left out.
    let needed = bare.split(" [").next().unwrap_or(bare);
    needed.replace('|', " or ").replace(['<', '>'], "")
}

#[cfg(test)]
mod tests {
    use super::{BadServerName, failure_of, help};

    #[test]
    fn mistakes_are_said_with_a_step_and_help_is_none() {
        for (line, what, step) in [
            (
                "nonsense",
                "no command \"nonsense\"",
                "`mcpproxy --help` lists the commands",
            ),
            (
                "statu",
                "no command \"statu\"",
                "did you mean `mcpproxy status`?",
            ),
            (
                "connect --yess",
                "no option --yess",
                "`mcpproxy --help` lists the options",
            ),
            ("connect nosuch", "no client \"nosuch\" is known", ""),
            (
                "disconnect",
                "no command \"disconnect\"",
                "did you mean `mcpproxy connect CLIENT --undo`?",
            ),
            (
                "add",
                "no command \"add\"",
                "did you mean `mcpproxy upstream add`?",
            ),
            (
                "list",
                "no command \"list\"",
                "did you mean `mcpproxy upstream list`?",
            ),
            ("upstream add x uvx", "unexpected argument \"uvx\"", ""),
            (
                "upstream add x",
                "`mcpproxy` needs --url URL or COMMAND or --json JSON",
                "",
            ),
            ("call", "`mcpproxy` needs SERVER:TOOL", ""),
            ("upstream show", "`mcpproxy` needs NAME", ""),
            (
                "upstream add x.y/z -- a",
                "\"x.y/z\" cannot be a server name: it contains '/'",
                BadServerName::STEP,
            ),
            (
                "config undo abc",
                "NUMBER cannot be \"abc\"",
                "write a whole number",
            ),
            (
                "logs -n 0",
                "--lines cannot be \"0\"",
                "write a whole number from 1 to 500",
            ),
            (
                "upstream patch a b",
                "KEY=VALUE cannot be \"b\"",
                "write b=VALUE",
            ),
            (
                "status -o yaml",
                "--output cannot be \"yaml\"",
                "write one of: table, json",
            ),
            (
                "serve --listen",
                "--listen has no value",
                "write `--listen ADDR`",
            ),
            (
                "upstream logs a -q -v",
                "--quiet cannot be used with --verbose",
                "leave one of them out",
            ),
        ] {
            let words = ["mcpproxy"].into_iter().chain(line.split(' '));
            let mistake = help::command().try_get_matches_from(words);
            let mistake = mistake.expect_err("it is wrong");
            let failure = failure_of(&mistake).expect("it is known");
            assert_eq!(failure.what, what, "{line}");
            let found = failure.next_step.unwrap_or_default();
            assert!(found.contains(step) && !found.is_empty(), "{line}: {found}");
        }
        let help = help::command().try_get_matches_from(["mcpproxy", "--help"]);
        assert!(failure_of(&help.expect_err("help")).is_none());
    }
}
