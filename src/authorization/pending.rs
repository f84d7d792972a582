//! A login that waits for a person: begun once, and ended once, by the browser, by a pasted address, or when its time is over.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LoginError,
    callback::Callback,
    callback_listener::CallbackReceiver,
    flow::PreparedLogin,
    login_state::{LoginState, given_up},
};
use crate::{failure::NextStep, runtime::sync::Guarded};

/// How long a person may take.
const CALLBACK_TIMEOUT: Duration = Duration::from_mins(10);

/// A login that has begun.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoginStarted {
    /// The server.
    pub server: String,
    /// The URL to open in a browser.
    pub url: String,
    /// The URI to which the browser returns.
    pub redirect_uri: String,
    /// Whether mcpproxy receives the browser there; if not, send its final URL as `redirect_url`.
    pub listens: bool,
    /// Seconds until the login expires.
    pub expires_in: u64,
}

/// The state of a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LoginProgress {
    /// No login has begun.
    None,
    /// Waiting for you in the browser.
    Waiting,
    /// Logged in.
    Done,
    /// The login failed.
    Failed {
        /// Why it failed.
        error: String,
        /// The next step; absent if a new login may help.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<NextStep>,
    },
}

type Outcome = Option<Result<(), LoginError>>;

/// A login under way.
pub(super) struct PendingLogin {
    login: Arc<LoginState>,
    state: String,
    /// Taken by the first callback of this login.
    prepared: Guarded<Option<PreparedLogin>>,
    /// That callback.
    callback: Guarded<Option<Callback>>,
    outcome: watch::Sender<Outcome>,
    stop: CancellationToken,
    /// Nothing listens for the browser any more.
    closed: CancellationToken,
    tasks: TaskTracker,
}

impl PendingLogin {
    /// Ends it with what the browser or a person brought, and gives the outcome. A callback of another login changes nothing.
    async fn complete(self: Arc<Self>, callback: Callback) -> Result<(), LoginError> {
        if callback.state.as_deref() != Some(self.state.as_str()) {
            return Err(another_page(
                "no login of this server waits for this address",
            ));
        }
        if *self.callback.lock().get_or_insert_with(|| callback.clone()) != callback {
            let why = "another address was already given for this login";
            return Err(LoginError::Failed(why.to_owned()));
        }
        let prepared = self.prepared.lock().take();
        // A code can be exchanged once only. If its address comes again, the outcome is the same.
        if let Some(prepared) = prepared {
            let this = self.clone();
            // The browser may leave.
            self.tasks.spawn(async move {
                let exchanged = this.login.exchange(prepared, callback).await;
                // Before anybody learns of the end and looks at the server's state.
                this.end(exchanged.and_then(|grant| this.login.take(grant, &this.stop)));
            });
        }
        let mut outcome = self.outcome.subscribe();
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(given_up()),
        }
    }

    /// Ends it with the outcome of its exchange.
    fn end(&self, outcome: Result<(), LoginError>) {
        match &outcome {
            Ok(()) => tracing::info!(server = %self.login.name, "logged in to the server"),
            Err(error) => {
                tracing::warn!(server = %self.login.name, %error, "a login failed");
                self.login.login_failed(error);
            }
        }
        self.set_outcome(outcome);
    }

    /// Ends it without an exchange.
    fn give_up(&self, why: &str) {
        *self.prepared.lock() = None;
        self.set_outcome(Err(LoginError::Failed(why.to_owned())));
        self.stop.cancel();
    }

    /// The first outcome counts.
    fn set_outcome(&self, outcome: Result<(), LoginError>) {
        self.outcome.send_if_modified(|ended| {
            let is_first = ended.is_none();
            if is_first {
                *ended = Some(outcome);
            }
            is_first
        });
    }
}

/// The failure for an address that is not that of the login under way.
fn another_page(why: &str) -> LoginError {
    let words = "give the whole address of the login's last page";
    LoginError::Needs(why.to_owned(), NextStep::act(words).or_request(words))
}

