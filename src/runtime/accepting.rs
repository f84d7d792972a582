//! Accepting connections where that may fail for a while.

use std::{io, time::Duration};

/// Accepting fails when file descriptors run out; it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// The outcome of an attempt to accept a connection, and of one that failed only after a pause: so no loop of attempts keeps a thread
/// busy.
pub async fn patiently<T>(accepting: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let accepted = accepting.await;
    if accepted.is_err() {
        tokio::time::sleep(PAUSE).await;
    }
    accepted
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn only_a_failed_attempt_makes_the_next_one_wait() {
        let begun = Instant::now();
        assert!(patiently(async { Ok(1) }).await.is_ok() && begun.elapsed() < PAUSE);
        let failed = async { Err::<(), _>(io::Error::other("no descriptors")) };
        assert!(patiently(failed).await.is_err() && begun.elapsed() >= PAUSE);
    }
}
