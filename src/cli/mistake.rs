//! The failures of command lines that clap refuses: in words of mcpproxy, each with a step.

use std::{env, error::Error, fmt, num::ParseIntError, ops::RangeInclusive, str::FromStr};

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{CommandFailure, help};
use crate::{
    clients::UnknownClient,
    text::names::{self, BadServerName, ServerName, shell_word},
};

/// The failure for an error of clap; nothing for help, and for errors that only clap can word.
pub(super) fn failure_of(error: &clap::Error) -> Option<CommandFailure> {
    let (line, command) = command_line();
    let mistake = Mistake {
        error,
        line,
        command,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => mistake.unknown_command(),
        ErrorKind::MissingSubcommand => {
            let step = format!("{} lists the commands", mistake.help());
            Some(failure("no command is given", step))
        }
        ErrorKind::UnknownArgument => mistake.unexpected_argument(),
        ErrorKind::MissingRequiredArgument => Some(mistake.missing_arguments()),
        ErrorKind::InvalidValue => mistake.unknown_value(),
        ErrorKind::ValueValidation => mistake.refused_value(),
        ErrorKind::ArgumentConflict => mistake.conflict(),
        ErrorKind::InvalidUtf8 => Some(failure("an argument is not UTF-8 text", mistake.example())),
        _ => None,
    }
}

fn failure(what: impl Into<String>, step: impl Into<String>) -> CommandFailure {
    CommandFailure::usage(what).next(step)
}

/// A command line that clap refuses.
struct Mistake<'a> {
    error: &'a clap::Error,
    /// The words of the command, such as `mcpproxy upstream add`.
    line: String,
    command: Command,
}

