//! The log of what a server prints on stderr: the last lines in memory, all lines in a rotated file. For the operator only: nothing of it
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
    line_cutter::LineCutter,
    log_file::{LogFile, remove_all},
    log_line::{run_mark, stamp},
    own_words,
};
use crate::{
    runtime::sync::Guarded,
    storage::DataFile,
    text::{
        MASK, Secrets, ServerName, TextKind,
        redact::{self, KeyBlock},
    },
};

/// Limit: lines kept in memory.
const LINES: usize = 500;

/// Limit: bytes of these lines. 500 of the longest would be 8 MB a server.
const BYTES: usize = 512 * 1024;

/// The size of the read buffer that each child has.
const CHUNK: usize = 16 * 1024;

/// The stderr of one server, over all restarts of its child. Clones are the same log.
#[derive(Clone)]
pub struct StderrLog {
    last: Arc<Guarded<Last>>,
    file: LogFile,
}

/// The file of a server's log.
pub fn server_log_file(data_dir: &Path, server: &ServerName) -> PathBuf {
    DataFile::Logs.of_server(data_dir, format_args!("server-{server}"), "log")
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

    /// The line since that position that says most about a failure.
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
