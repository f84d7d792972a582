//! A text that takes a while to make, made once for all who ask for it meanwhile: however many ask, one is made at a time, beside the
//! workers, and making takes a fifth of one core at most.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::sync::Mutex;

use super::{Answer, blocking};

/// How many times as long as it took to make it a text is given out.
const SHARED_FOR: u32 = 4;

/// What is given out is no older than this.
const OLDEST: Duration = Duration::from_secs(1);

/// Clones share the text.
#[derive(Clone, Default)]
pub(super) struct SharedText(Arc<Mutex<Option<CachedText>>>);

struct CachedText {
    text: Bytes,
    at: Instant,
    took: Duration,
}

impl CachedText {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < (self.took * SHARED_FOR).min(OLDEST)
    }
}

impl SharedText {
    /// The text, or a new one.
    pub(super) async fn of(&self, make: impl FnOnce() -> String + Send + 'static) -> Answer<Bytes> {
        let mut kept = Arc::clone(&self.0).lock_owned().await;
        if let Some(made) = kept.as_ref().filter(|made| made.is_fresh()) {
            return Ok(made.text.clone());
        }
        // The lock goes with the work: the requester may have left before it is done, and the next must not begin beside it.
        blocking(move || {
            let began = Instant::now();
            let text = Bytes::from(make());
            *kept = Some(CachedText {
                text: text.clone(),
                at: Instant::now(),
                took: began.elapsed(),
            });
            text
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        sync::mpsc,
    };

    use super::*;

    #[tokio::test]
    async fn one_is_made_at_a_time_also_when_those_who_asked_have_left() {
        let shared = SharedText::default();
        let (at_once, most, made) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
        );
        let (release, held) = mpsc::channel::<()>();
        let (begun, first_begins) = tokio::sync::oneshot::channel();
        let making = |before: Box<dyn FnOnce() + Send>| {
            let (at_once, most, made) = (at_once.clone(), most.clone(), made.clone());
            move || {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                before();
                at_once.fetch_sub(1, Ordering::SeqCst);
                format!("{}", made.fetch_add(1, Ordering::SeqCst))
            }
        };
        let first = making(Box::new(move || {
            let _ = begun.send(());
            let _ = held.recv();
        }));
        let first = tokio::spawn({
            let shared = shared.clone();
            async move { shared.of(first).await.map(drop).map_err(drop) }
        });
        first_begins.await.expect("it begins");
        first.abort();
        let _ = first.await;
        let others: Vec<_> = (0..8)
            .map(|_| {
                let (shared, text) = (shared.clone(), making(Box::new(|| ())));
                tokio::spawn(async move { shared.of(text).await.map_err(drop) })
            })
            .collect();
        tokio::task::yield_now().await;
        release.send(()).expect("it waits");
        for other in others {
            other.await.expect("no panic").expect("a text");
        }
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn what_is_fresh_is_given_out_again() {
        let shared = SharedText::default();
        let kept = |took: Duration| CachedText {
            text: Bytes::from_static(b"kept"),
            at: Instant::now(),
            took,
        };
        *shared.0.lock().await = Some(kept(Duration::from_hours(1)));
        let text = shared.of(|| "new".to_owned()).await;
        assert_eq!(text.map_err(drop), Ok(Bytes::from_static(b"kept")));
        *shared.0.lock().await = Some(kept(Duration::ZERO));
        let text = shared.of(|| "new".to_owned()).await;
        assert_eq!(text.map_err(drop), Ok(Bytes::from_static(b"new")));
    }
}
