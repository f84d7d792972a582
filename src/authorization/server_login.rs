//! The login of one server: the token that requests carry, what follows when the server refuses one, and how a person logs in. Shared by
//! all connections to the server, whichever clients they are for.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use http::HeaderValue;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    BearerChallenge, LoginError, LoginProgress, LoginStarted, LoginStatus,
    access_token::now,
    login_state::LoginState,
    login_status::LoginEvent,
    pending::PendingLogins,
    renewal::{Renewed, TokenRenewals},
    renewal_pauses::RenewalCause,
    terms::Terms,
};
use crate::{
    link::{Authorization, Challenge, LoginHeader},
    storage::DiskFault,
    text::{Secrets, ServerName},
};

/// The login of one server.
pub struct ServerLogin {
    state: Arc<LoginState>,
    renewals: Arc<TokenRenewals>,
    pending: PendingLogins,
}

impl ServerLogin {
    /// Reads what is kept.
    pub(super) fn load(
        name: ServerName,
        terms: Terms,
        file: PathBuf,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let state = Arc::new(LoginState::load(name, terms, file));
        Self {
            renewals: TokenRenewals::new(state.clone(), tasks.clone(), stop.child_token()),
            pending: PendingLogins::new(state.clone(), tasks, stop),
            state,
        }
    }

    /// Its status, now and later.
    pub fn status(&self) -> watch::Receiver<LoginStatus> {
        self.state.status()
    }

    /// Why the newest login failed, if every other would fail so.
    pub fn obstacle(&self) -> Option<LoginError> {
        self.state.obstacle()
    }

    /// Whether somebody has logged in.
    pub fn is_logged_in(&self) -> bool {
        self.state.is_logged_in()
    }

    /// Whether there is a token to send.
    pub fn has_token(&self) -> bool {
        self.state.token().is_some()
    }

    /// The server took a connection: whatever it wanted before, it does not want now.
    pub fn accepted(&self) {
        self.state.note(LoginEvent::Connected);
    }

    /// Begins a login. One that is under way is given up.
    pub async fn begin(&self) -> Result<LoginStarted, LoginError> {
        self.pending.begin().await
    }

    /// Ends the login under way with the address that the browser ended at.
    pub async fn finish(&self, address: &str) -> Result<(), LoginError> {
        self.pending.finish(address).await
    }

    /// The state of the login that was begun last; waits for its end, but not longer than `patience`.
    pub async fn progress(&self, patience: Duration) -> LoginProgress {
        self.pending.progress(patience).await
    }

    /// Forgets the tokens, here and on disk. What we are registered as is kept. Where nobody is logged in nothing changes; whether
    /// somebody was.
    pub fn log_out(&self) -> Result<bool, DiskFault> {
        if !self.state.is_logged_in() {
            return Ok(false);
        }
        self.pending.abandon();
        self.state.log_out().map(|()| true)
    }

    /// Whether it depends on exactly these terms.
    pub(super) fn is_of(&self, terms: &Terms) -> bool {
        self.state.terms == *terms
    }

    /// Gives the login under way up: the server is another, or gone.
    pub(super) fn abandon(&self) {
        self.renewals.end();
        self.pending.abandon();
    }

    /// Forgets everything, on disk too.
    pub(super) fn forget(&self) -> std::io::Result<()> {
        self.abandon();
        self.state.forget()
    }

    /// The server answered 401: the token is not accepted, or there is none. Gives the header to try again with.
    async fn unauthorized(
        &self,
        challenge: Challenge,
        sent: Option<HeaderValue>,
    ) -> Option<HeaderValue> {
        let header = challenge.www_authenticate.unwrap_or_default();
        let is_for_tokens = header.is_empty() || BearerChallenge::read(&header).is_bearer;
        if !header.is_empty() {
            self.state.note_challenge(header);
        }
        let Some(token) = self.state.token() else {
            // A reason that is known already says more.
            if is_for_tokens && !matches!(*self.status().borrow(), LoginStatus::Needed(_)) {
                let why = "it asks for a login".to_owned();
                self.state.note(LoginEvent::Needed(why));
            }
            return None;
        };
        if sent.as_ref() != Some(&token.header) {
            // Another one came meanwhile.
            return Some(token.header.clone());
        }
        if !token.is_renewable {
            let why = "it rejects the stored login".to_owned();
            self.state.note(LoginEvent::Needed(why));
            return None;
        }
        if let Some(trouble) = self.state.token_refused(&token.header) {
            self.renewals.put_off(trouble);
            return None;
        }
        match self.renewals.renew(&token, RenewalCause::Refusal).await {
            Renewed::Done => {
                let token = self.state.token();
                return token.map(|token| token.header.clone());
            }
            Renewed::Refused => (),
            Renewed::Failed => {
                if let Some(trouble) = self.state.pausing() {
                    self.renewals.put_off(trouble);
                }
            }
        }
        None
    }

    /// The server answered 403: the token may lack a permission. The request has failed; others may go on.
    fn forbidden(&self, challenge: &Challenge) {
        let header = challenge.www_authenticate.as_deref().unwrap_or_default();
        let read = BearerChallenge::read(header);
        if !read.lacks_scope() {
            return;
        }
        let secrets = self.state.secrets();
        let mut scopes = read.scopes;
        // A challenge may repeat the token; none of it is shown.
        scopes.retain(|scope| secrets.redacted(scope) == scope.as_str());
        self.state.want_scopes(scopes, header);
    }
}

impl Authorization for ServerLogin {
    fn supply(&self) -> LoginHeader {
        let Some(token) = self.state.token() else {
            return LoginHeader::Now(None);
        };
        if !token.is_renewable {
            return LoginHeader::Now(Some(token.header.clone()));
        }
        let now = now();
        if token.has_ended(now) {
            let (renewals, state) = (self.renewals.clone(), self.state.clone());
            let renewing = async move {
                // Where that fails, the server says what it makes of the old one.
                let _ = renewals.renew(&token, RenewalCause::Age).await;
                let token = state.token();
                token.map(|token| token.header.clone())
            };
            return LoginHeader::Later(renewing.boxed());
        }
        if token.is_due(now) {
            self.renewals.begin(&token, RenewalCause::Age);
        }
        LoginHeader::Now(Some(token.header.clone()))
    }

    fn secrets(&self) -> Secrets {
        self.state.secrets()
    }

    fn accepted(&self, sent: &HeaderValue) {
        self.state.token_accepted(sent);
    }

    fn refused(
        &self,
        challenge: Challenge,
        sent: Option<HeaderValue>,
    ) -> BoxFuture<'_, Option<HeaderValue>> {
        if challenge.status == 401 {
            return self.unauthorized(challenge, sent).boxed();
        }
        self.forbidden(&challenge);
        std::future::ready(None).boxed()
    }
}
