//! Where the loops and functions of a script begin and end, as far as its words and signs tell. Pure.

mod places;

use super::words::{ScriptWord, WordKind, tokens};

/// A script's words with what belongs together.
pub(super) struct Outline<'a> {
    tokens: Vec<ScriptWord<'a>>,
    /// Of each bracket the other one; of one without, and of everything else, itself.
    partner: Vec<usize>,
    /// The function in whose body each word stands; 0 is the script itself.
    owner: Vec<usize>,
    /// What stands between the brackets of parameters: the engine has no places of it.
    is_parameter: Vec<bool>,
    loops: Vec<Loop>,
}

/// A loop, from its keyword to the end of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loop {
    first: usize,
    last: usize,
    /// Nothing in its head ends it, and no word in its body leaves it.
    is_endless: bool,
}

/// Words before `(…) {` that begin no function.
const CONTROL: [&str; 7] = ["if", "for", "while", "with", "switch", "catch", "await"];

/// Signs after which a statement is not at its end, though its line is.
const OPEN_ENDS: [&str; 18] = [
    ",", ".", "?.", "=", "+", "-", "*", "/", "%", "&&", "||", "??", "?", ":", "=>", "(", "[", "{",
];

/// Limit: words of a script that are looked at. Of one with more nothing is known.
const MOST_WORDS: usize = 20_000;

impl<'a> Outline<'a> {
    pub(super) fn of(code: &'a str) -> Self {
        let mut tokens = tokens(code);
        if tokens.len() > MOST_WORDS {
            tokens.clear();
        }
        let count = tokens.len();
        let mut outline = Self {
            partner: partners(&tokens),
            tokens,
            owner: vec![0; count],
            is_parameter: vec![false; count],
            loops: Vec::new(),
        };
        outline.find_functions();
        outline.find_loops();
        outline
    }

    fn is(&self, i: usize, text: &str) -> bool {
        self.tokens.get(i).is_some_and(|token| token.is(text))
    }

