//! Authentication: who sent a request, by the settings in force. Only this room makes a [`Caller`]. What a caller may have is decided by
//! the gate, with the access rules of [`acl`].

pub mod acl;
mod caller;
mod credentials;
pub mod operators;
mod rate;
mod seat;
mod token_uses;

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderName, Method, header};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::{
    caller::Credential,
    credentials::is_trusted,
    operators::{NotAnOperator, OperatorPass, Operators},
    rate::{BucketOwner, Buckets},
    token_uses::{KEEP_EVERY, TokenUses},
};
pub use self::{
    caller::{Caller, ShownToken},
    credentials::{BadHeader, ForwardedUser, bearer_token, forwarded_user},
    seat::{ClientSeat, InstanceUser},
    token_uses::last_uses,
};
use crate::{
    config::{IssuedToken, Provider, RateLimit, ServerAuth, Settings, TokenHash},
    runtime::waits::or_never,
    telemetry::log_throttle::LogThrottle,
    text::secret::Secret,
};

/// Finds out who sent a request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Access(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    settings: watch::Receiver<Arc<Settings>>,
    open: Caller,
    local: Caller,
    operator: Caller,
    operators: Operators,
    /// The rate limit of the settings in force, kept here so that a request need not look for it.
    limit: ArcSwapOption<RateLimit>,
    buckets: Buckets,
    uses: TokenUses,
    /// Logins that could not be saved.
    unkept: LogThrottle,
}

/// The task beside [`Access`]: it follows the settings, and saves logins and the last uses of tokens.
pub struct AccessTask {
    access: Access,
    /// Where logins and the last uses of tokens are saved.
    data_dir: Option<PathBuf>,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A TCP connection from this address.
    Network(SocketAddr),
    /// A connection on the socket in the data folder, which only the folder's owner can open.
    LocalSocket,
}

/// How often a stream checks whether its token has expired: the clock may be set meanwhile.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(30);

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It has no credential.
    #[error("the request has no token")]
    NoCredential,
    /// A trusted proxy sent it, without the name of a user in this header.
    #[error("the request has no user name in {0}, and no token")]
    NoUser(HeaderName),
    /// Its token has expired.
    #[error("the token has expired")]
    ExpiredToken,
    /// Its token is unknown.
    #[error("the token is unknown")]
    UnknownToken,
    /// It identifies itself in another way, which means nothing here.
    #[error("the header authorization is not `Bearer TOKEN`")]
    NoBearer,
    /// A header with a credential cannot be read.
    #[error("{0}")]
    BadHeader(#[from] BadHeader),
}

impl Default for Access {
    /// Over the settings of an empty file.
    fn default() -> Self {
        let (_, settings) = watch::channel(Arc::default());
        Self::new(settings, None, None).0
    }
}

impl Access {
    /// Reads the settings in force. `api_key` is the key of operators where those have none. Logins to the page and the last uses of tokens
    /// are kept in the data folder, if there is one. Blocks.
    pub fn new(
        settings: watch::Receiver<Arc<Settings>>,
        api_key: Option<&Secret>,
        data_dir: Option<PathBuf>,
    ) -> (Self, AccessTask) {
        let limit = settings.borrow().rate_limit.map(Arc::new);
        let access = Self(Arc::new(Parts {
            settings,
            open: Caller::unnamed(Credential::Open(None)),
            local: Caller::unnamed(Credential::Local),
            operator: Caller::operator(),
            operators: Operators::new(api_key, data_dir.clone()),
            limit: ArcSwapOption::new(limit),
            buckets: Buckets::default(),
            uses: TokenUses::default(),
            unkept: LogThrottle::default(),
        }));
        let task = AccessTask {
            access: access.clone(),
            data_dir,
        };
        (access, task)
    }

