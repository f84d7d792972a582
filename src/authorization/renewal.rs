//! Renews tokens: once for all requests that find one old, in a task of its own, because a renewal that is broken off may have used up the
//! only refresh token.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::FutureExt;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, CredentialStore, InMemoryCredentialStore,
    OAuthClientConfig, StoredCredentials,
};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LoginTrouble,
    access_token::{AccessToken, now},
    login_file::{Grant, with_tokens},
    login_state::{GrantReplacement, LoginState},
    login_status::LoginEvent,
    oauth_http::{OAuthHttp, UNUSABLE},
    renewal_pauses::RenewalCause,
};
use crate::{runtime::sync::Guarded, text::Secret};

/// What came of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewed {
    /// There is a new token, or somebody has logged in or out meanwhile.
    Done,
    /// The authorization server has ended the login: a person has to log in, and the state says so.
    Refused,
    /// The request failed, or had no answer.
    Failed,
}

/// The renewals of one server's tokens.
pub(super) struct TokenRenewals {
    state: Arc<LoginState>,
    newest: Guarded<Option<Renewal>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// A task waits for the end of the pause.
    is_retrying: AtomicBool,
}

/// A renewal under way or done. Its task gives an outcome in any case.
struct Renewal {
    token: Arc<AccessToken>,
    outcome: watch::Receiver<Option<Renewed>>,
}

impl Renewal {
    fn has_failed(&self) -> bool {
        *self.outcome.borrow() == Some(Renewed::Failed)
    }
}

