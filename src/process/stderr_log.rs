//! What a server prints on stderr: the last lines in memory, all of it in a rotated file. For the operator only; nothing here
//! may be put into an error that a client reads.

use std::{
    borrow::Cow,
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{
    last_words::telling,
    log_file::{LogFile, remove_all},
    log_line::{run_mark, stamp},
    own_words,
};
use crate::{
    runtime::sync::Guarded,
    text::{MASK, Secrets, ServerName, TextKind, redact},
};

/// Limit: the lines kept in memory; their bytes, because 500 of the longest kind would be 8 MB a server; and the lines of one key, of which
/// the longest in use have about a hundred.
const LINES: usize = 500;
const BYTES: usize = 512 * 1024;
const KEY_LINES: usize = 200;

/// What is read at once. Each child has a buffer of that size.
const CHUNK: usize = 16 * 1024;

/// The stderr of one server, over all restarts of its child. Clones are the same log.
#[derive(Clone)]
pub struct StderrLog {
    last: Arc<Guarded<Last>>,
    file: LogFile,
}

/// The file of a server's log.
pub fn server_log_file(data_dir: &Path, server: &ServerName) -> PathBuf {
    data_dir.join("logs").join(format!("server-{server}.log"))
}

/// Removes the log of a server that no daemon runs. Blocks.
pub fn remove_server_logs(data_dir: &Path, server: &ServerName) {
    remove_all(&server_log_file(data_dir, server));
}

#[derive(Default)]
struct Last {
    lines: VecDeque<String>,
    bytes: usize,
    /// Lines that came so far, forgotten ones included.
    count: u64,
}

impl StderrLog {
    /// The log of this server: `logs/server-NAME.log` in the data folder. Nothing is opened before the first line.
    pub fn new(data_dir: &Path, server: &ServerName) -> Self {
        Self {
            last: Arc::default(),
            file: LogFile::new(server_log_file(data_dir, server)),
        }
    }

    /// Removes the files, now that the server was taken out of the configuration. A line that comes after this begins a new one. Must
    /// be called within a tokio runtime.
    pub fn remove(&self) {
        self.file.remove();
    }

    /// The last lines, at most `n`, oldest first. What is written in one is at most 16 KiB long; of a longer one the rest is `…`.
    pub fn tail(&self, n: usize) -> Vec<String> {
        let last = self.last.lock();
        let skipped = last.lines.len().saturating_sub(n);
        last.lines.iter().skip(skipped).cloned().collect()
    }

    /// How many lines came so far, over all restarts.
    pub fn position(&self) -> u64 {
        self.last.lock().count
    }

    /// Of what came since that position the line that says most of a failure.
    pub fn last_words(&self, since: u64) -> Option<String> {
        let last = self.last.lock();
        let new = usize::try_from(last.count.saturating_sub(since)).unwrap_or(usize::MAX);
        let skipped = last.lines.len().saturating_sub(new);
        let lines = last.lines.iter().skip(skipped);
        let lines: Vec<&str> = lines.filter_map(|line| own_words(line)).collect();
        telling(lines.into_iter())
    }

    /// Reads to the end of the stream. Never waits for anything but the stream, so the child's pipe is always emptied. Secrets, and what looks like
    /// one, are redacted. Each line stands behind the moment at which it was read, and below a line that says when this began.
    pub(super) async fn follow(&self, mut stderr: impl AsyncRead + Unpin, secrets: &Secrets) {
        let mut cutter = LineCutter::default();
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut lines = Vec::new();
        let (mut mark, mut key) = (Some(run_mark(SystemTime::now())), KeyBlock::default());
        loop {
            chunk.clear();
            // A stream that cannot be read has ended.
            if stderr.read_buf(&mut chunk).await.unwrap_or(0) == 0 {
                break;
            }
            cutter.feed(&chunk, &mut lines);
            self.add(&mut mark, &mut key, &mut lines, secrets);
        }
        cutter.finish(&mut lines);
        self.add(&mut mark, &mut key, &mut lines, secrets);
    }

    fn add(
        &self,
        mark: &mut Option<String>,
        key: &mut KeyBlock,
        lines: &mut Vec<String>,
        secrets: &Secrets,
    ) {
        for line in lines.iter_mut() {
            if key.has(line) {
                MASK.clone_into(line);
                continue;
            }
            if let Cow::Owned(redacted) = secrets.redacted(line) {
                *line = redacted;
            }
            // Servers write tokens that we do not know, too.
            if let Cow::Owned(redacted) = redact::redacted(line, TextKind::Prose) {
                *line = redacted;
            }
        }
        stamp(lines, SystemTime::now());
        if !lines.is_empty()
            && let Some(mark) = mark.take()
        {
            lines.insert(0, mark);
        }
        self.file.append(lines);
        let mut last = self.last.lock();
        for line in lines.drain(..) {
            last.push(line);
        }
    }
}

/// A key of several lines (RFC 7468), which are read one by one: how many more may follow.
#[derive(Default)]
struct KeyBlock(usize);

impl KeyBlock {
    /// Whether the line belongs to a key that began on an earlier one.
    fn has(&mut self, line: &str) -> bool {
        let is_inside = self.0 > 0;
        self.0 = match line {
            _ if line.contains("-----END") => 0,
            _ if line.contains("-----BEGIN") => KEY_LINES,
            _ => self.0.saturating_sub(1),
        };
        is_inside
    }
}

impl Last {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.count += 1;
        self.lines.push_back(line);
        while self.lines.len() > LINES || self.bytes > BYTES {
            let Some(oldest) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
        }
    }
}

// Cuts a stream of bytes into lines of bounded length. Pure.

/// Limit: what is kept of one line, in bytes. A progress bar or a dump can be one line of any length.
pub(super) const LINE_CAP: usize = 16 * 1024;

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

#[cfg(test)]
mod line_cutter_tests {
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
