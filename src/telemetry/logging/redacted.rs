//! Masks the secrets of the configuration in every log line, whoever logs it: an error of a library may repeat the value that it was given.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, LazyLock},
};

use arc_swap::ArcSwap;
use tracing_subscriber::fmt::MakeWriter;

use crate::text::{cut, secret::Secrets};

/// The secrets that are masked. A process has one log, so it has one list.
static HIDDEN: LazyLock<ArcSwap<Secrets>> = LazyLock::new(ArcSwap::default);

/// Masks these in every log line from now on, and no others.
pub fn hide(secrets: Secrets) {
    HIDDEN.store(Arc::new(secrets));
}

/// The beginning of a text from a client or a server, of at most so many bytes, with its secrets masked.
pub fn beginning(text: &str, longest: usize) -> String {
    let hidden = HIDDEN.load();
    let (shown, _) = hidden.redacted_to_show(text, longest);
    cut::beginning(&shown, longest).to_owned()
}

/// Masks secrets in what is written through it. Each write is one or more whole log lines; bytes that are not UTF-8 are replaced.
pub(super) struct Redacted<W>(pub(super) W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Redacted<W> {
    type Writer = Redacted<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Redacted(self.0.make_writer())
    }
}

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        // Nearly all lines are UTF-8, and checking them takes a tenth of the time of the lossy conversion.
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
