//! Lays JSON text out for people without reading its values: numbers, escapes and the order of keys stay as they came. What could
//! steer a terminal is escaped.

use super::escapes::push_json;

/// Levels that are indented. Deeper ones stand below each other: their indentation alone would grow with the square.
const INDENTED: usize = 64;

/// Indents JSON text by two spaces a level. Text that is no JSON comes out in some layout too.
pub(super) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => {}
            '"' => copy_string(&mut rest, &mut out),
            '{' | '[' => {
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
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
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

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(INDENTED)));
}

#[cfg(test)]
mod tests;
