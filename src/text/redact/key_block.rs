//! Private keys of several lines (RFC 7468) in a text that is read line by line.

/// Limit: lines of one key. The longest in use have about a hundred.
const KEY_LINES: usize = 200;

/// The number of further lines that the current key may have.
#[derive(Default)]
pub struct KeyBlock(usize);

impl KeyBlock {
    /// Whether the line belongs to a key that began on an earlier one.
    pub fn has(&mut self, line: &str) -> bool {
        let is_inside = self.0 > 0;
        self.0 = match line {
            _ if line.contains("-----END") => 0,
            _ if line.contains("-----BEGIN") => KEY_LINES,
            _ => self.0.saturating_sub(1),
        };
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_several_lines_is_hidden_up_to_its_end() {
        let mut key = KeyBlock::default();
        for (line, is_hidden) in [
            (
                "-----BEGIN CERTIFICATE----- all in one -----END CERTIFICATE-----",
                false,
            ),
            ("reading", false),
            ("pem: -----BEGIN PRIVATE KEY-----", false),
            ("MC4CAQAwBQYDK2VwBCIEIH", true),
            ("-----END PRIVATE KEY-----", true),
            ("done", false),
            ("-----BEGIN PRIVATE KEY-----", false),
        ] {
            assert_eq!(key.has(line), is_hidden, "{line}");
        }
        // One without an end hides no more than the longest that there is.
        assert!((0..KEY_LINES).all(|_| key.has("x")));
        assert!(!key.has("x"));
    }
}