    /// The settings in force.
    pub fn settings(&self) -> watch::Ref<'_, Arc<Settings>> {
        self.0.settings.borrow()
    }

    /// The caller behind the request of an MCP client. Clients come over the local socket too, through bridges, and are no operators
    /// for that; there no credential is required, but one that is shown has to be good.
    pub fn authenticate(
        &self,
        settings: &Settings,
        headers: &HeaderMap,
        peer: Peer,
    ) -> Result<Caller, Refused> {
        let auth = settings.server_auth.as_deref();
        let auth = auth.filter(|auth| auth.asks_for_credentials());
        let shown = bearer_token(headers)?;
        let token = shown.map(TokenHash::of);
        if let (Some(text), Some(hash)) = (shown, token)
            && text.starts_with(IssuedToken::PREFIX)
        {
            if let Some(caller) = self.by_issued(settings, hash)? {
                return Ok(caller);
            }
            // A revoked token is refused, whatever other credential the request has: nobody gets more rights by it.
            let is_known = auth.is_some_and(|auth| auth.token(&hash).is_some());
            if !is_known {
                return Err(Refused::UnknownToken);
            }
        }
        let identified = auth.map_or(Err(Refused::NoCredential), |auth| {
            Self::identify(auth, headers, peer)
        });
        let is_open = peer == Peer::LocalSocket || !settings.requires_credentials();
        let is_open = is_open && !headers.contains_key(header::AUTHORIZATION);
        match identified {
            // A token that is sent has to be good, even where none is needed.
            Err(Refused::NoCredential) if token.is_some() => Err(Refused::UnknownToken),
            Err(Refused::NoCredential) if is_open => Ok(self.without_token(settings, peer)),
            Err(Refused::NoCredential) => Err(lacking(auth, headers, peer)),
            identified => identified,
        }
    }

    /// The caller of a request without a token, where none is needed.
    fn without_token(&self, settings: &Settings, peer: Peer) -> Caller {
        match (peer, settings.rate_limit) {
            (Peer::LocalSocket, _) => self.0.local.clone(),
            (Peer::Network(address), Some(_)) => {
                Caller::unnamed(Credential::Open(Some(address.ip())))
            }
            (Peer::Network(_), None) => self.0.open.clone(),
        }
    }

    /// The holder of a token that a person issued.
    fn by_issued(&self, settings: &Settings, hash: TokenHash) -> Result<Option<Caller>, Refused> {
        let Some(token) = settings.issued.find(&hash) else {
            return Ok(None);
        };
        if token.is_expired() {
            return Err(Refused::ExpiredToken);
        }
        self.0.uses.note(&hash);
        let roles = token.roles.clone();
        Ok(Some(Caller::new(
            &token.subject,
            roles,
            Credential::Issued(hash),
        )))
    }

    /// Asks the providers in their order. The first that knows the sender decides; a header that cannot be read ends the search.
    fn identify(auth: &ServerAuth, headers: &HeaderMap, peer: Peer) -> Result<Caller, Refused> {
        let mut refused = Refused::NoCredential;
        for provider in &auth.providers {
            let found = match (provider, peer) {
                (Provider::Bearer, _) => by_token(auth, headers),
                (Provider::Forwarded, Peer::Network(address)) => {
                    by_proxy(auth, headers, address.ip())
                }
                (Provider::Forwarded, Peer::LocalSocket) => Err(Refused::NoCredential),
            };
            match found {
                Err(Refused::NoCredential) => (),
                Err(Refused::UnknownToken) => refused = Refused::UnknownToken,
                decided => return decided,
            }
        }
        Err(refused)
    }

    /// The caller behind a request to the operator's API, and the credential.
    pub fn authenticate_operator(
        &self,
        settings: &Settings,
        peer: Peer,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(Caller, OperatorPass), NotAnOperator> {
        let operators = &self.0.operators;
        let pass = operators.authenticate(settings, peer, method, headers)?;
        Ok((self.0.operator.clone(), pass))
    }

    /// Who is an operator, and the logins to the page.
    pub fn operators(&self) -> &Operators {
        &self.0.operators
    }

    /// When tokens were used last since the daemon began, by their hashes.
    pub fn token_uses(&self) -> BTreeMap<String, u64> {
        self.0.uses.noted()
    }

    /// Saves the logins to the page.
    pub async fn keep_logins(&self) {
        let access = self.clone();
        if let Err(error) = on_disk(move || access.0.operators.keep()).await
            && let Some(times) = self.0.unkept.due()
        {
            let effect = "they end with the daemon";
            tracing::warn!(%error, times, effect, "logins to the web UI not stored");
        }
    }

    /// Returns when an operator's pass is no longer valid. Cancel-safe.
    pub async fn operator_withdrawn(&self, pass: OperatorPass) {
        let settings = self.0.settings.clone();
        self.0.operators.withdrawn(pass, settings).await;
    }

    /// The client at the other end of our standard streams: the program that started us.
    pub fn standard_streams(&self) -> Caller {
        self.0.local.clone()
    }

    /// The person at the terminal, for what the command line does without a daemon.
    pub fn terminal(&self) -> Caller {
        self.0.operator.clone()
    }

    /// The operator as the reader of lists, from whom no access rule hides anything.
    pub fn inspector() -> Caller {
        Caller::inspector()
    }

    /// A caller for a question about access.
    pub fn imagined(subject: &str, roles: Vec<String>) -> Caller {
        Caller::new(subject, roles, Credential::Imagined)
    }

    /// The holder of this token, for a question about access.
    pub fn imagined_holder(token: &IssuedToken) -> Caller {
        let roles = token.roles.clone();
        Caller::new(&token.subject, roles, Credential::Issued(token.hash))
    }

    /// Returns when the caller's credential is no longer valid. Cancel-safe.
    pub async fn withdrawn(&self, caller: &Caller) {
        let mut settings = self.0.settings.clone();
        loop {
            let rest = {
                let settings = settings.borrow_and_update();
                if !caller.is_current(&settings) {
                    return;
                }
                caller.rest(&settings)
            };
            let over = rest.map(|rest| tokio::time::sleep(rest.min(LOOK_AT_CLOCK)));
            tokio::select! {
                () = or_never(over) => (),
                changed = settings.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
            }
        }
    }

    /// Counts a request against the rate limit; the error is the time to wait. `connection` tells callers without a credential apart.
    pub fn count_request(
        &self,
        caller: &Caller,
        connection: Option<&Arc<str>>,
    ) -> Result<(), Duration> {
        let limit = self.0.limit.load();
        let Some(limit) = limit.as_deref() else {
            return Ok(());
        };
        let by_subject = || BucketOwner::Subject(caller.subject().into());
        let counted = match (caller.credential(), connection) {
            (Credential::Operator, _) => return Ok(()),
            (Credential::Open(Some(address)), _) => BucketOwner::address(address),
            (Credential::Local, Some(connection)) => BucketOwner::Connection(connection.clone()),
            _ => by_subject(),
        };
        self.0.buckets.take(counted, *limit, Instant::now())
    }
}

