//! Places in a script that the engine knows only in part, or not at all. Pure.

use super::{Loop, Outline};
use crate::code_execution::engine::words::{ScriptWord, WordKind};

/// Words for which the engine has no place.
const SILENT: [&str; 26] = [
    "let", "const", "var", "if", "else", "for", "while", "do", "of", "in", "true", "false", "null",
    "this", "function", "async", "class", "try", "catch", "finally", "switch", "case", "default",
    "break", "continue", "return",
];

/// Limit: words before the body of a function that are looked at, brackets counted as one.
const HEAD: usize = 12;

impl<'a> Outline<'a> {
    /// Where a script was when it was stopped between two statements, of which the engine knows the last place before the one to which it
    /// had jumped: a loop goes on at its beginning, so what is known may stand before the loop. `is_outermost` says that the place is of
    /// the script itself and of none of its functions.
    pub(in crate::code_execution::engine) fn stopped_at(
        &self,
        known: (u32, u32),
        is_outermost: bool,
    ) -> (u32, u32) {
        let found = self.stopped_in(known, is_outermost);
        found.map_or(known, |token| token.place)
    }

    fn stopped_in(&self, known: (u32, u32), is_outermost: bool) -> Option<&ScriptWord<'a>> {
        let at = self.tokens.iter().position(|token| token.place == known);
        // The place of a function may be the space before its head.
        let head = self.tokens.iter().position(|token| token.place >= known);
        let head = head.filter(|_| !is_outermost);
        let body = head.and_then(|head| self.body_after(head));
        let (from, owner) = match at {
            // The place of the whole script.
            _ if is_outermost && known == (1, 1) => (0, 0),
            _ if body.is_some() => (body?, *self.owner.get(body?)?),
            Some(at) => (self.end_of(at), *self.owner.get(at)?),
            None => return None,
        };
        let next = self.loop_after(from, owner)?;
        let around = at.and_then(|at| self.loop_around(at, owner));
        let is_next = match (around, at) {
            // Both are possible: the one around went on, or it has ended and the next one runs.
            (Some(around), Some(at)) if next.first > around.last => {
                let may_stop = self.may_stop_at(at);
                !may_stop || next.is_endless && !around.is_endless
            }
            _ => true,
        };
        self.tokens.get(next.first).filter(|_| is_next)
    }

    /// The only word of this kind, if nothing else of the script says the same.
    pub(in crate::code_execution::engine) fn only(&self, word: &str) -> Option<(u32, u32)> {
        let mut all = self.keywords(word);
        let only = all.next()?;
        all.next().is_none().then_some(only.place)
    }

    /// The only loop.
    pub(in crate::code_execution::engine) fn only_loop(&self) -> Option<(u32, u32)> {
        match &self.loops[..] {
            [only] => Some(self.tokens.get(only.first)?.place),
            _ => None,
        }
    }

    /// Whether a word stands anywhere, as a keyword or as a name.
    pub(in crate::code_execution::engine) fn says(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.is(word))
    }

    /// Where the value comes from that the script ends with: its only `return`, or its last statement.
    pub(in crate::code_execution::engine) fn end(&self) -> Option<(u32, u32)> {
        let own = |token: &&(usize, &ScriptWord<'a>)| self.owner.get(token.0) == Some(&0);
        let returns = self.tokens.iter().enumerate();
        let returns = returns.filter(|(i, token)| token.is("return") && !self.is_member(*i));
        let mut returns = returns.filter(|found| own(&found));
        if let Some((_, first)) = returns.next() {
            return returns.next().is_none().then_some(first.place);
        }
        let (mut i, mut last) = (0, None);
        while i < self.tokens.len() {
            last = Some(i);
            i = self.statement_end(i) + 1;
            while self.tokens.get(i).is_some_and(|token| token.is(";")) {
                i += 1;
            }
        }
        Some(self.tokens.get(last?)?.place)
    }

    fn keywords<'s>(&'s self, word: &'s str) -> impl Iterator<Item = &'s ScriptWord<'a>> {
        let found = self.tokens.iter().enumerate();
        found
            .filter(move |(i, token)| token.is(word) && !self.is_member(*i))
            .map(|(_, token)| token)
    }

    /// The first word in the body of the function whose head stands here.
    fn body_after(&self, at: usize) -> Option<usize> {
        // An async arrow function begins with the declaration that it stands in.
        let is_declared = self.is_declaration(at);
        let mut i = at;
        for _ in 0..HEAD {
            let token = self.tokens.get(i)?;
            let is_body = self.owner.get(i) != self.owner.get(at);
            if is_body && i > at {
                return Some(i);
            }
            let is_head = token.kind == WordKind::Word || token.is_any(&["(", "=>", "*", "["]);
            if !is_head && !(is_declared && token.is("=")) {
                return None;
            }
            i = self.other(i).max(i) + 1;
        }
        None
    }

    fn is_declaration(&self, i: usize) -> bool {
        let token = self.tokens.get(i);
        token.is_some_and(|token| token.is_any(&["let", "const", "var"]))
    }

    /// What comes after the expression of which the engine knows this place: of a call it is that of the first argument.
    fn end_of(&self, at: usize) -> usize {
        match at.checked_sub(1) {
            Some(opening) if self.is(opening, "(") => self.other(opening) + 1,
            _ => at + 1,
        }
    }

    /// The next loop of a function, if the engine has no place between here and there.
    fn loop_after(&self, from: usize, owner: usize) -> Option<&Loop> {
        for i in from..self.tokens.len() {
            if self.owner.get(i) != Some(&owner) {
                continue;
            }
            if let Ok(found) = self.loops.binary_search_by_key(&i, |found| found.first) {
                return self.loops.get(found);
            }
            if self.has_place(i) {
                return None;
            }
        }
        None
    }

    /// The innermost loop of this function around a word.
    fn loop_around(&self, at: usize, owner: usize) -> Option<&Loop> {
        let around = self.loops.iter().rev();
        let mut around = around.filter(|one| (one.first..=one.last).contains(&at));
        around.find(|one| self.owner.get(one.first) == Some(&owner))
    }

    /// Whether the engine notes the place of a word.
    fn has_place(&self, i: usize) -> bool {
        let Some(token) = self.tokens.get(i) else {
            return false;
        };
        match token.kind {
            WordKind::Sign => false,
            WordKind::Literal => match self.before(i) {
                None => true,
                Some(before) => before.is_any(&[";", "{", "}"]),
            },
            WordKind::Word => {
                let is_parameter = self.is_parameter.get(i).copied().unwrap_or_default();
                let is_declared =
                    self.is_before(i, &["let", "const", "var", "function", "class", "*"]);
                // `a` in `let b = 1, a = 2`.
                let is_listed = self.is_before(i, &[","]) && self.is(i + 1, "=");
                !(is_parameter
                    || is_declared
                    || is_listed
                    || self.is_member(i)
                    || token.is_any(&SILENT))
            }
        }
    }

    /// Whether the engine looks at the clock at this place: at a call, and at a condition.
    fn may_stop_at(&self, at: usize) -> bool {
        if self.is_before(at, &["("]) {
            return true;
        }
        let open = (0..at)
            .rev()
            .find(|i| self.is(*i, "(") && self.other(*i) > at);
        open.is_some_and(|open| self.is_before(open, &["if", "for", "while", "switch"]))
    }
}
