//! Waiting with a deadline. Deadlines are generous: they end a test that hangs, they measure nothing.

use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);

/// What another process does cannot be awaited, so it is looked at this often.
pub const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Waits until this is true. Words about the circumstances may follow, as in `assert!`.
macro_rules! until_true {
    ($condition:expr $(,)?) => { until!($condition, "") };
    ($condition:expr, $($words:tt)+) => {
        let what = format!("{} {}", stringify!($condition), format_args!($($words)+));
        $crate::support::patience::until_async(&what, async || ($condition).then_some(())).await
    };
}

pub(crate) use until_true as until;

/// Waits for the future, and fails the test by saying what never came.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(DEADLINE, future).await;
    outcome.unwrap_or_else(|_| panic!("waited {DEADLINE:?} in vain for {what}"))
}

/// Looks again and again until there is something.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    })
    .await
}

/// Asks again and again until the answer is there.
pub async fn until_async<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    })
    .await
}
