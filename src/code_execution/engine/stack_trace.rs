//! Stack traces of the engine as the author of a script knows its lines. Pure.

use std::cell::Cell;

use super::{outline::Outline, words::is_nameless};
use crate::code_execution::{CodePlace, limits};

/// What the engine calls the script.
pub(super) const SCRIPT: &str = "script.js";

/// What it calls our own code, whose frames nobody wants to see.
pub(super) const PRELUDE: &str = "prelude.js";

/// What it calls the script where it stands in none of its functions.
const OUTERMOST: &str = "<eval>";

/// Limit: frames that are shown.
const FRAMES: usize = 10;

/// A script as its author wrote it.
pub(super) struct ScriptSource {
    code: String,
    /// How many characters were put before its first line.
    before: Cell<u32>,
}

impl ScriptSource {
    pub(super) fn new(code: String) -> Self {
        Self {
            code,
            before: Cell::default(),
        }
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    /// Notes how many characters were put before its first line.
    pub(super) fn begins_after(&self, before: usize) {
        self.before.set(u32::try_from(before).unwrap_or_default());
    }

    pub(super) fn outline(&self) -> Outline<'_> {
        Outline::of(&self.code)
    }

    /// A place without frames.
    pub(super) fn only_at(position: Option<(u32, u32)>) -> CodePlace {
        CodePlace {
            stack: String::new(),
            position,
        }
    }

    /// The frames of the script, and the innermost place in it.
    pub(super) fn place(&self, trace: &str) -> CodePlace {
        self.shown(trace, false)
    }

    /// The same where the engine was stopped, which it knows only in part.
    pub(super) fn place_of_stop(&self, trace: &str) -> CodePlace {
        self.shown(trace, true)
    }

    fn shown(&self, trace: &str, is_stop: bool) -> CodePlace {
        let mut shown = String::new();
        let mut innermost = None;
        let frames = trace.lines().enumerate();
        let frames = frames.filter(|(_, frame)| !frame.contains(PRELUDE));
        for (i, frame) in frames.take(FRAMES) {
            let frame = match place(frame) {
                Some((start, end, known)) => {
                    let own = self.own_place(known);
                    let own = if is_stop && i == 0 {
                        let function = function_of(frame);
                        let function = function.filter(|name| {
                            let is_body = is_nameless(name) && self.is_before_script(known);
                            *name != OUTERMOST && !is_body
                        });
                        self.outline().stopped_at(own, function)
                    } else {
                        own
                    };
                    innermost = innermost.or(Some(own));
                    let (head, rest) = frame.split_at(start);
                    let (_, tail) = rest.split_at(end - start);
                    let (line, column) = own;
                    format!("{head}{SCRIPT}:{line}:{column}{tail}")
                }
                None => frame.to_owned(),
            };
            if shown.len() + frame.len() > limits::SHOWN {
                break;
            }
            shown.push_str(&frame);
            shown.push('\n');
        }
        shown.truncate(shown.trim_end().len());
        CodePlace {
            stack: shown,
            position: innermost,
        }
    }

    /// Where a character stands first.
    pub(super) fn place_of(&self, character: char) -> Option<(u32, u32)> {
        let (before, _) = self.code.split_once(character)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().len() + 1;
        Some((line.try_into().ok()?, column.try_into().ok()?))
    }

    /// Whether a place is in what was put before the script.
    fn is_before_script(&self, (line, column): (u32, u32)) -> bool {
        line == 1 && column <= self.before.get()
    }

    /// A place without what was put before the first line.
    fn own_place(&self, (line, column): (u32, u32)) -> (u32, u32) {
        let column = match line {
            1 => column.saturating_sub(self.before.get()).max(1),
            _ => column,
        };
        (line, column)
    }
}

/// What the engine calls the function of a frame.
fn function_of(frame: &str) -> Option<&str> {
    let (name, _) = frame.trim().strip_prefix("at ")?.rsplit_once(" (")?;
    Some(name)
}

/// Where `script.js:LINE:COLUMN` stands in a frame, and what it says.
fn place(frame: &str) -> Option<(usize, usize, (u32, u32))> {
    let start = frame.rfind(SCRIPT)?;
    let (_, rest) = frame.split_at(start + SCRIPT.len());
    let rest = rest.strip_prefix(':')?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (line, more) = rest.split_at(digits(rest));
    let after = more.strip_prefix(':')?;
    let (column, _) = after.split_at(digits(after));
    let end = start + SCRIPT.len() + 1 + line.len() + 1 + column.len();
    Some((start, end, (line.parse().ok()?, column.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(trace: &str, before: usize, expected: &str, position: Option<(u32, u32)>) {
        let source = ScriptSource::new(String::new());
        source.begins_after(before);
        let expected = CodePlace {
            stack: expected.to_owned(),
            position,
        };
        assert_eq!(source.place(trace), expected);
    }

    #[test]
    fn frames_are_those_of_the_script() {
        check("", 0, "", None);
        check(
            "    at f (script.js:2:5)\n    at call_tool (prelude.js:9:9)\n    at <eval> (script.js:7:1)\n",
            0,
            "    at f (script.js:2:5)\n    at <eval> (script.js:7:1)",
            Some((2, 5)),
        );
        check(
            "    at script.js:1:14",
            11,
            "    at script.js:1:3",
            Some((1, 3)),
        );
        check("    at parse (native)\n", 11, "    at parse (native)", None);
        check("    at script.js:", 0, "    at script.js:", None);
        check(
            "    at script.js:99999999999:1",
            0,
            "    at script.js:99999999999:1",
            None,
        );
    }

    #[test]
    fn a_long_trace_is_cut() {
        let source = ScriptSource::new(String::new());
        let shown = source.place(&"    at f (script.js:2:5)\n".repeat(1000));
        assert_eq!(shown.stack.lines().count(), FRAMES);
        let shown = source.place(&"x".repeat(limits::SHOWN + 1));
        assert_eq!(shown.stack, "");
    }
}
