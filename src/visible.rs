//! Which characters steer a terminal or hide from the eye, in text that strangers wrote.

/// Whether a character is none that can be seen: it steers a terminal, turns the direction of text, or stands between letters unseen.
pub fn is_invisible(character: char) -> bool {
    character.is_control() || is_hidden(character)
}

fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}'
    )
}
