//! Converts between bytes and characters of a long text without reading it from its beginning. Pure.

/// How many bytes are counted at once.
const BLOCK: usize = 64 << 10;

/// The number of characters before each block of a text.
#[derive(Debug)]
pub(super) struct CharIndex {
    before: Box<[usize]>,
    all: usize,
}

impl CharIndex {
    /// The index of a text, which all other functions must be given too.
    pub(super) fn of(text: &str) -> Self {
        let mut before = vec![0];
        let (mut start, mut chars) = (0, 0);
        while start < text.len() {
            let end = block_start(text, before.len());
            chars += count(text, start, end);
            before.push(chars);
            start = end;
        }
        Self {
            before: before.into(),
            all: chars,
        }
    }

    /// All characters.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// The byte at which a character begins; the end of the text for those past it.
    pub(super) fn byte_of(&self, text: &str, char: usize) -> usize {
        if char >= self.all {
            return text.len();
        }
        let block = self.before.partition_point(|before| *before <= char) - 1;
        let start = block_start(text, block);
        let rest = text.get(start..).unwrap_or_default();
        let within = char - self.before[block];
        let found = rest.char_indices().nth(within);
        found.map_or(text.len(), |(at, _)| start + at)
    }

    /// How many characters stand before a byte at which a character begins or the text ends.
    pub(super) fn before(&self, text: &str, byte: usize) -> usize {
        let block = byte / BLOCK;
        self.before[block] + count(text, block_start(text, block), byte)
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.before)
    }
}

fn block_start(text: &str, block: usize) -> usize {
    text.floor_char_boundary(block.saturating_mul(BLOCK))
}

fn count(text: &str, from: usize, to: usize) -> usize {
    text.get(from..to).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_found_from_both_sides() {
        let texts = [
            String::new(),
            "a".to_owned(),
            "ä".repeat(BLOCK),
            "a€😀".repeat(30_000),
            "x".repeat(BLOCK),
            "x".repeat(2 * BLOCK + 1),
            format!("{}€", "x".repeat(BLOCK - 1)),
        ];
        for text in texts {
            let index = CharIndex::of(&text);
            assert_eq!(index.all(), text.chars().count());
            for (n, (byte, _)) in text.char_indices().enumerate().step_by(97) {
                assert_eq!(index.byte_of(&text, n), byte);
                assert_eq!(index.before(&text, byte), n);
            }
            assert_eq!(index.before(&text, text.len()), index.all());
            assert_eq!(index.byte_of(&text, index.all()), text.len());
            assert_eq!(index.byte_of(&text, usize::MAX), text.len());
        }
    }
}