impl AccessTask {
    /// Follows the settings until shutdown.
    pub async fn run(self, shutdown: CancellationToken) {
        let keeping = self.keep_uses(&shutdown);
        tokio::join!(keeping, self.follow(&shutdown));
    }

    async fn keep_uses(&self, shutdown: &CancellationToken) {
        let Some(data_dir) = &self.data_dir else {
            return;
        };
        let (mut is_over, unkept) = (false, LogThrottle::default());
        while !is_over {
            let waiting = tokio::time::timeout(KEEP_EVERY, shutdown.cancelled());
            is_over = waiting.await.is_ok();
            self.access.keep_logins().await;
            let (access, data_dir) = (self.access.clone(), data_dir.clone());
            let keep = move || {
                let issued = access.settings().issued.clone();
                access.0.uses.keep(&data_dir, &issued)
            };
            if let Err(error) = on_disk(keep).await
                && let Some(times) = unkept.due()
            {
                tracing::warn!(%error, times, "last use of tokens not stored");
            }
        }
    }

    async fn follow(&self, shutdown: &CancellationToken) {
        let parts = &self.access.0;
        let mut settings = parts.settings.clone();
        let mut key = parts.operators.key(&settings.borrow());
        let following = async {
            while settings.changed().await.is_ok() {
                let now = settings.borrow_and_update().clone();
                parts.limit.store(now.rate_limit.map(Arc::new));
                // Whoever had the old key must not keep a login that it opened.
                let key_before = std::mem::replace(&mut key, parts.operators.key(&now));
                if key != key_before {
                    parts.operators.end_all();
                }
            }
        };
        shutdown.run_until_cancelled(following).await;
    }
}

/// Runs work that may wait for the disk, off the workers of the runtime.
async fn on_disk(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other)?
}

fn by_token(auth: &ServerAuth, headers: &HeaderMap) -> Result<Caller, Refused> {
    let token = bearer_token(headers)?.ok_or(Refused::NoCredential)?;
    let hash = TokenHash::of(token);
    let known = auth.token(&hash).ok_or(Refused::UnknownToken)?;
    let roles = known.roles.clone();
    Ok(Caller::new(&known.subject, roles, Credential::Token(hash)))
}

/// What a request without a credential lacks: the name of a user, where it is from a trusted proxy.
fn lacking(auth: Option<&ServerAuth>, headers: &HeaderMap, peer: Peer) -> Refused {
    let names = auth.filter(|auth| auth.providers.contains(&Provider::Forwarded));
    match (names.map(|auth| &auth.forwarded), peer) {
        (Some(names), Peer::Network(address)) if is_trusted(names, address.ip()) => {
            Refused::NoUser(names.header.clone())
        }
        _ if headers.contains_key(header::AUTHORIZATION) => Refused::NoBearer,
        _ => Refused::NoCredential,
    }
}

/// The user whom a trusted proxy names. The headers of others are ignored.
fn by_proxy(auth: &ServerAuth, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Refused> {
    if !is_trusted(&auth.forwarded, peer) {
        return Err(Refused::NoCredential);
    }
    let user = forwarded_user(headers, &auth.forwarded)?.ok_or(Refused::NoCredential)?;
    let credential = Credential::Forwarded(peer);
    Ok(Caller::new(&user.subject, user.roles, credential))
}

#[cfg(test)]
mod tests;
