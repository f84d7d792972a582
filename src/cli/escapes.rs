//! Escapes characters that steer a terminal or are invisible, in text from servers.

pub(super) use crate::text::visible::{push_json, visible_json, visible_line as visible};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_escaped() {
        assert_eq!(visible("grüße 世界\tx\r"), "grüße 世界 x");
        assert_eq!(visible("a\r\nb\rover"), "a b\\u{d}over");
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
