//! Indents JSON text without parsing it, so that numbers, escapes and the order of keys stay as they are. Only the texts of steps are parsed,
//! to be reworded. Characters that steer a terminal are escaped.

use super::escapes::push_json;

/// The keys of steps, which may name commands.
const STEPS: [&str; 2] = ["\"next_step\"", "\"fix\""];

/// How many levels are indented. The indentation of deeper ones would make the text grow with the square of its depth.
const INDENTED: usize = 64;

/// Indents JSON text by two spaces a level. Text that is not JSON is laid out somehow.
pub(super) fn pretty(json: &str) -> String {
    with_steps(json, &str::to_owned)
}

/// The same, with the texts of steps replaced.
pub(super) fn with_steps(json: &str, reworded: &dyn Fn(&str) -> String) -> String {
    let (mut begin, mut is_step) = (0, false);
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => {}
            '"' => {
                begin = out.len();
                copy_string(&mut rest, &mut out);
                if is_step {
                    reword(&mut out, begin, reworded);
                }
            }
            '{' | '[' => {
                is_step = false;
                out.push(character);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(closing) = rest.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(closing);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                is_step = false;
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => {
                is_step = out.get(begin..).is_some_and(|key| STEPS.contains(&key));
                out.push_str(": ");
            }
            other => push_json(other, &mut out),
        }
    }
    out
}

/// Copies a string whose opening quote has been read, up to its closing one.
fn copy_string(rest: &mut impl Iterator<Item = char>, out: &mut String) {
    out.push('"');
    let mut escaped = false;
    for character in rest {
        push_json(character, out);
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return,
            _ => {}
        }
    }
}

/// Replaces the string at the end of `out`, which begins at `begin`.
fn reword(out: &mut String, begin: usize, reworded: &dyn Fn(&str) -> String) {
    let written = out.get(begin..).unwrap_or_default();
    let Ok(text) = serde_json::from_str::<String>(written) else {
        return;
    };
    let words = reworded(&text);
    if words != text {
        out.truncate(begin);
        for character in serde_json::Value::from(words).to_string().chars() {
            push_json(character, out);
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(INDENTED)));
}

#[cfg(test)]
mod tests;
