//! Instances of a server that asks, for clients that have no session: each is leased for one call, with all its rounds of questions,
//! and then kept for the next call of the same client, so that whatever the server asks there belongs to the call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{
    instance_scope::{InstanceKey, InstanceScope, SessionKey},
    order::{NotEntered, Order, StartedInstance},
};
use crate::{
    call_context::ConnectionId,
    error_code::{ErrorCode, Failure},
    fingerprint::Fingerprint,
    link::{DOUBT, Requestor},
    sync::Guarded,
    upstream::calls::handle::Upstream,
    wire::Raw,
};

/// Limit: leased and kept instances of one server together.
const INSTANCES: usize = 8;

/// Limit: calls that wait for one of them.
const WAITING: usize = 256;

/// Who leases an instance: the same client gets it again, and others that look the same when nothing of its call can come any more.
#[derive(Debug, Clone)]
pub struct Lessee {
    /// Whose requests they are.
    pub session_key: SessionKey,
    /// The connection that tells the client from others, where no session does.
    pub connection: Option<ConnectionId>,
    /// What the client says that it is.
    pub client: Fingerprint,
    /// What it can do, which the server was told.
    pub capabilities: Fingerprint,
}

/// The leased instances of one server.
pub(in crate::upstream) struct LeasePool {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Those that nobody uses now, the one that was used last at the end.
    kept: Guarded<Vec<Kept>>,
    last: AtomicUsize,
}

/// An instance that waits for its lessee's next call.
struct Kept {
    lessee: Lessee,
    instance: LeasedInstance,
    since: Instant,
}

impl Lessee {
    /// Whether it is known to be the same client.
    fn is_certainly(&self, other: &Self) -> bool {
        let has_session = matches!(self.session_key, SessionKey::Session(_));
        let is_known = has_session || self.connection.is_some();
        is_known && self.connection == other.connection && self.looks_like(other)
    }

    /// Whether it says the same of itself.
    fn looks_like(&self, other: &Self) -> bool {
        let all = |lessee: &Self| (lessee.client, lessee.capabilities);
        self.session_key == other.session_key && all(self) == all(other)
    }
}

/// An instance, and the way to be rid of it.
struct LeasedInstance {
    key: InstanceKey,
    started: StartedInstance,
    orders: mpsc::Sender<Order>,
}

/// An instance that one call has to itself until this is dropped.
pub struct Lease {
    /// Taken out when it is dropped.
    held: Option<(Lessee, LeasedInstance)>,
    upstream: Upstream,
    requestor: Requestor,
    pool: Arc<LeasePool>,
    /// The call has its answer.
    is_answered: bool,
    _place: OwnedSemaphorePermit,
}

impl Default for LeasePool {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(INSTANCES)),
            waiting: AtomicUsize::new(0),
            kept: Guarded::default(),
            last: AtomicUsize::new(0),
        }
    }
}

impl LeasedInstance {
    fn stop(self) {
        let server = self.started.upstream.name().clone();
        drop(self.started);
        // If the supervisor is too busy to take it, it finds the stopped instance when it starts the next one.
        let _ = self.orders.try_send(Order::GiveBack(server, self.key));
    }
}

impl LeasePool {
    /// Leases an instance of a server: one that this client had before, or a new one, which sleeps until it is called.
    /// `capabilities` are what the server is told that the client can do.
    pub(in crate::upstream) async fn lease(
        self: &Arc<Self>,
        base: &Upstream,
        orders: &mpsc::Sender<Order>,
        lessee: Lessee,
        capabilities: Raw,
    ) -> Result<Lease, Failure> {
        let place = self.place(base).await?;
        let (kept, over) = self.take(&lessee);
        over.into_iter().for_each(LeasedInstance::stop);
        let instance = match kept {
            Some(kept) => kept,
            None => self.start(base, orders, capabilities).await?,
        };
        Ok(Lease {
            upstream: instance.started.upstream.clone(),
            requestor: Requestor::Session(format!("{:?}", instance.key).into()),
            held: Some((lessee, instance)),
            pool: self.clone(),
            is_answered: false,
            _place: place,
        })
    }

