//! The layout of help: a summary, usage, examples, the arguments, and one line on the options of every command.

use std::{env, ffi::OsString};

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::Arguments;

const LAYOUT: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

const ROOT_LAYOUT: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}";

/// For a command without arguments.
const BARE_LAYOUT: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{after-help}";

const COMMON: &str = "Also: --config, --data-dir, -o json, -q, -v (see `mcpproxy --help`)";

const ROOT: &str = include_str!("options.txt").trim_ascii_end();

/// The commands by the purpose for which people look for them.
const GROUPS: &str = "\
Set up: setup import connect service completions uninstall
Run: start stop restart serve stdio status logs doctor version
Servers: upstream secret config
Agents: tools call code activity access token ui";

/// Examples of commands: a line `# COMMAND`, its examples, and a blank line.
const EXAMPLES: &str = include_str!("examples.txt");

/// The whole command line, laid out.
pub(super) fn command() -> Command {
    let command = lay_out(Arguments::command(), "");
    let examples = unbroken(&examples_of("mcpproxy").unwrap_or_default());
    let mut groups = String::new();
    for (title, names) in GROUPS.lines().filter_map(|line| line.split_once(": ")) {
        groups.extend([title, ":\n"]);
        for name in names.split(' ') {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            groups.extend([&*format!("  {name:<11} "), &about, "\n"]);
        }
    }
    command
        .help_template(ROOT_LAYOUT)
        .before_help(format!("{examples}\n\n{groups}\n{ROOT}"))
}

/// The place of the command `help` among the words of a command line.
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

/// The place for `list` among the words of a command line that leaves it out: behind a group of commands that has it and is followed by
/// nothing but options.
pub(super) fn place_of_list(words: &[OsString]) -> Option<usize> {
    let root = Arguments::command();
    let group = |word: &OsString| root.find_subcommand(word);
    let at = 1 + words
        .iter()
        .skip(1)
        .position(|word| group(word).is_some())?;
    group(words.get(at)?)?.find_subcommand("list")?;
    let mut rest = words.iter().skip(at + 1).map(|word| word.to_string_lossy());
    let is_option = |word: &str| word.starts_with('-') && !["-h", "--help"].contains(&word);
    rest.next()
        .is_none_or(|word| is_option(&word))
        .then_some(at + 1)
}

/// Lays out the help of a command and of those inside it. `path` is its words without `mcpproxy`.
fn lay_out(command: Command, path: &str) -> Command {
    let own = command.get_after_long_help().map(ToString::to_string);
    let examples = match (examples_of(path), own) {
        (Some(examples), Some(own)) => format!("{examples}\n{own}"),
        (Some(text), None) | (None, Some(text)) => text,
        // For commands whose one argument is a server's name.
        (None, None) => format!("Examples:\n  mcpproxy {path} github"),
    };
    // The long description stands above the examples, so that `-h` and `--help` are the same.
    let about = command.get_long_about().map(ToString::to_string);
    let details = about.as_deref().and_then(|about| about.split_once("\n\n"));
    let examples = match details {
        Some((_, details)) => format!("{details}\n\n{examples}"),
        None => examples,
    };
    let examples = unbroken(&examples);
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
        command.mut_subcommand(name, |inner| lay_out(inner, &path))
    })
}

/// Stands for a blank of an example while clap wraps lines: a command on two lines could not be copied and run.
const BLANK: &str = "\u{e000}";

fn unbroken(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if line.starts_with("  ") && line.contains("mcpproxy") {
            return line.replace(' ', BLANK);
        }
        line.to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The examples in the section of a command.
fn examples_of(path: &str) -> Option<String> {
    let mut sections = EXAMPLES.split("\n\n");
    let heading = format!("# {path}\n");
    let lines = sections.find_map(|section| section.strip_prefix(&heading))?;
    let lines = lines.trim_end().replace('\n', "\n  ");
    Some(format!("Examples:\n  {lines}"))
}

/// Help with blanks in place of [`BLANK`].
pub(super) fn with_blanks(help: &str) -> String {
    help.replace(BLANK, " ")
}

/// The first example of a command with an option that was typed; else the first.
pub(super) fn example(command: &Command) -> Option<String> {
    let text = with_blanks(&command.get_before_help()?.to_string());
    let examples = text.lines().filter_map(|line| {
        let at = line.find("mcpproxy ").filter(|_| line.starts_with("  "))?;
        line.get(at..)?.split("  ").next()
    });
    let examples: Vec<&str> = examples.collect();
    let is_typed_option = |word: &str| {
        word.len() > 2 && word.starts_with("--") && env::args_os().any(|typed| typed == *word)
    };
    let fits = |line: &&&str| line.split(' ').any(is_typed_option);
    let found = examples.iter().find(fits).or(examples.first())?;
    Some((*found).to_owned())
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
