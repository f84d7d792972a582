//! The words and signs of a script with their places, as far as it takes to see where its loops and functions are. What a grammar would
//! have to decide (is this a division or a regular expression?) is guessed, so nothing may be done by it but naming a place. Pure.

/// Whether the engine calls a function so because it has no name, as that whose body is a script with `return`.
pub(super) fn is_nameless(name: &str) -> bool {
    name.starts_with('<')
}

/// What a piece of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A name or a keyword.
    Word,
    /// A number, a string, a part of a template, or a regular expression.
    Literal,
    /// Anything else.
    Sign,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptWord<'a> {
    pub(super) text: &'a str,
    pub(super) kind: WordKind,
    /// Line and column, as the engine counts them: from 1, and columns in bytes.
    pub(super) place: (u32, u32),
}

impl ScriptWord<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != WordKind::Literal
    }

    /// Whether it is this name, with or without quotes around it.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let bare = self.text.trim_matches(['"', '\'']);
        bare == name
    }

    pub(super) fn is_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }
}

/// Words after which a value begins, so that `/` is no division.
const BEFORE_VALUES: [&str; 14] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "else",
    "do",
    "await",
    "yield",
    "instanceof",
];

/// Signs of several characters that must not be taken for their parts.
const LONG_SIGNS: [&str; 11] = [
    "...", "===", "!==", "=>", "?.", "++", "--", "&&", "||", "??", "==",
];

pub(super) fn tokens(code: &str) -> Vec<ScriptWord<'_>> {
    let mut reader = Reader {
        code,
        at: 0,
        line: 1,
        line_start: 0,
        found: Vec::new(),
        templates: Vec::new(),
        depth: 0,
    };
    while reader.step() {}
    reader.found
}

struct Reader<'a> {
    code: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    found: Vec<ScriptWord<'a>>,
    /// How deep in braces the templates are in which the reader is.
    templates: Vec<usize>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.code.get(self.at..).unwrap_or_default()
    }

    /// Reads one thing; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '\\');
        if first.is_whitespace() {
            self.pass(first.len_utf8());
        } else if rest.starts_with("//") {
            self.pass(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.pass(rest.find("*/").map_or(rest.len(), |end| end + 2));
        } else if matches!(first, '"' | '\'') {
            self.take(WordKind::Literal, quoted(rest, first));
        } else if first == '`' {
            self.template(1);
        } else if first == '}' && self.templates.last() == Some(&self.depth) {
            self.templates.pop();
            self.take(WordKind::Sign, 1);
            self.depth = self.depth.saturating_sub(1);
            self.template(0);
        } else if first.is_ascii_digit() {
            let is_number = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let end = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
            self.take(WordKind::Literal, end);
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.take(WordKind::Word, end);
        } else if let Some(length) = regular_expression(rest).filter(|_| self.awaits_value()) {
            self.take(WordKind::Literal, length);
        } else {
            let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
            self.depth += usize::from(first == '{');
            self.depth = self.depth.saturating_sub(usize::from(first == '}'));
            self.take(
                WordKind::Sign,
                long.map_or(first.len_utf8(), |sign| sign.len()),
            );
        }
        true
    }

    /// The text of a template from here to its end, or to a value in it.
    fn template(&mut self, opening: usize) {
        let text = self.rest();
        let mut length = opening;
        let mut is_escaped = false;
        let mut holds_value = false;
        for (i, c) in text.char_indices().skip(opening) {
            length = i + c.len_utf8();
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '`' => break,
                '{' if text.get(..i).is_some_and(|before| before.ends_with('$')) => {
                    holds_value = true;
                    break;
                }
                _ => (),
            }
        }
        if holds_value {
            // The brace is a sign of its own, so that it has its partner.
            self.take(WordKind::Literal, length - 1);
            self.take(WordKind::Sign, 1);
            self.depth += 1;
            self.templates.push(self.depth);
        } else {
            self.take(WordKind::Literal, length);
        }
    }

    fn awaits_value(&self) -> bool {
        match self.found.last() {
            None => true,
            Some(last) => match last.kind {
                WordKind::Sign => !matches!(last.text, ")" | "]" | "}" | "++" | "--"),
                WordKind::Word => BEFORE_VALUES.contains(&last.text),
                WordKind::Literal => false,
            },
        }
    }

    fn take(&mut self, kind: WordKind, length: usize) {
        let text = self.rest().get(..length).unwrap_or(self.rest());
        let column = u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX);
        self.found.push(ScriptWord {
            text,
            kind,
            place: (self.line, column),
        });
        self.pass(text.len());
    }

    fn pass(&mut self, length: usize) {
        let passed = self.rest().get(..length).unwrap_or(self.rest());
        if let Some(last) = passed.rfind('\n') {
            let lines = passed.bytes().filter(|byte| *byte == b'\n').count();
            self.line = self
                .line
                .saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            self.line_start = self.at + last + 1;
        }
        self.at += passed.len().max(1);
    }
}

/// How long a string is, its quotes included. It ends with its line at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return i,
            c if c == quote => return i + 1,
            _ => (),
        }
    }
    text.len()
}

/// How long a regular expression is that begins here, if it ends in its line.
fn regular_expression(text: &str) -> Option<usize> {
    let body = text.strip_prefix('/')?;
    let (mut is_escaped, mut is_in_class) = (false, false);
    for (i, c) in body.char_indices() {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '/' if !is_in_class => {
                let flags = body.get(i + 1..).unwrap_or_default();
                let flags = flags.bytes().take_while(u8::is_ascii_alphabetic).count();
                return Some(i + 2 + flags);
            }
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[&str]) {
        let found: Vec<&str> = tokens(code).iter().map(|token| token.text).collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn texts_and_comments_hide_what_they_say() {
        check("a // for\n/* while\n*/ b", &["a", "b"]);
        check(r#"'a\'for' + "x""#, &[r"'a\'for'", "+", r#""x""#]);
        check("a / b / c", &["a", "/", "b", "/", "c"]);
        check(
            "x = /[/]for\\//g.test(y)",
            &["x", "=", "/[/]for\\//g", ".", "test", "(", "y", ")"],
        );
        check(
            "`a${b + `c${d}`}e` f",
            &[
                "`a$", "{", "b", "+", "`c$", "{", "d", "}", "`", "}", "e`", "f",
            ],
        );
        check("'open\nnext", &["'open", "next"]);
        check("1.5e3 => ...x?.y", &["1.5e3", "=>", "...", "x", "?.", "y"]);
        check("`open ${", &["`open $", "{"]);
        check("/* open", &[]);
        check("ä €\u{2028}x", &["ä", "€", "x"]);
    }

    #[test]
    fn places_are_those_of_the_engine() {
        let places: Vec<_> = tokens("a ä b\n `x\ny` c").iter().map(|t| t.place).collect();
        assert_eq!(places, [(1, 1), (1, 3), (1, 6), (2, 2), (3, 4)]);
    }
}
