//! Places in a script that the engine knows only in part, or not at all. Pure.

use super::{Loop, Outline};
use crate::code_execution::engine::words::{ScriptWord, WordKind, is_nameless};

/// Words for which the engine has no place.
const SILENT: [&str; 26] = [
    "let", "const", "var", "if", "else", "for", "while", "do", "of", "in", "true", "false", "null",
    "this", "function", "async", "class", "try", "catch", "finally", "switch", "case", "default",
    "break", "continue", "return",
];

/// What makes the engine jump forward.
const BRANCHES: [&str; 13] = [
    "if", "switch", "for", "while", "do", "?", "?.", "&&", "||", "??", "break", "continue", "try",
];

/// Signs of which the engine surely has a place.
const OPERATORS: [&str; 9] = ["<", ">", "+", "-", "*", "/", "%", "++", "--"];

/// Limit: words before the body of a function that are looked at, brackets counted as one.
const HEAD: usize = 12;

impl<'a> Outline<'a> {
    /// Where a script was when it was stopped. The engine looks at the clock where it jumps, and knows the last place before the one to
    /// which it jumped: a loop goes on at its beginning, so what is known may stand before the loop. `function` is the name of the function
    /// that the place is of; none is that of the script itself. Where more than one place is possible it is the one that is known.
    pub(in crate::code_execution::engine) fn stopped_at(
        &self,
        known: (u32, u32),
        function: Option<&str>,
    ) -> (u32, u32) {
        let found = self.loop_that_runs(known, function);
        found.map_or(known, |token| token.place)
    }

