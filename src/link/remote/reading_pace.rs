//! How fast a stream is read that brings what nobody waits for: a server that floods it takes no time from others.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Limit: bytes besides answers that are read of a stream in a second. A server that sends more waits until they are read.
const A_SECOND: usize = 1 << 20;

/// What a message counts at least, however short it is: sorting it takes time, too.
const A_MESSAGE: usize = 1 << 10;

/// How much was read within the last second.
pub(super) struct ReadingPace {
    since: Instant,
    read: usize,
}

impl ReadingPace {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            read: 0,
        }
    }

    /// Notes bytes that are no message.
    pub(super) fn note(&mut self, bytes: usize) {
        if bytes > 0 && self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.read = self.read.saturating_add(bytes);
    }

    /// Notes a message of this size.
    pub(super) fn note_message(&mut self, bytes: usize) {
        self.note(bytes.max(A_MESSAGE));
    }

    /// Waits for the end of a second in which too much came. Cancel-safe.
    pub(super) async fn wait(&self) {
        if self.read >= A_SECOND {
            sleep_until(self.since + Duration::from_secs(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_read_at_a_pace() {
        for (messages, size, seconds) in [(1000, 100, 0), (10_000, 100, 9), (3, 2 << 20, 3)] {
            let began = Instant::now();
            let mut pace = ReadingPace::new();
            for _ in 0..messages {
                pace.note_message(size);
                pace.wait().await;
            }
            assert_eq!(began.elapsed().as_secs(), seconds, "{messages} of {size}");
        }
        let mut pace = ReadingPace::new();
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let began = Instant::now();
            pace.note(A_SECOND - 1);
            pace.wait().await;
            assert_eq!(began.elapsed(), Duration::ZERO, "it was silent meanwhile");
        }
    }
}
