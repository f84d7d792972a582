//! One budget for the memory that clients can make the daemon hold: bodies of requests, answers that nobody reads, and what sessions
//! and streams keep of their clients' declarations. Counts bytes; knows nothing of what they are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::Notify, time::timeout};

/// Limit: bytes that all clients of a daemon make it hold together, beyond the small amounts that connections, sessions and streams
/// have free. Eight of the largest requests fit.
const LIMIT: usize = 256 << 20;

/// A budget. Cheap to clone; clones are the same budget.
#[derive(Debug, Clone)]
pub struct MemoryBudget(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    limit: usize,
    held: AtomicUsize,
    freed: Notify,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::of(LIMIT)
    }
}

impl MemoryBudget {
    /// A budget of so many bytes.
    pub fn of(limit: usize) -> Self {
        Self(Arc::new(Parts {
            limit,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
        }))
    }

    /// A part of it that holds nothing yet.
    pub fn share(&self) -> MemoryShare {
        MemoryShare {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Whether all of it is held, or more.
    pub fn is_spent(&self) -> bool {
        self.0.held.load(Ordering::Relaxed) >= self.0.limit
    }

    /// The same bytes, counted until nobody refers to them any more. They are there already, so they are counted whatever is held.
    pub fn counted(&self, bytes: Bytes) -> Bytes {
        let mut share = self.share();
        share.grow_anyway(bytes.len());
        share.on(bytes)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let room = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.0.limit);
        let held = &self.0.held;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        taken.is_ok()
    }
}

/// What one holder has of the budget. Dropping it gives that back.
#[derive(Debug)]
pub struct MemoryShare {
    budget: MemoryBudget,
    bytes: usize,
}

impl MemoryShare {
    /// What it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds so many bytes more, if they are left.
    #[must_use]
    pub fn try_grow(&mut self, more: usize) -> bool {
        let taken = self.budget.try_take(more);
        if taken {
            self.bytes += more;
        }
        taken
    }

    /// The same; waits so long for others to give some back. Whether it holds them then. Cancel-safe.
    #[must_use]
    pub async fn grow(&mut self, more: usize, patience: Duration) -> bool {
        if self.try_grow(more) {
            return true;
        }
        let budget = self.budget.clone();
        let growing = async {
            loop {
                // Listening before looking: what is given back between the two wakes us.
                let mut freed = std::pin::pin!(budget.0.freed.notified());
                freed.as_mut().enable();
                if self.try_grow(more) {
                    return;
                }
                freed.await;
            }
        };
        timeout(patience, growing).await.is_ok()
    }

    /// Holds so many bytes more, whatever is left.
    pub fn grow_anyway(&mut self, more: usize) {
        self.budget.0.held.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
    }

    /// Holds so many bytes from now on, whatever is left.
    pub fn hold(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.grow_anyway(bytes - self.bytes);
        } else {
            self.shrink_to(bytes);
        }
    }

    /// Whether all of the budget is held, or more.
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Gives back all but so many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        if less > 0 {
            self.bytes -= less;
            self.budget.0.held.fetch_sub(less, Ordering::Relaxed);
            self.budget.0.freed.notify_waiters();
        }
    }

    /// The same bytes, for which this is held until nobody refers to them any more.
    pub fn on(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Counted {
            bytes,
            _share: self,
        })
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Bytes with what they hold of the budget.
struct Counted {
    bytes: Bytes,
    _share: MemoryShare,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_is_given_back_can_be_had_again() {
        let budget = MemoryBudget::of(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.try_grow(6) && !other.try_grow(5) && other.try_grow(4));
        assert!(budget.is_spent());
        one.shrink_to(2);
        assert!(!budget.is_spent() && other.try_grow(4));
        drop(other);
        assert!(one.try_grow(8) && !one.try_grow(usize::MAX));
        assert_eq!(one.bytes(), 10);
    }

    #[test]
    fn bytes_are_counted_until_the_last_part_of_them_is_gone() {
        let budget = MemoryBudget::of(10);
        let bytes = budget.counted(Bytes::from_static(b"0123456789abcdef"));
        assert!(budget.is_spent());
        let part = bytes.slice(3..5);
        drop(bytes);
        assert!(budget.is_spent());
        assert_eq!(&part[..], b"34");
        drop(part);
        assert!(budget.share().try_grow(10));
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_too_little_waits_a_while() {
        let budget = MemoryBudget::of(10);
        let (mut holder, mut waiting) = (budget.share(), budget.share());
        assert!(holder.try_grow(10));
        assert!(!waiting.grow(1, Duration::from_secs(5)).await);
        {
            let mut growing = Box::pin(waiting.grow(1, Duration::from_secs(5)));
            assert!(growing.as_mut().now_or_never().is_none());
            drop(holder);
            assert!(growing.await);
        }
        assert_eq!(waiting.bytes(), 1);
    }
}
