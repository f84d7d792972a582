//! The words of a command line, as a shell parts them. Pure: nothing is run.

use super::{fault::FileFault, our_text::is_variable};

/// Where a letter stands.
#[derive(Clone, Copy)]
struct LetterPlace {
    is_first: bool,
    is_quoted: bool,
}

/// The words of a line as a shell would part them, without whatever else a shell does. Nothing where a quote has no end.
pub(super) fn words_of(text: &str) -> Option<Vec<String>> {
    parted(text, |_, _| None)
}

/// The words of a line as a shell would have them, with references of ours in place of its variables; and the first part of it that only a
/// shell can carry out, as a fault.
pub(super) fn words_in_shell(text: &str) -> Option<(Vec<String>, Option<FileFault>)> {
    let mut fault = None;
    let without = "paste the command without it";
    let words = parted(text, |rest, place| {
        if let Some(found) = variable(rest).or_else(|| home(rest, place)) {
            return Some(found);
        }
        let (what, step, length) = if let Some((open, inside, close)) = substitution(rest) {
            let length = open.len() + inside.len() + close.len();
            if inside.trim() == "pwd" {
                return Some(("${PWD}".to_owned(), length));
            }
            let step = "replace it with the output of that command";
            (format!("{open}…{close}"), step, length)
        } else if let Some(sign) = redirection(text, rest, place) {
            (sign.to_owned(), without, sign.len())
        } else {
            let found = operator(rest, place)?;
            let is_last = rest.trim_end() == found;
            let step = is_last.then_some(without);
            let step = step.unwrap_or("paste one command");
            (found.to_owned(), step, found.len())
        };
        let problem = format!("only a shell understands `{what}`");
        fault.get_or_insert_with(|| FileFault::with_step(problem, step));
        Some((String::new(), length))
    })?;
    Some((words, fault))
}

/// What stands in place of the beginning of this text, and how long that is.
type InPlace = (String, usize);

/// `$NAME`, as `${NAME}`.
fn variable(rest: &str) -> Option<InPlace> {
    let rest = rest.strip_prefix('$')?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = rest.get(..end.unwrap_or(rest.len()))?;
    is_variable(name).then(|| (format!("${{{name}}}"), 1 + name.len()))
}

/// `~` before a path.
fn home(rest: &str, place: LetterPlace) -> Option<InPlace> {
    let after = rest.strip_prefix('~')?;
    let is_home = after.is_empty() || after.starts_with(|c: char| c == '/' || c.is_whitespace());
    (place.is_first && is_home).then(|| ("${HOME}".to_owned(), 1))
}

/// A command whose output a shell would put in its place, in one line.
fn substitution(rest: &str) -> Option<(&'static str, &str, &'static str)> {
    [("$(", ")"), ("`", "`")]
        .into_iter()
        .find_map(|(open, close)| {
            let (inside, _) = rest.strip_prefix(open)?.split_once(close)?;
            (!inside.contains('\n')).then_some((open, inside, close))
        })
}

/// What leads to or from a file. `<NAME>` is a placeholder, and in `a>=1` a sign compares.
fn redirection<'a>(text: &str, rest: &'a str, place: LetterPlace) -> Option<&'a str> {
    let at = rest.find(|c: char| !c.is_ascii_digit() || !place.is_first)?;
    let (sign, after) = (rest.get(..=at)?, rest.get(at + 1..)?);
    let before = text.get(..text.len() - rest.len())?;
    let is_placeholder = || before.rfind('<') > before.rfind('>');
    let compares = before.ends_with('=') || after.starts_with('=');
    let is_input = |c: char| c == '<' || c.is_whitespace();
    let is_one = sign.ends_with('>') && !compares && !is_placeholder()
        || sign.ends_with('<') && (after.starts_with(is_input) || !after.contains('>'));
    (is_one && !place.is_quoted).then_some(sign)
}

/// What joins commands. In an address a `&` parts its values, and a `|` may be part of a placeholder.
fn operator(rest: &str, place: LetterPlace) -> Option<&'static str> {
    let operators = ["&&", "||", ";", "|", "&"];
    let found = operators.into_iter().find(|one| rest.starts_with(one))?;
    let after = rest.get(found.len()..)?;
    let is_apart = place.is_first || after.is_empty() || after.starts_with(char::is_whitespace);
    (!place.is_quoted && (is_apart || found.len() > 1)).then_some(found)
}

