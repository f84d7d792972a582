//! Stack traces of the engine, with the lines and columns that the author of the script knows. Pure.

use std::cell::Cell;

use crate::code_execution::{CodePlace, limits};

/// The name of the script in traces.
pub(super) const SCRIPT: &str = "script.js";

/// The name of mcpproxy's own code in traces; its frames are not shown.
pub(super) const PRELUDE: &str = "prelude.js";

/// Frames that are shown.
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

    /// The frames of the script, and the innermost place in it.
    pub(super) fn place(&self, trace: &str) -> CodePlace {
        let mut shown = String::new();
        let mut innermost = None;
        let frames = trace.lines().filter(|frame| !frame.contains(PRELUDE));
        for frame in frames.take(FRAMES) {
            let frame = match split_frame(frame) {
                Some((head, known, tail)) => {
                    let (line, column) = self.own_place(known);
                    innermost = innermost.or(Some((line, column)));
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

    /// The last known place of a script that was stopped. The engine writes 1:1 where it knows none.
    pub(super) fn place_of_stop(&self, trace: &str) -> CodePlace {
        let place = self.place(trace);
        match place.position {
            Some((1, 1)) => CodePlace::default(),
            _ => place,
        }
    }

    /// The end of the script, if this place is after it, in what was put around it.
    pub(super) fn end_before(&self, (line, _): (u32, u32)) -> Option<CodePlace> {
        let lines = u32::try_from(self.code.lines().count()).ok()?;
        let last = self.code.lines().last()?.chars().count() + 1;
        let position = (lines, u32::try_from(last).ok()?);
        (line > lines).then(|| CodePlace {
            stack: format!("    at {SCRIPT}:{}:{}", position.0, position.1),
            position: Some(position),
        })
    }

    /// Translates a place of the engine into one of the script as its author wrote it.
    fn own_place(&self, (line, column): (u32, u32)) -> (u32, u32) {
        let column = match line {
            1 => column.saturating_sub(self.before.get()).max(1),
            _ => column,
        };
        (line, column)
    }
}

/// What stands before and after `script.js:LINE:COLUMN` in a frame, and the place between.
fn split_frame(frame: &str) -> Option<(&str, (u32, u32), &str)> {
    let (head, rest) = frame.rsplit_once(SCRIPT)?;
    let (line, rest) = split_digits(rest.strip_prefix(':')?);
    let (column, tail) = split_digits(rest.strip_prefix(':')?);
    Some((head, (line.parse().ok()?, column.parse().ok()?), tail))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
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
