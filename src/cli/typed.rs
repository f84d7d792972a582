//! Rewords texts for people: commands in backticks get the --config and --data-dir of this command line, and paths below the home folder
//! begin with `~`.

use super::escapes::visible;
use crate::text::names::shell_word;

/// The arguments of this command line, made UTF-8 where they are not.
pub(super) fn arguments() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// A text whose commands name the configuration and the data folder as this command line does.
pub(super) fn as_typed(text: &str) -> String {
    commands_with(&places_given(&arguments()), text)
}

/// `mcpproxy setup` as it was typed, with this option for another address. [`as_typed`] adds the places.
pub(super) fn setup_at(address: &str) -> String {
    let rest = behind_setup(&arguments());
    format!("mcpproxy setup {address}{rest}")
}

/// The words behind `setup` as a shell takes them, without address and places.
fn behind_setup(arguments: &[String]) -> String {
    const LEFT_OUT: [&str; 4] = ["--listen", "--port", "--config", "--data-dir"];
    let mut rest = String::new();
    let words = arguments.iter().skip_while(|word| *word != "setup");
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        let option = word.split('=').next().unwrap_or_default();
        if !LEFT_OUT.contains(&option) {
            rest.extend([" ", &shell_word(word)]);
        } else if option.len() == word.len() {
            words.next();
        }
    }
    rest
}

/// The options by which these arguments name the configuration and the data folder, each with its value as a shell takes it.
fn places_given(arguments: &[String]) -> Vec<String> {
    let mut given = Vec::new();
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (&**argument, None),
        };
        if !["--config", "--data-dir"].contains(&option) {
            continue;
        }
        if let Some(value) = value.or_else(|| arguments.next().map(String::as_str)) {
            given.push(format!("{option} {} ", shell_word(value)));
        }
    }
    given
}

/// Adds these options to the commands of mcpproxy in a text, so that they mean the same daemon, but not to `--help`, which needs none.
/// Variables may be set before a command, and an option that a command has already stays as it is.
fn commands_with(given: &[String], text: &str) -> String {
    let mut parts = text.split('`');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push('`');
        let program = part.split(' ').find(|word| !word.contains('='));
        if program == Some("mcpproxy") && !part.ends_with("--help") {
            let is_missing = |place: &&String| {
                let option = place.split(' ').next().unwrap_or_default();
                !part.split(' ').any(|word| word == option)
            };
            let given: String = given
                .iter()
                .filter(is_missing)
                .map(String::as_str)
                .collect();
            whole += &part.replace("mcpproxy ", &format!("mcpproxy {given}"));
        } else {
            whole += part;
        }
    }
    whole
}

/// A line with control characters escaped, and with `~` for the home folder.
pub(super) fn for_people(text: &str) -> String {
    let home = std::env::home_dir().unwrap_or_default();
    below_home(&visible(text), &home.to_string_lossy())
}

/// Writes `~` for the home folder. Paths in quotes or after a `=` stay whole, because a shell does not expand `~` there.
fn below_home(text: &str, home: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(home).filter(|_| home.len() > 1) {
        shown += before;
        let is_path = shown.is_empty() || shown.ends_with([' ', '(', '`']);
        shown += if is_path && after.starts_with('/') {
            "~"
        } else {
            home
        };
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    #[test]
    fn commands_that_are_named_get_the_places_that_were_given() {
        let given = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::places_given(&arguments).concat()
        };
        assert_eq!(given("status"), "");
        assert_eq!(given("upstream add x -- y --config z"), "");
        let places = given("--config=/a/b.json call x --data-dir it's");
        assert_eq!(places, r"--config /a/b.json --data-dir 'it'\''s' ");
        for (text, shown) in [
            (
                "a `mcpproxy stop && mcpproxy ui`, `mcpproxy ui --help`",
                "a `mcpproxy --x y stop && mcpproxy --x y ui`, `mcpproxy ui --help`",
            ),
            ("`A=b mcpproxy ui`", "`A=b mcpproxy --x y ui`"),
            ("`mcpproxy --x z ui`", "`mcpproxy --x z ui`"),
            (
                "`journalctl --unit mcpproxy -n 20`",
                "`journalctl --unit mcpproxy -n 20`",
            ),
        ] {
            assert_eq!(super::commands_with(&["--x y ".to_owned()], text), shown);
        }
    }

    #[test]
    fn setup_at_another_address_keeps_what_else_was_typed() {
        let line = "setup --listen :1 --yes --config=/a --import it's --port 2";
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let kept = super::behind_setup(&arguments);
        assert_eq!(kept, r" --yes --import 'it'\''s'");
    }

    #[test]
    fn paths_below_the_home_folder_are_short_where_a_shell_finds_them() {
        let shown = super::below_home("/h/a (/h/b): '/h/c d' --x=/h/e /h2 `cat /h/f`", "/h");
        assert_eq!(shown, "~/a (~/b): '/h/c d' --x=/h/e /h2 `cat ~/f`");
    }
}