impl Mistake<'_> {
    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// The last of the texts: of suggestions, it is the best.
    fn text(&self, kind: ContextKind) -> Option<String> {
        self.texts(kind).pop()
    }

    /// The argument that the mistake is about, as help names it.
    fn argument(&self) -> Option<String> {
        let argument = self.text(ContextKind::InvalidArg);
        argument.map(|argument| shown(&argument))
    }

    fn help(&self) -> String {
        format!("`{} --help`", self.line)
    }

    fn example(&self) -> String {
        match help::example(&self.command) {
            Some(example) => format!("for example: `{example}`"),
            None => self.help(),
        }
    }

    fn unknown_command(&self) -> Option<CommandFailure> {
        let line = &self.line;
        let name = self.text(ContextKind::InvalidSubcommand)?;
        if line == "mcpproxy secret" && ["get", "show"].contains(&&*name) {
            let what = format!("no command {name:?}: a stored value is never shown");
            return Some(failure(what, "`mcpproxy secret list` lists the names"));
        }
        let inner = self.command.get_subcommands().map(Command::get_name);
        let begin = |word: &str| word.get(..1).map(str::to_ascii_lowercase);
        let likely = inner.filter(|inner| begin(inner) == begin(&name));
        let meant = command_elsewhere(line, &name)
            .or_else(|| Some(format!("{line} {}", names::closest(&name, likely)?)));
        let is_server = line == "mcpproxy tools" && ServerName::parse(&name).is_ok();
        let meant = meant.or_else(|| is_server.then(|| format!("{line} list {name}")));
        let step = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("{} lists the commands", self.help()),
        };
        Some(failure(format!("no command {name:?}"), step))
    }

    fn unexpected_argument(&self) -> Option<CommandFailure> {
        let argument = self.text(ContextKind::InvalidArg)?;
        if argument.starts_with('-') {
            let step = self.step_for_option(&argument);
            return Some(failure(format!("no option {argument}"), step));
        }
        if self.line == "mcpproxy secret set" {
            // The argument is the secret, so it is not repeated.
            let name = env::args().skip_while(|word| word != "set").nth(1);
            let name = name.unwrap_or_else(|| "NAME".to_owned());
            let step = format!("`mcpproxy secret set {name}`, then paste the value");
            let failure = CommandFailure::usage("others can read a value on a command line");
            return Some(failure.undone("nothing was stored").next(step));
        }
        let step = self.step_for_word(&argument);
        let step = step.unwrap_or_else(|| self.example());
        Some(failure(format!("unexpected argument {argument:?}"), step))
    }

    /// The step for an option that the command does not have.
    fn step_for_option(&self, option: &str) -> String {
        let starts = ["mcpproxy start", "mcpproxy restart"].contains(&&*self.line);
        if starts && ["--port", "--listen"].contains(&option) {
            return "`mcpproxy setup --port PORT` sets the port".to_owned();
        }
        if self.line == "mcpproxy upstream add" && !option.starts_with("--") {
            return format!("write `--` before the server's command: {AS_COMMAND}");
        }
        let mut listed = self.command.get_opts().filter(|opt| !opt.is_hide_set());
        let lists_options = self.command.get_name() == "mcpproxy" || listed.next().is_some();
        match self.text(ContextKind::SuggestedArg) {
            Some(meant) if meant != "--help" => format!("did you mean `{meant}`?"),
            _ if lists_options => format!("{} lists the options", self.help()),
            _ => self.example(),
        }
    }

    /// The step for a word too many that belongs behind an option or to another command.
    fn step_for_word(&self, word: &str) -> Option<String> {
        let line = &*self.line;
        if ["mcpproxy logs", "mcpproxy restart"].contains(&line) {
            let line = line.replace(' ', " upstream ");
            return Some(format!("did you mean `{line} {word}`?"));
        }
        if line == "mcpproxy upstream add" && (word == "mcp" || word.contains(' ')) {
            return Some(AS_JSON.to_owned());
        }
        if line == "mcpproxy upstream add" && !word.contains("://") {
            return Some(format!("write `--` before {word}: {AS_COMMAND}"));
        }
        let (thing, option) = match line {
            "mcpproxy config check" => ("file", "--config"),
            "mcpproxy upstream add" => ("URL", "--url"),
            _ => return None,
        };
        Some(format!("name that {thing} with `{option} {word}` instead"))
    }

    fn missing_arguments(&self) -> CommandFailure {
        let missing = self.texts(ContextKind::InvalidArg);
        let mut missing: Vec<String> = missing.iter().map(|one| shown(one)).collect();
        // A choice is read more easily at the end.
        missing.sort_by_key(|one| one.contains(" or "));
        let verb = self.line.strip_prefix("mcpproxy ").unwrap_or(&self.line);
        let is_choice = missing.last().is_some_and(|last| last.contains(" or "));
        let and = if is_choice { ", and " } else { " and " };
        let what = format!("`{verb}` needs {}", missing.join(and));
        failure(what, self.example())
    }

    /// An option without a value, an empty argument, or a value that is not among those of its option.
    fn unknown_value(&self) -> Option<CommandFailure> {
        let (argument, value) = (self.argument()?, self.text(ContextKind::InvalidValue)?);
        if value.is_empty() && !argument.starts_with('-') {
            return Some(failure(EMPTY, self.example()));
        }
        if value.is_empty() {
            let option = self.text(ContextKind::InvalidArg)?.replace(['<', '>'], "");
            let what = format!("{argument} has no value");
            return Some(failure(what, format!("write `{option}`")));
        }
        let known = self.texts(ContextKind::ValidValue).join(", ");
        let what = format!("{argument} cannot be {value:?}");
        Some(failure(what, format!("write one of: {known}")))
    }

    /// A value that a reader of this program refuses. What the reader says of it is the step.
    fn refused_value(&self) -> Option<CommandFailure> {
        let cause = self.error.source()?;
        let (argument, value) = (self.argument()?, self.text(ContextKind::InvalidValue)?);
        if cause.is::<BadServerName>() {
            let is_added = self.line == "mcpproxy upstream add";
            let step = if is_added && value.starts_with("http") && value.contains("://") {
                format!("`mcpproxy upstream add --json {}`", shell_word(&value))
            } else if is_added && (value.contains("://") || value.contains(" -")) {
                AS_JSON.to_owned()
            } else {
                BadServerName::STEP.to_owned()
            };
            return Some(failure(cause.to_string(), step));
        }
        if cause.is::<UnknownClient>() {
            let step = format!("{} lists the clients", self.help());
            return Some(failure(cause.to_string(), step));
        }
        if argument == "--token" {
            // The value is a secret, so it is not repeated.
            let what = match value.trim() {
                "" => "the value of --token is empty",
                _ => "the value of --token cannot be used",
            };
            return Some(failure(what, cause.to_string()));
        }
        let step = if cause.is::<ParseIntError>() {
            WHOLE_NUMBER.to_owned()
        } else {
            cause.to_string()
        };
        let what = if argument.contains('=') {
            format!("{value:?} is not {argument}")
        } else {
            format!("{argument} cannot be {value:?}")
        };
        Some(failure(what, step))
    }

    fn conflict(&self) -> Option<CommandFailure> {
        let (argument, other) = (self.argument()?, self.text(ContextKind::PriorArg)?);
        let other = shown(&other);
        let what = if argument == other {
            format!("{argument} is given twice")
        } else {
            format!("{argument} cannot be used with {other}")
        };
        Some(failure(what, "leave one of them out"))
    }
}

