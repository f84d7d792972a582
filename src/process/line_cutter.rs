//! Cuts a stream of bytes into lines of bounded length. Pure.

/// Limit: what is kept of one line, in bytes. A progress bar or a dump can be one line of any length.
const LINE_CAP: usize = 16 * 1024;

/// What stands for the rest of a cut line.
const CUT: char = '…';

/// Holds the line that has not ended yet.
#[derive(Default)]
pub(super) struct LineCutter {
    partial: Vec<u8>,
    overflowed: bool,
}

impl LineCutter {
    /// Takes the next bytes and hands out the lines that they end, without their line ends.
    pub(super) fn feed(&mut self, mut bytes: &[u8], lines: &mut Vec<String>) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.keep(line);
            lines.push(self.take());
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    /// Hands out what the input ended with, if it did not end with a line end.
    pub(super) fn finish(&mut self, lines: &mut Vec<String>) {
        if !self.partial.is_empty() {
            lines.push(self.take());
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_CAP - self.partial.len();
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.partial.extend_from_slice(kept);
        self.overflowed |= kept.len() < bytes.len();
    }

    fn take(&mut self) -> String {
        let whole = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        let mut line = String::from_utf8_lossy(whole).into_owned();
        if self.overflowed {
            line.push(CUT);
        }
        self.partial.clear();
        self.overflowed = false;
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_CAP, LineCutter};

    fn check(pieces: &[&[u8]], expected: &[&str]) {
        let mut cutter = LineCutter::default();
        let mut lines = Vec::new();
        for piece in pieces {
            cutter.feed(piece, &mut lines);
        }
        cutter.finish(&mut lines);
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_come_out_however_the_bytes_come_in() {
        check(&[b"one\ntwo\r\n", b"thr", b"ee"], &["one", "two", "three"]);
        check(&[b"\n\n"], &["", ""]);
        check(&[b""], &[]);
        check(&[b"a\xffb\n"], &["a\u{fffd}b"]);
        check(
            &["é".as_bytes().split_at(1).0, "é".as_bytes().split_at(1).1],
            &["é"],
        );
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let long = vec![b'x'; LINE_CAP];
        let cut = format!("{}…", "x".repeat(LINE_CAP));
        check(
            &[&long, b"\nnext"],
            &["x".repeat(LINE_CAP).as_str(), "next"],
        );
        check(&[&long, b"y", b"y\nnext"], &[&cut, "next"]);
    }
}