    fn before(&self, i: usize) -> Option<&ScriptWord<'a>> {
        self.tokens.get(i.checked_sub(1)?)
    }

    fn is_before(&self, i: usize, texts: &[&str]) -> bool {
        self.before(i).is_some_and(|token| token.is_any(texts))
    }

    /// Whether a word names a member of an object.
    fn is_member(&self, i: usize) -> bool {
        self.is_before(i, &[".", "?."]) || self.is(i + 1, ":")
    }

    fn other(&self, i: usize) -> usize {
        self.partner.get(i).copied().unwrap_or(i)
    }

    /// Marks the bodies of functions, and what stands between the brackets of their parameters.
    fn find_functions(&mut self) {
        let mut functions = 0;
        for i in 0..self.tokens.len() {
            let Some((parameters, body)) = self.function_at(i) else {
                continue;
            };
            functions += 1;
            let (first, last) = body;
            // Outer functions come first, so inner ones have the last word.
            for owner in self.owner.iter_mut().take(last + 1).skip(first) {
                *owner = functions;
            }
            let (first, last) = parameters;
            for is_parameter in self.is_parameter.iter_mut().take(last + 1).skip(first) {
                *is_parameter = true;
            }
        }
    }

    /// The parameters and the body of a function whose body begins with this.
    fn function_at(&self, i: usize) -> Option<((usize, usize), (usize, usize))> {
        let is_block = self.is(i, "{");
        if is_block && self.is_class(i) {
            return Some(((i, i), (i, self.other(i))));
        }
        let closing = if self.is_before(i, &["=>"]) {
            i.checked_sub(2)?
        } else if is_block && self.is_before(i, &[")"]) {
            let closing = i - 1;
            let name = self.before(self.other(closing))?;
            let is_function = name.kind != WordKind::Sign && !name.is_any(&CONTROL);
            if !is_function && !name.is_any(&["]", "*"]) {
                return None;
            }
            closing
        } else {
            return None;
        };
        let parameters = (self.other(closing).min(closing), closing);
        let last = if is_block {
            self.other(i)
        } else {
            self.simple_end(i, true)
        };
        Some((parameters, (i, last)))
    }

    /// Whether a brace opens the body of a class.
    fn is_class(&self, brace: usize) -> bool {
        let before = self.tokens.get(..brace).unwrap_or_default();
        let head = before.iter().rev().take(6);
        head.take_while(|token| token.kind == WordKind::Word || token.is("."))
            .any(|token| token.is("class"))
    }

    fn find_loops(&mut self) {
        let mut loops = Vec::new();
        // The `while` at the ends of `do` loops begins none.
        let mut ends = Vec::new();
        for i in 0..self.tokens.len() {
            if ends.contains(&i) || !self.begins_loop(i) {
                continue;
            }
            let last = self.statement_end(i);
            if self.is(i, "do") {
                ends.push(self.body_end(i + 1) + 1);
            }
            loops.push(Loop {
                first: i,
                last,
                is_endless: self.is_endless(i) && !self.may_be_left(i, last),
            });
        }
        self.loops = loops;
    }

    fn begins_loop(&self, i: usize) -> bool {
        let Some(token) = self.tokens.get(i) else {
            return false;
        };
        match token.text {
            _ if token.kind != WordKind::Word || self.is_member(i) => false,
            "for" => self.is(i + 1, "(") || self.is(i + 1, "await"),
            "while" => self.is(i + 1, "("),
            "do" => true,
            _ => false,
        }
    }

    fn is_endless(&self, i: usize) -> bool {
        let head = self.head(i);
        if self.is(i, "while") {
            return head + 2 == self.other(head)
                && (self.is(head + 1, "true")
                    || self.tokens.get(head + 1).is_some_and(|t| t.text == "1"));
        }
        // Two in a row: there is no condition between them.
        (head..self.other(head)).any(|at| self.is(at, ";") && self.is(at + 1, ";"))
    }

    fn may_be_left(&self, first: usize, last: usize) -> bool {
        (first..=last).any(|i| {
            let token = self.tokens.get(i);
            token.is_some_and(|token| token.is_any(&["break", "return", "throw", "continue"]))
        })
    }

    /// The bracket that opens the head of a loop or an `if`.
    fn head(&self, i: usize) -> usize {
        i + 1 + usize::from(self.is(i + 1, "await"))
    }

    /// The last word of the statement that begins here.
    fn statement_end(&self, i: usize) -> usize {
        let Some(token) = self.tokens.get(i) else {
            return i;
        };
        if token.is("{") {
            return self.other(i);
        }
        if token.is("do") && self.begins_loop(i) {
            let body = self.body_end(i + 1);
            let head = body + 2;
            return if self.is(body + 1, "while") && self.is(head, "(") {
                self.other(head).max(head)
            } else {
                body
            };
        }
        if token.is_any(&["for", "while", "if"]) && self.is(self.head(i), "(") {
            let body = self.body_end(self.other(self.head(i)) + 1);
            return if token.is("if") && self.is(body + 1, "else") {
                self.body_end(body + 2)
            } else {
                body
            };
        }
        self.simple_end(i, false)
    }

    /// [`Outline::statement_end`] of a body, which may be empty.
    fn body_end(&self, i: usize) -> usize {
        // Bodies without braces in each other are few: a block ends this at once.
        match self.tokens.get(i) {
            Some(token) if token.is("{") => self.other(i),
            Some(token) if token.is_any(&["for", "while", "if", "do"]) => self.nested_end(i),
            Some(_) => self.simple_end(i, false),
            None => i.saturating_sub(1),
        }
    }

    /// The end of heads that follow each other without braces, without going into each.
    fn nested_end(&self, mut i: usize) -> usize {
        while self
            .tokens
            .get(i)
            .is_some_and(|token| token.is_any(&["for", "while", "if"]))
            && self.is(self.head(i), "(")
        {
            i = self.other(self.head(i)) + 1;
        }
        match self.tokens.get(i) {
            Some(token) if token.is("{") => self.other(i),
            Some(_) => self.simple_end(i, false),
            None => i.saturating_sub(1),
        }
    }

    /// The last word of the simple statement, or of the expression without commas, that begins here.
    fn simple_end(&self, first: usize, ends_at_comma: bool) -> usize {
        let mut i = first;
        while let Some(token) = self.tokens.get(i) {
            if i > first && self.ends_before(i) {
                return i - 1;
            }
            if token.is(";") {
                return i;
            }
            let other = self.other(i);
            if other < i || token.is(",") && ends_at_comma {
                return i.saturating_sub(1).max(first);
            }
            i = other + 1;
        }
        self.tokens.len().saturating_sub(1).max(first)
    }

    /// Whether a new line ends the statement before this.
    fn ends_before(&self, i: usize) -> bool {
        let (Some(before), Some(token)) = (self.before(i), self.tokens.get(i)) else {
            return false;
        };
        let goes_on = token.kind == WordKind::Sign && !token.is_any(&["{", "++", "--", "!", "..."]);
        before.place.0 < token.place.0 && !goes_on && !before.is_any(&OPEN_ENDS)
    }
}

fn partners(tokens: &[ScriptWord<'_>]) -> Vec<usize> {
    let mut partner: Vec<usize> = (0..tokens.len()).collect();
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != WordKind::Sign {
            continue;
        }
        let opening = match token.text {
            "(" | "[" | "{" => {
                open.push((i, token.text));
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        if open.last().is_some_and(|(_, text)| *text == opening)
            && let Some((other, _)) = open.pop()
            && let Some(slot) = partner.get_mut(other)
        {
            *slot = i;
            if let Some(slot) = partner.get_mut(i) {
                *slot = other;
            }
        }
    }
    partner
}
