//! Connections that are open and not in use.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{runtime::Handle, time::Instant};

use super::connection::Http1Connection;
use crate::runtime::sync::Guarded;

/// Common servers close a connection that was idle for 5 s. Ours has to be the first to let go: a request that meets the close
/// is lost, and must not be sent again.
const IDLE: Duration = Duration::from_secs(4);

/// Idle connections that are kept after a burst.
const SIZE: usize = 64;

/// The idle connections to one server.
#[derive(Default)]
pub(super) struct Pool(Guarded<Kept>);

#[derive(Default)]
struct Kept {
    /// The one that was used last stands last.
    idle: VecDeque<(Instant, Box<Http1Connection>)>,
    /// A task sees to it that they do not stay.
    is_swept: bool,
}

impl Pool {
    /// The connection that was used last, if one is still good.
    pub(super) fn take(&self) -> Option<Box<Http1Connection>> {
        loop {
            let (since, mut connection) = self.0.lock().idle.pop_back()?;
            if since.elapsed() >= IDLE {
                self.0.lock().idle.clear();
                return None;
            }
            if connection.is_free() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection over which a whole response came. Whether it can take another request is looked at when one comes.
    pub(super) fn put(self: &Arc<Self>, connection: Box<Http1Connection>) {
        let mut kept = self.0.lock();
        kept.idle.push_back((Instant::now(), connection));
        if kept.idle.len() > SIZE {
            kept.idle.pop_front();
        }
        if !kept.is_swept {
            // Without a runtime, as when a program ends, there is nothing left to do.
            let Ok(runtime) = Handle::try_current() else {
                return;
            };
            kept.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Lets go of what was idle for too long. When the next may have been, if any is left.
    fn sweep(&self) -> Option<Instant> {
        let mut kept = self.0.lock();
        while let Some((since, _)) = kept.idle.front() {
            if since.elapsed() < IDLE {
                return Some(*since + IDLE);
            }
            kept.idle.pop_front();
        }
        kept.is_swept = false;
        None
    }
}

/// Ends when nothing is idle, or the pool is gone.
async fn sweep(pool: Weak<Pool>) {
    let mut next = Instant::now() + IDLE;
    loop {
        tokio::time::sleep_until(next).await;
        match pool.upgrade().and_then(|pool| pool.sweep()) {
            Some(at) => next = at,
            None => return,
        }
    }
}