/// `replaced` says what stands in place of the beginning of a text outside of single quotes.
fn parted(
    text: &str,
    mut replaced: impl FnMut(&str, LetterPlace) -> Option<InPlace>,
) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    loop {
        let rest = letters.as_str();
        let place = LetterPlace {
            is_first: word.is_none(),
            is_quoted: quote.is_some(),
        };
        if quote != Some('\'')
            && let Some((text, length)) = replaced(rest, place)
        {
            word.get_or_insert_default().push_str(&text);
            letters = rest.get(length..)?.chars();
            continue;
        }
        let Some(letter) = letters.next() else {
            break;
        };
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some('"'), '\\') => {
                let escaped = letters.next()?;
                let word = word.get_or_insert_default();
                // Before anything else it means itself: `"C:\Users"`.
                if !matches!(escaped, '$' | '`' | '"' | '\\' | '\n') {
                    word.push('\\');
                }
                word.extend(Some(escaped).filter(|escaped| *escaped != '\n'));
            }
            (None, '\\') => match letters.next()? {
                // A line, and the word there, that goes on in the next.
                '\n' => (),
                escaped => word.get_or_insert_default().push(escaped),
            },
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            // A remark up to the end of its line, which may stand above the command.
            (None, '#') if word.is_none() => {
                if letters.any(|letter| letter == '\n') && !words.is_empty() {
                    return None;
                }
            }
            // Another line is another command.
            (None, '\n') => return None,
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The words of a command that has its arguments in it. A path keeps its blanks.
pub(super) fn words_of_whole(command: &str) -> Option<Vec<String>> {
    let program = command.split(' ').next()?;
    let words = words_of(command).filter(|_| !program.contains(['/', '\\']))?;
    (words.len() > 1).then_some(words)
}

/// Whether a word is one of these, which blanks part.
pub(super) fn is_among(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::{words_in_shell, words_of};

    #[test]
    fn a_line_is_parted_as_by_a_shell() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(words_of(text).expect(text), expected, "{text}");
        };
        check("a  'b c' \"d e\"f", &["a", "b c", "d ef"]);
        check("a \\\n  b", &["a", "b"]);
        check("a\\\nb", &["ab"]);
        check(r"a\ b '\n'", &["a b", r"\n"]);
        check(r#""C:\Users\me" "C:\\x""#, &[r"C:\Users\me", r"C:\x"]);
        check(r#""\"\$A\`\\""#, &[r#""$A`\"#]);
        check("\"a\\\nb\"", &["ab"]);
        check("a b#c # d 'e", &["a", "b#c"]);
        check("'' a", &["", "a"]);
        check("# a", &[]);
        check("# a\nb \\\n  c", &["b", "c"]);
        for unfinished in ["a 'b", "a \"b", "a\nb", "a # b\nc", "\\"] {
            assert_eq!(words_of(unfinished), None, "{unfinished}");
        }
    }

    #[test]
    fn what_a_shell_puts_in_place_becomes_a_reference_or_is_named() {
        for (text, expected, only) in [
            ("-e A=$A -e B=\"x $B_1-\"", "-e|A=${A}|-e|B=x ${B_1}-", None),
            (r#"'$A' \$A "\$A" $ ${A} $1"#, "$A|$A|$A|$|${A}|$1", None),
            (
                "~/a ~ \"~/a\" a~/b ~b",
                "${HOME}/a|${HOME}|~/a|a~/b|~b",
                None,
            ),
            (
                "$PWD:/w \"$(pwd)\" `pwd`/x",
                "${PWD}:/w|${PWD}|${PWD}/x",
                None,
            ),
            (
                "h?a=1&b=2 <a|b> 'a | b' a;b",
                "h?a=1&b=2|<a|b>|a | b|a;b",
                None,
            ),
            ("a =>b <c d> x>=1 \">\"", "a|=>b|<c|d>|x>=1|>", None),
            ("a>b", "ab", Some("`>`")),
            ("a b<c", "a|bc", Some("`<`")),
            ("a > b", "a||b", Some("`>`")),
            ("a 2>b", "a|b", Some("`2>`")),
            ("a <b", "a|b", Some("`<`")),
            ("a && b", "a||b", Some("`&&`")),
            ("a | b", "a||b", Some("`|`")),
            ("a; b", "a|b", Some("`;`")),
            ("a &", "a|", Some("`&`")),
            ("a \"$(cat b)\"", "a|", Some("`$(…)`")),
        ] {
            let (words, fault) = words_in_shell(text).expect(text);
            assert_eq!(words.join("|"), expected, "{text}");
            let fault = fault.map(|fault| fault.to_string());
            let is_said = |only: &str| fault.as_ref().is_some_and(|why| why.contains(only));
            assert!(only.map_or(fault.is_none(), is_said), "{text}: {fault:?}");
        }
    }
}