impl CallbackReceiver for PendingLogin {
    fn take(self: Arc<Self>, callback: Callback) -> BoxFuture<'static, Result<(), LoginError>> {
        self.complete(callback).boxed()
    }

    fn over(&self) -> BoxFuture<'_, ()> {
        let over = async {
            let mut outcome = self.outcome.subscribe();
            tokio::select! {
                () = self.stop.cancelled() => (),
                _ = outcome.wait_for(Option::is_some) => (),
            }
        };
        over.boxed()
    }

    fn server(&self) -> &str {
        self.login.name.as_str()
    }
}

/// The logins of one server that wait for a person: the newest, if there is one.
pub(super) struct PendingLogins {
    login: Arc<LoginState>,
    newest: Guarded<Option<Arc<PendingLogin>>>,
    /// One begins at a time: both may need the same port.
    beginning: Mutex<()>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl PendingLogins {
    pub(super) fn new(login: Arc<LoginState>, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            login,
            newest: Guarded::default(),
            beginning: Mutex::default(),
            tasks,
            stop,
        }
    }

    /// Begins a login. One that is under way is given up.
    pub(super) async fn begin(&self) -> Result<LoginStarted, LoginError> {
        let begun = self.try_to_begin().await;
        begun.inspect_err(|error| self.login.login_failed(error))
    }

    async fn try_to_begin(&self) -> Result<LoginStarted, LoginError> {
        let found = Box::pin(self.login.discover()).await?;
        let _beginning = self.beginning.lock().await;
        let before = self.newest.lock().clone();
        if let Some(before) = before {
            before.give_up("another login was begun");
            // The authorization server may know no other port.
            before.closed.cancelled().await;
        }
        let mut prepared = Box::pin(self.login.prepare(found)).await?;
        let listener = prepared.listener.take();
        let started = LoginStarted {
            server: self.login.name.to_string(),
            url: prepared.url.clone(),
            redirect_uri: prepared.redirect_uri.clone(),
            listens: listener.is_some(),
            expires_in: CALLBACK_TIMEOUT.as_secs(),
        };
        let pending = Arc::new(PendingLogin {
            login: self.login.clone(),
            state: prepared.state.clone(),
            prepared: Guarded::new(Some(prepared)),
            callback: Guarded::default(),
            outcome: watch::Sender::new(None),
            stop: self.stop.child_token(),
            closed: CancellationToken::new(),
            tasks: self.tasks.clone(),
        });
        *self.newest.lock() = Some(pending.clone());
        let closed = pending.closed.clone().drop_guard();
        self.tasks.spawn(async move {
            let _closed = closed;
            let waiting = async {
                match listener {
                    Some(listener) => listener.serve(pending.clone()).await,
                    None => pending.over().await,
                }
            };
            let ended = tokio::time::timeout(CALLBACK_TIMEOUT, waiting).await;
            if ended.is_err() {
                pending.give_up("no login within 10 min");
            }
        });
        Ok(started)
    }

    /// Ends the login under way with the address that the browser ended at.
    pub(super) async fn finish(&self, address: &str) -> Result<(), LoginError> {
        let pending = self.newest.lock().clone();
        let pending =
            pending.ok_or_else(|| LoginError::Failed("no login is under way".to_owned()))?;
        let callback = Callback::of_address(address)
            .ok_or_else(|| another_page("`code` and `state` are missing in this address"))?;
        pending.complete(callback).await
    }

    /// The state of the login that was begun last; waits for its end, but not longer than `patience`.
    pub(super) async fn progress(&self, patience: Duration) -> LoginProgress {
        let pending = self.newest.lock().clone();
        let Some(pending) = pending else {
            return LoginProgress::None;
        };
        let mut outcome = pending.outcome.subscribe();
        let waiting = outcome.wait_for(Option::is_some);
        let _ = tokio::time::timeout(patience, waiting).await;
        match &*pending.outcome.borrow() {
            None => LoginProgress::Waiting,
            Some(Ok(())) => LoginProgress::Done,
            Some(Err(error)) => {
                let step = error.lasting_step(self.login.name.as_str());
                LoginProgress::Failed {
                    error: error.to_string(),
                    step: step.map(NextStep::without_commands),
                }
            }
        }
    }

    /// Gives the login under way up.
    pub(super) fn abandon(&self) {
        let pending = self.newest.lock().take();
        if let Some(pending) = pending {
            pending.give_up("the server was changed or removed");
        }
    }
}
