//! Texts for people as this command line is typed: commands that are named have its options, and paths below the home folder are short.

use super::escapes::visible;

/// The words of this command line after the program; one that is not UTF-8 is shown as far as it is.
pub(super) fn typed() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// A text whose commands name the configuration and the data folder as this command does.
pub(super) fn as_typed(text: &str) -> String {
    commands_with(&places_given(&typed()), text)
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

/// A word of a command line as a shell takes it.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-~:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The text with these options in the commands that it names, so that they mean the same daemon; help is the same everywhere. Variables may
/// be set before a command, and one that names a place itself means that one.
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

/// A line in which nothing steers a terminal, with paths below the home folder as people write them.
pub(super) fn for_people(text: &str) -> String {
    let home = std::env::home_dir().unwrap_or_default();
    below_home(&visible(text), &home.to_string_lossy())
}

/// Of a path in quotes or after a `=` no shell would find the home folder again.
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
    fn paths_below_the_home_folder_are_short_where_a_shell_finds_them() {
        let shown = super::below_home("/h/a (/h/b): '/h/c d' --x=/h/e /h2 `cat /h/f`", "/h");
        assert_eq!(shown, "~/a (~/b): '/h/c d' --x=/h/e /h2 `cat ~/f`");
    }
}