    fn loop_that_runs(&self, known: (u32, u32), function: Option<&str>) -> Option<&ScriptWord<'a>> {
        let body = function.and_then(|name| self.body_of(known, name));
        let from = match body {
            Some(body) => body,
            // The place of the whole script.
            None if function.is_none() && known == (1, 1) => 0,
            None => {
                let at = self.tokens.iter().position(|token| token.place == known)?;
                let next = self.next_loop(self.end_of(at), *self.owner.get(at)?)?;
                let is_next = !self.may_be_at(at, next);
                return self.tokens.get(next.first).filter(|_| is_next);
            }
        };
        // A loop over values has that place when it has ended, too.
        let is_first_over_values = from == 0 && self.loop_over_values(0).is_some();
        let next = self.next_loop(from, *self.owner.get(from)?)?;
        self.tokens
            .get(next.first)
            .filter(|_| !is_first_over_values)
    }

    /// Whether the script may have been stopped at this place, and not in the loop that comes next.
    fn may_be_at(&self, at: usize, next: &Loop) -> bool {
        let Some(around) = self.loop_around(at) else {
            return false;
        };
        let is_inside = next.first <= around.last;
        if is_inside && next.is_endless {
            return false;
        }
        // What comes after a loop over values, or after one that counts, has a place of that loop's head before it.
        let head = self.head(around.first)..=self.other(self.head(around.first));
        if self.is_in_update(at, around) {
            return self.is_call(at);
        }
        let is_left_by_head =
            self.loop_over_values(around.first).is_some() || self.update(around).is_some();
        let is_behind = !is_inside && is_left_by_head;
        is_behind || self.is_call(at) || head.contains(&at) || self.has_branch(around)
    }

    /// The only word of this kind, if nothing else of the script says the same.
    pub(in crate::code_execution::engine) fn only(&self, word: &str) -> Option<(u32, u32)> {
        let mut all = self.keywords(word);
        let only = all.next()?;
        all.next().is_none().then_some(only.place)
    }

    /// The only `await` of a loop, if nothing else makes promises one after the other.
    pub(in crate::code_execution::engine) fn repeated_await(&self) -> Option<(u32, u32)> {
        let all = self.tokens.iter().enumerate();
        let mut repeated =
            all.filter(|(i, token)| token.is("await") && self.loop_around(*i).is_some());
        let (_, only) = repeated.next()?;
        let is_only = repeated.next().is_none() && !self.says("then");
        is_only.then_some(only.place)
    }

    /// What alone can go on for long: the only loop of a script that has no function.
    pub(in crate::code_execution::engine) fn only_loop(&self) -> Option<(u32, u32)> {
        let has_function = self.owner.iter().any(|owner| *owner != 0);
        match &self.loops[..] {
            [only] if !has_function => Some(self.tokens.get(only.first)?.place),
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

    /// The first word in the body of the function that begins here: the engine has the place of its head, or the beginning of its line.
    fn body_of(&self, known: (u32, u32), name: &str) -> Option<usize> {
        // As in `get size`.
        let name = name.rsplit(' ').next().unwrap_or(name);
        let first = self.tokens.iter().position(|token| token.place >= known)?;
        let is_of_line = known.1 == 1;
        let rest = self.tokens.iter().enumerate().skip(first);
        let mut bodies: Vec<usize> = rest
            .take_while(|(_, token)| token.place.0 == known.0)
            .filter(|(_, token)| {
                let may_begin = token.kind == WordKind::Word || token.is("(");
                token.is_named(name) || is_of_line && is_nameless(name) && may_begin
            })
            .filter_map(|(i, _)| self.body_after(i))
            .collect();
        bodies.dedup();
        match bodies[..] {
            [] => self.body_after(first),
            [only] => Some(only),
            _ => None,
        }
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
            // As in `run: () => {}` and `run = () => {}`.
            let is_value = i == at + 1 && token.is_any(&[":", "="]);
            if !(is_head || is_value || i == at || is_declared && token.is("=")) {
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

    /// What comes after the place that the engine knows: after the call whose first argument it is, or after the loop whose end it is, or
    /// whose last step.
    fn end_of(&self, at: usize) -> usize {
        if let Some(ended) = self.loop_over_values(at) {
            return ended.last + 1;
        }
        let counting = self
            .loop_around(at)
            .filter(|one| self.is_in_update(at, one));
        if let Some(counting) = counting {
            return counting.last + 1;
        }
        match at.checked_sub(1) {
            Some(opening) if self.is(opening, "(") => self.other(opening) + 1,
            _ => at + 1,
        }
    }

    /// The next loop of a function, if the engine has no place between here and there, and if it is no other one after that.
    fn next_loop(&self, from: usize, owner: usize) -> Option<&Loop> {
        let next = self.loop_after(from, owner)?;
        let is_placed = next.is_endless || self.has_sure_place(next);
        let is_only = is_placed || self.loop_after(next.last + 1, owner).is_none();
        Some(next).filter(|_| is_only)
    }

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

    /// The innermost loop of the same function around a word. A loop over values is not around the place of its end.
    fn loop_around(&self, at: usize) -> Option<&Loop> {
        let owner = self.owner.get(at)?;
        let mut around = self.loops.iter().rev();
        around.find(|one| {
            let is_around = (one.first + 1..=one.last).contains(&at);
            is_around && self.owner.get(one.first) == Some(owner)
        })
    }

    /// The loop that begins here, if it goes through values: the engine has the place of its `for` for what comes after it.
    fn loop_over_values(&self, first: usize) -> Option<&Loop> {
        let found = self.loops.binary_search_by_key(&first, |one| one.first);
        let found = self.loops.get(found.ok()?)?;
        let head = self.head(first);
        let mut inside = head + 1..self.other(head);
        let has_of = inside.any(|i| self.is(i, "of") && !self.is_before(i, &["."]));
        (self.is(first, "for") && has_of).then_some(found)
    }

    /// Where the head of a loop has what is done after each round.
    fn update(&self, found: &Loop) -> Option<usize> {
        let head = self.head(found.first);
        let end = self.other(head);
        let last = (head..end).rev().find(|i| self.is(*i, ";"))?;
        (self.is(found.first, "for") && last + 1 < end).then_some(last + 1)
    }

    fn is_in_update(&self, at: usize, found: &Loop) -> bool {
        let end = self.other(self.head(found.first));
        let update = self.update(found);
        update.is_some_and(|update| (update..end).contains(&at))
    }

    fn is_call(&self, at: usize) -> bool {
        let is_template = |i: usize| {
            let token = self.tokens.get(i);
            token.is_some_and(|token| token.text.starts_with('`'))
        };
        self.is_before(at, &["(", "new"])
            || self.is(at + 1, "(")
            || self.is(at + 1, "?.")
            || is_template(at + 1)
    }

    /// Whether the engine may jump within a loop, besides from its end to its beginning.
    fn has_branch(&self, found: &Loop) -> bool {
        let mut inside = found.first + 1..=found.last;
        inside.any(|i| {
            let token = self.tokens.get(i);
            token.is_some_and(|token| token.is_any(&BRANCHES))
        })
    }

    /// Whether the engine surely has a place in a loop.
    fn has_sure_place(&self, found: &Loop) -> bool {
        let owner = self.owner.get(found.first);
        let mut inside = found.first..=found.last;
        let is_placed = inside.any(|i| {
            let token = self.tokens.get(i);
            self.owner.get(i) == owner && token.is_some_and(|token| token.is_any(&OPERATORS))
        });
        is_placed || self.loop_over_values(found.first).is_some()
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
}
