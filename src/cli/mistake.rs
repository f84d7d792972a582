//! What is wrong with a command line, as a failure of the command: of clap's errors what they know, not their words.

use std::{env, num::ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{failure::CommandFailure, help};
use crate::{clients::UnknownClient, text::names::BadServerName};

/// The failure; nothing for help that was asked for, and for what clap alone can word.
pub(super) fn failure_of(mistake: &clap::Error) -> Option<CommandFailure> {
    // The best suggestion is the last one.
    let text = |kind| words(mistake, kind).pop();
    let argument = || text(ContextKind::InvalidArg).map(|argument| shown(&argument));
    let value = || text(ContextKind::InvalidValue);
    let command = command_line();
    let help = format!("`{command} --help`");
    let (what, step) = match mistake.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            let named = || text(ContextKind::SuggestedSubcommand);
            let meant = meant(elsewhere(&command, &name).or_else(named));
            (format!("no command {name:?}{meant}"), help)
        }
        ErrorKind::MissingSubcommand => ("no command is given".to_owned(), help),
        ErrorKind::UnknownArgument => {
            let argument = text(ContextKind::InvalidArg)?;
            let meant = meant(text(ContextKind::SuggestedArg));
            if command == "mcpproxy secret set" && !argument.starts_with('-') {
                // It does not show: it is a secret by now.
                let what = "nothing was stored: a value is never an argument";
                let step = "`mcpproxy secret set NAME`, then paste the value";
                return Some(CommandFailure::usage(what).next(step));
            }
            let what = if argument.starts_with('-') {
                format!("no option {argument}{meant}")
            } else {
                format!("{argument:?} is one word too many")
            };
            (what, help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = words(mistake, ContextKind::InvalidArg);
            let missing: Vec<String> = missing.iter().map(|one| shown(one)).collect();
            let verb = if missing.len() == 1 { "is" } else { "are" };
            (format!("{} {verb} missing", missing.join(" and ")), help)
        }
        ErrorKind::InvalidValue => {
            let known = words(mistake, ContextKind::ValidValue).join(", ");
            let value = value()?;
            if value.is_empty() {
                (format!("{} has no value", argument()?), help)
            } else {
                let what = format!("{} takes no {value:?}", argument()?);
                (what, format!("write one of: {known}"))
            }
        }
        ErrorKind::ValueValidation => {
            let cause = std::error::Error::source(mistake)?;
            if cause.is::<BadServerName>() {
                return Some(CommandFailure::usage(cause.to_string()).next(help));
            }
            if cause.is::<UnknownClient>() {
                let failure = CommandFailure::usage(cause.to_string());
                return Some(failure.next("`mcpproxy connect --help` lists all"));
            }
            let why = if cause.is::<ParseIntError>() {
                "write a whole number".to_owned()
            } else {
                cause.to_string()
            };
            let argument = text(ContextKind::InvalidArg)?;
            let value = value()?;
            if argument.starts_with('-') {
                (format!("{} {value:?}: {why}", shown(&argument)), help)
            } else {
                (format!("{value:?}: {why}"), help)
            }
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).map(|argument| shown(&argument))?;
            let what = format!("{} does not go with {other}", argument()?);
            (what, "leave one of them out".to_owned())
        }
        _ => return None,
    };
    Some(CommandFailure::usage(what).next(step))
}

/// Words of other programs, with what does that here.
const OTHER_WORDS: [(&str, &str); 3] = [
    ("disconnect", "connect CLIENT --undo"),
    ("servers", "upstream list"),
    ("clients", "connect"),
];

/// What does here what another program calls so, or the first group that has a command of this name.
fn elsewhere(command: &str, name: &str) -> Option<String> {
    let root = help::command();
    if command != root.get_name() {
        return None;
    }
    let word = OTHER_WORDS.iter().find(|(word, _)| *word == name);
    if let Some((_, ours)) = word {
        return Some((*ours).to_owned());
    }
    let inner = |group: &clap::Command| {
        let inner = group.find_subcommand(name)?.get_name().to_owned();
        Some(format!("{} {inner}", group.get_name()))
    };
    root.get_subcommands().find_map(inner)
}

/// The command of this process, without its arguments.
fn command_line() -> String {
    let mut command = help::command();
    let mut line = command.get_name().to_owned();
    for argument in env::args().skip(1) {
        if let Some(inner) = command.find_subcommand(&argument).cloned() {
            line.extend([" ", inner.get_name()]);
            command = inner;
        }
    }
    line
}

fn words(mistake: &clap::Error, kind: ContextKind) -> Vec<String> {
    match mistake.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn meant(suggestion: Option<String>) -> String {
    suggestion.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// `--output` of `--output <table|json>`, `NAME` of `[NAME]...`, and `--url <URL> or COMMAND` of `<--url <URL>|COMMAND>`.
fn shown(argument: &str) -> String {
    if argument.starts_with('-') {
        return argument.split(' ').next().unwrap_or(argument).to_owned();
    }
    let one = argument.trim_end_matches("...");
    let bare = one.strip_prefix(['<', '[']).unwrap_or(one);
    let bare = bare.strip_suffix(['>', ']']).unwrap_or(bare);
    bare.replace('|', " or ")
}

#[cfg(test)]
mod tests {
    use super::{failure_of, help};

    #[test]
    fn mistakes_are_said_with_a_step_and_help_is_none() {
        for (line, expected) in [
            ("nonsense", "no command \"nonsense\""),
            ("statu", "no command \"statu\"; did you mean `status`?"),
            ("connect --yess", "no option --yess"),
            ("connect nosuch", "no client \"nosuch\" is known"),
            (
                "disconnect",
                "no command \"disconnect\"; did you mean `connect CLIENT --undo`?",
            ),
            ("add", "no command \"add\"; did you mean `upstream add`?"),
            ("list", "no command \"list\"; did you mean `upstream list`?"),
            ("upstream add x uvx", "\"uvx\" is one word too many"),
            ("access check ada", "SERVER:TOOL is missing"),
            ("config undo abc", "\"abc\": write a whole number"),
            ("status -o yaml", "--output takes no \"yaml\""),
            (
                "upstream logs a -q -v",
                "--quiet does not go with --verbose",
            ),
        ] {
            let words = ["mcpproxy"].into_iter().chain(line.split(' '));
            let mistake = help::command().try_get_matches_from(words);
            let mistake = mistake.expect_err("it is wrong");
            let failure = failure_of(&mistake).expect("it is known");
            assert_eq!(failure.what, expected, "{line}");
            assert!(failure.next_step.is_some(), "{line}");
        }
        let help = help::command().try_get_matches_from(["mcpproxy", "--help"]);
        assert!(failure_of(&help.expect_err("help")).is_none());
    }
}