/// The step for a command, a link or a URL in place of a server's name.
pub(super) const AS_JSON: &str =
    "`mcpproxy upstream add --json 'TEXT'` reads a command, a link or a URL";

const AS_COMMAND: &str = "`mcpproxy upstream add NAME -- COMMAND`";

const EMPTY: &str = "an argument is empty";

const WHOLE_NUMBER: &str = "write a whole number";

/// A reader of numbers in this range. Its error is the step.
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

/// Commands of other programs, with the command of this one that does the same.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("config show", "config get"),
    ("config unset", "config set KEY null"),
    ("upstream delete", "upstream remove"),
    ("upstream edit", "upstream patch NAME KEY=VALUE"),
    ("upstream get", "upstream show"),
    ("upstream info", "upstream show"),
    ("upstream review", "upstream inspect"),
    ("upstream start", "upstream enable"),
    ("upstream stop", "upstream disable"),
    ("disconnect", "connect CLIENT --undo"),
    ("servers", "upstream list"),
    ("clients", "connect"),
];

/// The whole command that does what another program calls so, or the first command of this name in a group.
fn command_elsewhere(line: &str, name: &str) -> Option<String> {
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

/// The failure of a command with an empty argument, if it has one.
pub(super) fn empty_name() -> Option<CommandFailure> {
    let mut words = env::args_os().take_while(|word| word != "--");
    if !words.any(|word| word.is_empty()) {
        return None;
    }
    let (_, command) = command_line();
    let example = help::example(&command).unwrap_or_default();
    Some(failure(EMPTY, format!("for example: `{example}`")))
}

/// The words of the command of this process without its arguments, and the command.
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

/// `--output` of `--output <table|json>`, `NAME` of `[NAME]...`, and `COMMAND or --url URL` of `<COMMAND|--url <URL>>`.
fn shown(argument: &str) -> String {
    if argument.starts_with('-') {
        return argument.split(' ').next().unwrap_or(argument).to_owned();
    }
    let one = argument.trim_end_matches("...");
    let bare = one.strip_prefix(['<', '[']).unwrap_or(one);
    let bare = bare.strip_suffix(['>', ']']).unwrap_or(bare);
    // What follows in brackets may be left out.
    let needed = bare.split(" [").next().unwrap_or(bare);
    let choices = match needed.rsplit_once('|') {
        Some((first, last)) => format!("{} or {last}", first.replace('|', ", ")),
        None => needed.to_owned(),
    };
    choices.replace(['<', '>'], "")
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
                "`mcpproxy` needs COMMAND, --url URL or --json JSON",
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
                "token add ada --expires 0",
                "--expires cannot be \"0\"",
                "such as 30d",
            ),
            (
                "upstream patch a b",
                "\"b\" is not KEY=VALUE",
                "write b=VALUE",
            ),
            (
                "upstream patch a enabled:false",
                "\"enabled:false\" is not KEY=VALUE",
                "write a key, `=` and a value, such as enabled=false",
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
            ("code ", "an argument is empty", ""),
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
