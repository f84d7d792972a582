//! Stack traces of the engine as the author of a script knows its lines. Pure.

use crate::code_execution::limits;

/// What the engine calls the script.
pub(super) const SCRIPT: &str = "script.js";

/// What it calls our own code, whose frames nobody wants to see.
pub(super) const PRELUDE: &str = "prelude.js";

/// Limit: frames that are shown.
const FRAMES: usize = 10;

/// The trace, and the innermost place in the script: line and column. `before` is how many characters were put before its first line.
pub(super) fn of_script(trace: &str, before: u32) -> (String, Option<(u32, u32)>) {
    let mut first = None;
    let mut shown = String::new();
    let frames = trace.lines().filter(|frame| !frame.contains(PRELUDE));
    for frame in frames.take(FRAMES) {
        let frame = match place(frame) {
            Some((start, end, (line, column))) => {
                let column = if line == 1 {
                    column.saturating_sub(before).max(1)
                } else {
                    column
                };
                first = first.or(Some((line, column)));
                let (head, rest) = frame.split_at(start);
                let (_, tail) = rest.split_at(end - start);
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
    (shown, first)
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
    fn check(trace: &str, before: u32, expected: &str, place: Option<(u32, u32)>) {
        assert_eq!(of_script(trace, before), (expected.to_owned(), place));
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
        let (shown, _) = of_script(&"    at f (script.js:2:5)\n".repeat(1000), 0);
        assert_eq!(shown.lines().count(), FRAMES);
        let (shown, _) = of_script(&"x".repeat(limits::SHOWN + 1), 0);
        assert_eq!(shown, "");
    }
}