    async fn place(&self, base: &Upstream) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let full = || {
            let server = base.name();
            let error = format!(
                "the server {server:?} asks its clients, and {INSTANCES} calls of clients without a session run there already"
            );
            Failure::new(ErrorCode::Overloaded, error, "Try again later.").of_server(server)
        };
        let waiting = Waiting::begin(&self.waiting).ok_or_else(full)?;
        let (deadline, _) = base.limits();
        let place = tokio::time::timeout(deadline, self.places.clone().acquire_owned()).await;
        drop(waiting);
        place.ok().and_then(Result::ok).ok_or_else(full)
    }

    /// What is kept for this client, or was left for so long that nothing of its last call comes any more; and what has to go: where the server has asked something meanwhile, and whatever
    /// would be too much beside a new one.
    fn take(&self, lessee: &Lessee) -> (Option<LeasedInstance>, Vec<LeasedInstance>) {
        let mut kept = self.kept.lock();
        let has_asked = |kept: &mut Kept| kept.instance.started.upstream.has_asked_outside();
        let mut over: Vec<Kept> = kept.extract_if(.., has_asked).collect();
        let is_own = |kept: &Kept| lessee.is_certainly(&kept.lessee);
        let is_free =
            |kept: &Kept| kept.since.elapsed() >= DOUBT && lessee.looks_like(&kept.lessee);
        let own = kept.iter().rposition(is_own);
        let own = own.or_else(|| kept.iter().position(is_free));
        let own = own.map(|at| kept.remove(at).instance);
        if own.is_none() {
            // Whoever leases one holds a place already.
            let leased = INSTANCES - self.places.available_permits();
            let surplus = (kept.len() + leased).saturating_sub(INSTANCES);
            let surplus = surplus.min(kept.len());
            over.extend(kept.drain(..surplus));
        }
        (own, over.into_iter().map(|kept| kept.instance).collect())
    }

    async fn start(
        &self,
        base: &Upstream,
        orders: &mpsc::Sender<Order>,
        capabilities: Raw,
    ) -> Result<LeasedInstance, Failure> {
        let scope = InstanceScope::Leased {
            number: self.last.fetch_add(1, Ordering::Relaxed),
            capabilities,
        };
        let key = scope.key();
        let started = start(base, orders, scope).await?;
        Ok(LeasedInstance {
            key,
            started,
            orders: orders.clone(),
        })
    }
}

/// Has the supervisor start an instance that is no session's.
pub(in crate::upstream) async fn start(
    base: &Upstream,
    orders: &mpsc::Sender<Order>,
    scope: InstanceScope,
) -> Result<StartedInstance, Failure> {
    let (started, answer) = oneshot::channel();
    let order = Order::Start {
        base: base.clone(),
        scope,
        started,
    };
    // The supervisor is gone only while shutting down.
    let sent = orders.send(order).await.is_ok();
    let answer = if sent { answer.await.ok() } else { None };
    answer
        .unwrap_or(Err(NotEntered::Gone))
        .map_err(|why| why.failure(base.name()))
}

/// One that waits for a place.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        // Dropped where there is no room, which takes it back.
        let waiting = Self(count);
        (before < WAITING).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lease {
    /// The instance.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The client that calls there: all who ever lease this instance are the same one.
    pub fn requestor(&self) -> &Requestor {
        &self.requestor
    }

    /// The call has its answer. An instance whose call was given up may still be at work on it, and is not used again.
    pub fn answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((lessee, instance)) = self.held.take() else {
            return;
        };
        if self.is_answered && !self.upstream.has_asked_outside() {
            self.pool.kept.lock().push(Kept {
                lessee,
                instance,
                since: Instant::now(),
            });
        } else {
            instance.stop();
        }
    }
}
