//! The one list of characters that steer a terminal or cannot be seen, and which letters look like others.

pub mod letters;
pub mod uris;

use std::fmt::Write;

/// Whether a character must be escaped when it is shown: it steers a terminal, turns the direction of text, or has no glyph. Joiners and
/// variation selectors, which scripts and emoji need, may be shown.
pub fn is_invisible(character: char) -> bool {
    character.is_control() || is_hidden(character) && !shapes_neighbours(character)
}

/// Whether a character has no width or no glyph of its own, as private ones. Control characters are not among them.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{13430}'..='\u{1343F}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
        || is_private(character)
}

/// Private-use characters, whose meaning is a private agreement.
pub fn is_private(character: char) -> bool {
    matches!(character, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{10FFFF}')
}

/// Tag characters: invisible counterparts of ASCII.
pub fn is_tag(character: char) -> bool {
    matches!(character, '\u{E0000}'..='\u{E007F}')
}

/// Joiners and variation selectors.
fn shapes_neighbours(character: char) -> bool {
    matches!(character,
        '\u{34F}' | '\u{180B}'..='\u{180F}' | '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Appends a character, escaped if it is invisible.
pub fn push_visible(character: char, text: &mut String) {
    if is_invisible(character) {
        text.extend(character.escape_unicode());
    } else {
        text.push(character);
    }
}

/// The text as one line, with characters escaped that steer a terminal or cannot be seen.
pub fn visible_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => shown.push(' '),
            // Harmless before a line end; elsewhere it would overwrite the line.
            '\r' if matches!(characters.peek(), None | Some('\n')) => {}
            c => push_visible(c, &mut shown),
        }
    }
    shown
}

/// The escape of a character that moves within a line or ends it.
pub fn layout_escape(character: char) -> Option<&'static str> {
    match character {
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        _ => None,
    }
}

/// The same JSON with invisible characters in its strings as JSON escapes.
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        push_json(character, &mut shown);
    }
    shown
}

/// Appends a character of JSON, as a JSON escape if it is invisible.
pub fn push_json(character: char, json: &mut String) {
    if layout_escape(character).is_some() || !is_invisible(character) {
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
    fn what_hides_is_not_shown_and_what_scripts_need_is() {
        for hidden in [
            '\u{200b}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
            '\u{ad}',
            '\u{61c}',
            '\u{3164}',
            '\u{e000}',
            '\u{ffa0}',
            '\u{1d173}',
        ] {
            assert!(is_hidden(hidden) && is_invisible(hidden), "{hidden:?}");
        }
        for shaping in ['\u{200c}', '\u{200d}', '\u{fe0f}', '\u{e0100}'] {
            assert!(is_hidden(shaping) && !is_invisible(shaping), "{shaping:?}");
        }
        for control in ['\u{1b}', '\n', '\u{9b}'] {
            assert!(!is_hidden(control) && is_invisible(control), "{control:?}");
        }
        for seen in ['a', 'ß', '世', '\u{5d0}', '\u{1f600}'] {
            assert!(!is_hidden(seen) && !is_invisible(seen), "{seen:?}");
        }
    }
}
