//! No secret of the configuration stands in a log, whoever logs it: a library's reason may name what it was given.

use std::{
    io::{self, Write},
    str,
    sync::{Arc, LazyLock},
};

use arc_swap::ArcSwap;
use tracing_subscriber::fmt::MakeWriter;

use crate::text::{cut, secret::Secrets};

/// There is one log in a process, so there is one list.
static HIDDEN: LazyLock<ArcSwap<Secrets>> = LazyLock::new(ArcSwap::default);

/// From now on these are redacted in every log line.
pub fn hide(secrets: Secrets) {
    HIDDEN.store(Arc::new(secrets));
}

/// As much of a text of a stranger's as is shown. It is masked before it is cut, because nobody finds a part of a secret.
pub fn beginning(text: &str, longest: usize) -> String {
    let (begin, rest) = text.split_at(text.floor_char_boundary(longest.saturating_mul(4)));
    let hidden = HIDDEN.load();
    let shown = if rest.is_empty() {
        hidden.redacted(begin)
    } else {
        hidden.redacted_beginning(begin)
    };
    cut::beginning(&shown, longest).to_owned()
}

/// Masks what it passes on. Each write is one log line or several.
pub(super) struct Redacted<W>(pub(super) W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Redacted<W> {
    type Writer = Redacted<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Redacted(self.0.make_writer())
    }
}

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let hidden = HIDDEN.load();
        match str::from_utf8(lines) {
            Ok(text) if !hidden.is_empty() => {
                self.0.write_all(hidden.redacted(text).as_bytes())?;
            }
            _ => self.0.write_all(lines)?,
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
