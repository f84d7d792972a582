//! No secret of the configuration stands in a log, whoever logs it: a library's reason may name what it was given.

use std::{
    borrow::Cow,
    io::{self, Write},
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

/// As much of a text of a stranger's as is shown.
pub fn beginning(text: &str, longest: usize) -> String {
    let hidden = HIDDEN.load();
    let (shown, _) = hidden.redacted_to_show(text, longest);
    cut::beginning(&shown, longest).to_owned()
}

/// Masks what it passes on. Each write is one log line or several; bytes in them that are no text are replaced.
pub(super) struct Redacted<W>(pub(super) W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Redacted<W> {
    type Writer = Redacted<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Redacted(self.0.make_writer())
    }
}

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        // Looked at as a whole first: nearly all are text, and that takes a tenth of it.
        let text = str::from_utf8(lines);
        let text = text.map_or_else(|_| String::from_utf8_lossy(lines), Cow::Borrowed);
        self.0.write_all(HIDDEN.load().redacted(&text).as_bytes())?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_beside_bytes_that_are_no_text_is_masked() {
        hide(Secrets::new(["hunter2-hunter2".to_owned()]));
        let mut log = Redacted(Vec::new());
        log.write_all(b"\xff it is hunter2-hunter2\n")
            .expect("memory takes it");
        assert_eq!(log.0, "\u{fffd} it is ***\n".as_bytes());
    }
}
