//! The service manager's watchdog: gets a sign of life as long as requests are answered, and not longer.

use std::{net::SocketAddr, path::Path, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::{daemon_client::DaemonClient, doctor::answer_to};

/// Asks again and again whether `answers`, and says each time that it does. Between two times there is a third of what the manager
/// waits, so that one lost answer ends nothing. Cancel-safe.
pub(super) async fn tell_while(
    limit: Duration,
    answers: impl AsyncFn() -> bool,
    mut tell: impl FnMut(),
) {
    // A manager that wants more signs of life than that gets fewer.
    let pause = (limit / 3).max(Duration::from_millis(10));
    let mut ticks = interval_at(Instant::now(), pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match timeout(pause, answers()).await {
            Ok(true) => tell(),
            Ok(false) => tracing::warn!("daemon stuck; service manager not notified"),
            Err(_) => tracing::warn!(
                seconds = pause.as_secs(),
                "daemon slow; service manager not notified"
            ),
        }
    }
}

/// Whether the daemon answers a request, as its clients ask it: on the local socket, or where somebody took that away, on TCP.
pub(super) async fn answers(data_dir: &Path, addresses: &[SocketAddr]) -> bool {
    if DaemonClient::connect(data_dir).await.is_ok() {
        return true;
    }
    let Some(address) = addresses.first() else {
        return false;
    };
    let request = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let answer = answer_to(request, *address).await;
    answer.is_ok_and(|answer| answer.starts_with("HTTP/"))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::tell_while;

    /// How often the manager is told within a minute.
    async fn told(answers: impl AsyncFn() -> bool) -> usize {
        let count = Cell::new(0);
        let telling = tell_while(Duration::from_secs(30), answers, || {
            count.set(count.get() + 1);
        });
        let minute = tokio::time::timeout(Duration::from_secs(59), telling).await;
        assert!(minute.is_err(), "it never ends");
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn the_manager_is_told_only_while_requests_are_answered() {
        assert_eq!(told(async || true).await, 6);
        assert_eq!(told(async || false).await, 0);
        assert_eq!(told(async || std::future::pending().await).await, 0);
    }
}
