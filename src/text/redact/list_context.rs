//! Finds secrets by what stands beside them: elements of a list after a flag or a name, and values in a pair of name and value.

use super::{TextKind, hidden_texts, is_secret_name, redacted, rows::is_login};
use crate::text::MASK;

/// Schemes that stand before a credential in a header. The first two announce one anywhere.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];

/// Keys of an object that hold the name in a pair of name and value, and those that hold the value.
#[rustfmt::skip]
const NAMES: [&str; 12] = [
    "name", "key", "header", "variable", "var", "env", "field", "param", "parameter", "option", "flag", "k",
];
const VALUES: [&str; 7] = ["value", "values", "val", "v", "content", "default", "data"];

/// The most bytes of a name.
const LONGEST_NAME: usize = 64;

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Whether a word is a scheme that stands before a credential in a header.
pub fn is_scheme(word: &str) -> bool {
    is_one_of(word, &SCHEMES)
}

/// Whether a word says by itself that a credential follows it: `Bearer`, `Basic`.
fn announces(word: &str) -> bool {
    is_one_of(word, &SCHEMES[..2])
}

/// Whether this is a flag whose value is a secret and is the next argument.
pub fn is_secret_flag(argument: &str) -> bool {
    let flag = argument.trim_start_matches('-');
    // A flag with a mask in it had its value in the same argument.
    flag.len() < argument.len()
        && !flag.contains(|c: char| c == '=' || c.is_whitespace())
        && !flag.contains(MASK)
        && joined_name(argument).is_none()
        && is_secret_name(flag)
}

/// The arguments of a command with secrets masked. A word without a dash announces nothing: after `-e TOKEN` the next argument may be an image.
pub fn redacted_arguments(arguments: &[String]) -> Vec<String> {
    let mut follows_flag = false;
    let shown = arguments.iter().map(|argument| {
        if std::mem::replace(&mut follows_flag, is_secret_flag(argument)) {
            MASK.to_owned()
        } else {
            redacted(argument, TextKind::Word).into_owned()
        }
    });
    shown.collect()
}

/// The parts of the arguments that [`redacted_arguments`] masks.
pub fn hidden_in_arguments(arguments: &[String]) -> Vec<&str> {
    let mut follows_flag = false;
    let hidden = arguments.iter().flat_map(|argument| {
        let is_whole = std::mem::replace(&mut follows_flag, is_secret_flag(argument));
        if is_whole {
            vec![argument.as_str()]
        } else {
            hidden_texts(argument, TextKind::Word)
        }
    });
    hidden.collect()
}

/// Whether a member of this key may name the value beside it: `"name": "DB_PASSWORD"`.
pub fn is_naming_key(key: &str) -> bool {
    is_one_of(key, &NAMES)
}

/// Whether a member of this key is a value that another member names.
pub fn is_named_value(key: &str) -> bool {
    is_one_of(key, &VALUES)
}

/// Whether a text is the name of a secret and nothing else.
pub fn is_bare_name(text: &str) -> bool {
    let name = text.trim_end_matches([':', '=']);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.len() <= LONGEST_NAME && name.chars().all(is_of_name) && is_secret_name(name)
}

/// Whether an option of a command that starts containers passes a variable to the container by its name.
pub fn passes_on(command: &str, option: &str) -> bool {
    let program = command.rsplit('/').next();
    matches!(program, Some("docker" | "podman" | "nerdctl")) && matches!(option, "-e" | "--env")
}

/// The name of the variable in an argument that joins it to such an option: `-eNAME`, `--env=NAME`.
pub fn joined_name(argument: &str) -> Option<&str> {
    let name = argument
        .strip_prefix("-e")
        .or(argument.strip_prefix("--env="))?;
    name.starts_with(|c: char| c.is_ascii_uppercase())
        .then_some(name)
}

/// Remembers what stands before the next element of a list: arguments of a command, headers and their values, lines of a key.
#[derive(Debug, Default)]
pub struct ListContext {
    /// The command, if the list is its arguments.
    command: String,
    before: Before,
    in_key: bool,
}

/// What the element before announces.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Before {
    #[default]
    Nothing,
    /// The name of a variable for a container.
    VariableName,
    /// A secret.
    Secret,
    /// A user name, perhaps with a password.
    User,
}

impl ListContext {
    /// The context of the arguments of this command.
    pub fn of_command(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            ..Self::default()
        }
    }

    /// Takes the next text of the list. Whether it is a secret because of those before it.
    pub fn hide(&mut self, text: &str) -> bool {
        let is_secret = match self.before {
            Before::Secret => true,
            Before::User => self.in_key || is_login(text),
            Before::Nothing | Before::VariableName => self.in_key,
        };
        self.before = if passes_on(&self.command, "-e") && joined_name(text).is_some() {
            Before::Nothing
        } else if is_secret_flag(text)
            || is_bare_name(text) && self.before != Before::VariableName
            || announces(text)
        {
            Before::Secret
        } else if passes_on(&self.command, text) {
            Before::VariableName
        } else if matches!(text, "-u" | "-U" | "--user" | "--proxy-user") {
            Before::User
        } else {
            Before::Nothing
        };
        if text.contains("-----") {
            let upper = text.to_ascii_uppercase();
            let (begin, end) = (upper.rfind("-----BEGIN"), upper.rfind("-----END"));
            if begin != end {
                self.in_key = begin > end;
            }
        }
        is_secret
    }

    /// Takes the next element, an object or a list. Whether it is a secret in all its parts.
    pub fn hide_other(&mut self) -> bool {
        let is_secret = self.before == Before::Secret || self.in_key;
        self.before = Before::Nothing;
        is_secret
    }
}
