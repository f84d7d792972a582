//! Strangers' text, made harmless for a terminal: what could steer it, or hides from the eye, is shown escaped.

use std::fmt::Write;

use crate::visible::is_invisible;

/// One line of text in which nothing steers a terminal or hides from the eye.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(' '),
            '\r' => {}
            c if is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// JSON text that says the same, with such characters inside its strings as JSON escapes.
pub(super) fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        push_json(character, &mut shown);
    }
    shown
}

/// Adds a character of JSON text.
pub(super) fn push_json(character: char, json: &mut String) {
    let is_layout = matches!(character, '\n' | '\r' | '\t');
    if is_layout || !is_invisible(character) {
        json.push(character);
        return;
    }
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing into memory does not fail.
        let _ = write!(json, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_escaped() {
        assert_eq!(visible("grüße 世界\tx\r"), "grüße 世界 x");
        assert_eq!(
            visible("\u{1b}[2Jx\u{202e}y\u{9b}"),
            "\\u{1b}[2Jx\\u{202e}y\\u{9b}"
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let json = "{\"a\": \"x\u{9b}2J\u{202e}\u{e0041}ü\"}";
        let shown = visible_json(json);
        assert_eq!(shown, r#"{"a": "x\u009b2J\u202e\udb40\udc41ü"}"#);
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(json));
    }
}
