//! The words of a command line, as a shell parts them, and the pairs among them. Pure: nothing is run.

use serde_json::Value;

/// The words of a line as a shell would part them, without whatever else a shell does. Nothing where a quote has no end.
pub(super) fn words_of(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
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

/// Whether it gives a variable its value: `KEY=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && !name.starts_with(char::is_numeric) && name.chars().all(is_name)
    })
}

/// A key and its value, with the first of these letters between them.
pub(super) fn pair(word: &str, between: &[char]) -> Option<(String, Value)> {
    let (key, value) = word.split_once(between)?;
    let key = key.trim();
    (!key.is_empty()).then(|| (key.to_owned(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::{is_assignment, words_of};

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
    fn a_variable_is_named_as_in_a_shell() {
        for (word, expected) in [
            ("_X1=a=b", true),
            ("1X=a", false),
            ("=a", false),
            ("X", false),
        ] {
            assert_eq!(is_assignment(word), expected, "{word}");
        }
    }
}