impl TokenRenewals {
    pub(super) fn new(
        state: Arc<LoginState>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            state,
            newest: Guarded::default(),
            tasks,
            stop,
            is_retrying: AtomicBool::new(false),
        })
    }

    /// No renewal begins by itself any more.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }

    /// The login does not work for now. It is renewed again when its pause is over, even if nobody asks for that.
    pub(super) fn put_off(self: &Arc<Self>, trouble: LoginTrouble) {
        tracing::warn!(server = %self.state.name, reason = %trouble, "login refused for now");
        self.state.note(LoginEvent::Stuck(trouble));
        if self.is_retrying.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.clone();
        self.tasks.spawn(async move {
            loop {
                this.retry().await;
                this.is_retrying.store(false, Ordering::Release);
                // Somebody may have relied on this task meanwhile.
                let is_over = this.state.trouble().is_none() || this.stop.is_cancelled();
                if is_over || this.is_retrying.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }

    /// Waits for the end of the pause, and renews.
    async fn retry(&self) {
        let Some(trouble) = self.state.trouble() else {
            return;
        };
        tokio::select! {
            () = self.stop.cancelled() => return,
            () = tokio::time::sleep_until(trouble.until.into()) => (),
        }
        let token = self.state.token();
        let Some(token) = token.filter(|_| self.state.trouble().is_some()) else {
            return;
        };
        match self.renew(&token, RenewalCause::Refusal).await {
            Renewed::Done => self.state.note(LoginEvent::Works),
            Renewed::Refused => (),
            Renewed::Failed => {
                if let Some(trouble) = self.state.pausing() {
                    self.state.note(LoginEvent::Stuck(trouble));
                }
            }
        }
    }

    /// Renews a token and waits for that; concurrent renewals share the outcome.
    pub(super) async fn renew(&self, token: &Arc<AccessToken>, cause: RenewalCause) -> Renewed {
        let mut outcome = self.begin(token, cause);
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => *outcome,
            _ => Renewed::Failed,
        }
    }

    /// Begins to renew a token if nobody has yet. Only renewals that begin here are remembered: a former token has nothing to renew, and
    /// must not hide the renewal of the one in use.
    pub(super) fn begin(
        &self,
        token: &Arc<AccessToken>,
        cause: RenewalCause,
    ) -> watch::Receiver<Option<Renewed>> {
        let mut newest = self.newest.lock();
        if let Some(renewal) = newest.as_ref()
            && Arc::ptr_eq(&renewal.token, token)
            && !renewal.has_failed()
        {
            return renewal.outcome.clone();
        }
        let known = self.known_outcome(token);
        let (done, outcome) = watch::channel(known);
        if known.is_none() {
            *newest = Some(Renewal {
                token: token.clone(),
                outcome: outcome.clone(),
            });
            let state = self.state.clone();
            self.tasks.spawn(async move {
                let renewed = outcome_of(&state, renew_grant(&state, cause)).await;
                done.send_replace(Some(renewed));
            });
        }
        outcome
    }

    /// The outcome where no renewal has to begin.
    fn known_outcome(&self, token: &Arc<AccessToken>) -> Option<Renewed> {
        if self.state.pausing().is_some() {
            return Some(Renewed::Failed);
        }
        let current = self.state.token();
        let is_current = current.is_some_and(|current| Arc::ptr_eq(&current, token));
        // It was renewed meanwhile.
        (!is_current).then_some(Renewed::Done)
    }
}

/// The outcome of a renewal. A panic, which is in the log, counts as a failure: a pause follows, and the next renewal may work.
async fn outcome_of(state: &LoginState, renewing: impl Future<Output = Renewed>) -> Renewed {
    let renewed = AssertUnwindSafe(renewing).catch_unwind().await;
    renewed.unwrap_or_else(|_| match &state.kept().grant {
        Some(grant) => note_failure(state, grant, "mcpproxy failed with an internal fault"),
        None => Renewed::Done,
    })
}

/// Renews the grant that is kept now.
async fn renew_grant(state: &LoginState, cause: RenewalCause) -> Renewed {
    let Some(grant) = state.kept().grant.clone() else {
        // Somebody logged out meanwhile.
        return Renewed::Done;
    };
    let http = Arc::new(OAuthHttp::new(&state.terms, Some(grant.resource.clone())).await);
    let renewed = request_tokens(state, &grant, http.clone()).await;
    let heard = http.heard();
    match (renewed, heard.refusal) {
        (Some(renewed), _) => match state.replace(&grant, renewed, cause) {
            GrantReplacement::InUse => {
                tracing::debug!(server = %state.name, "the token was renewed");
                Renewed::Done
            }
            GrantReplacement::Unusable => failed(state, &grant, "issued no usable token"),
            GrantReplacement::Overtaken => Renewed::Done,
        },
        (None, Some(refusal)) => {
            if state.end(&grant, &refusal) {
                Renewed::Refused
            } else {
                Renewed::Done
            }
        }
        (None, None) => {
            let fault = heard.token_fault.or(heard.fault);
            failed(state, &grant, fault.as_deref().unwrap_or(UNUSABLE))
        }
    }
}

/// The authorization server did not renew the login, and did not refuse to.
fn failed(state: &LoginState, grant: &Grant, why: &str) -> Renewed {
    let why = state.error(&format!("its authorization server {} {why}", grant.issuer));
    note_failure(state, grant, &why.to_string())
}

/// Notes a renewal that failed; nothing is left to do where its grant is no longer the login.
fn note_failure(state: &LoginState, grant: &Grant, why: &str) -> Renewed {
    let Some(trouble) = state.renewal_failed(grant, why) else {
        return Renewed::Done;
    };
    tracing::warn!(server = %state.name, reason = %trouble, "the token could not be renewed");
    Renewed::Failed
}

/// Requests new tokens with the refresh token of the grant.
async fn request_tokens(state: &LoginState, grant: &Grant, http: Arc<OAuthHttp>) -> Option<Grant> {
    let manager =
        AuthorizationManager::new_with_oauth_http_client(state.terms.url.as_str(), http).await;
    let mut manager = manager.ok()?;
    let metadata: AuthorizationMetadata = serde_json::from_value(grant.metadata.clone()).ok()?;
    manager.set_metadata(metadata);
    let mut config = OAuthClientConfig::new(grant.client_id.as_str(), grant.redirect_uri.as_str());
    if let Some(secret) = &grant.client_secret {
        config = config.with_client_secret(secret.reveal());
    }
    manager.configure_client(config).ok()?;
    let store = InMemoryCredentialStore::new();
    let had = json!({
        "access_token": grant.access_token.reveal(),
        "token_type": "bearer",
        "refresh_token": grant.refresh_token.as_ref().map(Secret::reveal),
    });
    let had = serde_json::from_value(had).ok()?;
    let (client, scopes) = (grant.client_id.clone(), grant.scopes.clone());
    let stored = StoredCredentials::new(client, Some(had), scopes, Some(grant.received));
    store.save(stored).await.ok()?;
    manager.set_credential_store(store);
    let token = manager.refresh_token().await.ok()?;
    let token = serde_json::to_value(&token).ok()?;
    with_tokens(grant.clone(), &token, now())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, task::Poll};

    use super::*;
    use crate::authorization::login_state::tests::{grant, login};

    /// A server to which somebody has logged in.
    fn logged_in(folder: &Path) -> Arc<LoginState> {
        let state = login(&folder.join("logins").join("a.json"));
        let taken = state.take(grant("current"), &CancellationToken::new());
        taken.expect("a login");
        Arc::new(state)
    }

    #[tokio::test]
    async fn a_token_of_before_hides_no_renewal() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = logged_in(folder.path());
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let renewals = TokenRenewals::new(state, tasks, stop);
        let before = Arc::new(AccessToken::of(&grant("before")).expect("a token"));
        let renewed = renewals.renew(&before, RenewalCause::Age).await;
        assert_eq!(renewed, Renewed::Done);
        assert!(renewals.newest.lock().is_none());
    }

    #[tokio::test]
    async fn a_renewal_that_panics_has_failed_and_has_a_pause() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = logged_in(folder.path());
        let fault = std::future::poll_fn(|_| -> Poll<Renewed> { panic!("a fault") });
        let renewed = outcome_of(&state, fault).await;
        assert_eq!(renewed, Renewed::Failed);
        assert!(state.pausing().is_some());
    }
}
