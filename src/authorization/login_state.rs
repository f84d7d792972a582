//! What is known of the login of one server: what is kept on disk, the token in use, and whether a person has to log in.

use std::{collections::BTreeSet, io, path::PathBuf, sync::Arc};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::{
    LoginError,
    kept::{self, Grant, KeptLogin},
    terms::Terms,
    token::AccessToken,
};
use crate::{names::ServerName, secret::Secrets, sync::Guarded};

/// Whether a person has to log in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LoginStatus {
    /// Nothing is known against it.
    #[default]
    Fine,
    /// The server takes no request without, for this reason.
    Needed(String),
    /// The server takes requests, and refused some for want of these scopes.
    MoreScopes(Vec<String>),
}

/// The login of one server, as far as it is known.
pub(super) struct LoginState {
    pub(super) name: ServerName,
    pub(super) terms: Terms,
    pub(super) token: ArcSwapOption<AccessToken>,
    pub(super) status: watch::Sender<LoginStatus>,
    /// What the server said when it refused a request last.
    pub(super) challenge: Guarded<Option<String>>,
    /// Scopes that calls were refused for want of.
    pub(super) wanted: Guarded<BTreeSet<String>>,
    kept: Guarded<KeptLogin>,
    file: PathBuf,
}

impl LoginState {
    /// Reads what is kept.
    pub(super) fn load(name: ServerName, terms: Terms, file: PathBuf) -> Self {
        let kept = KeptLogin::load(&file, &terms.url);
        let token = kept.grant.as_ref().and_then(AccessToken::of);
        Self {
            name,
            terms,
            token: ArcSwapOption::from_pointee(token),
            status: watch::Sender::new(LoginStatus::default()),
            challenge: Guarded::default(),
            wanted: Guarded::default(),
            kept: Guarded::new(kept),
            file,
        }
    }

    /// Forgets the tokens, here and on disk. What we are registered as is kept.
    pub(super) fn log_out(&self) -> io::Result<()> {
        let written = {
            let mut kept = self.kept.lock();
            kept.grant = None;
            kept.save(&self.file)
        };
        self.token.store(None);
        self.wanted.lock().clear();
        self.needs("nobody is logged in to it");
        written
    }

    /// Forgets everything, on disk too.
    pub(super) fn forget(&self) -> io::Result<()> {
        *self.kept.lock() = KeptLogin::nothing(&self.terms.url);
        self.token.store(None);
        kept::remove(&self.file)
    }

    /// An error in words that may be shown. An authorization server may repeat in an error whatever it was sent, so nothing that is known
    /// of this login shows in it.
    pub(super) fn error(&self, text: &str) -> LoginError {
        self.error_without(&[], text)
    }

    /// The same, without these texts either.
    pub(super) fn error_without(&self, more: &[&str], text: &str) -> LoginError {
        let known = self.kept();
        let known = known.secrets().map(|secret| secret.reveal().to_owned());
        let more = more.iter().map(|text| (*text).to_owned());
        self.terms.error(&Secrets::new(known.chain(more)), text)
    }

    pub(super) fn kept(&self) -> KeptLogin {
        self.kept.lock().clone()
    }

    /// Changes what is kept. What cannot be written counts all the same, until the daemon ends.
    pub(super) fn keep(&self, change: impl FnOnce(&mut KeptLogin)) {
        let mut kept = self.kept.lock();
        change(&mut kept);
        if let Err(error) = kept.save(&self.file) {
            tracing::warn!(server = %self.name, file = %self.file.display(), %error, "the login cannot be kept on disk; it lasts until the daemon ends");
        }
    }

    /// Takes tokens into use: on disk first, so that a crash loses none that the authorization server has replaced.
    pub(super) fn take(&self, grant: Grant) -> bool {
        let Some(token) = AccessToken::of(&grant) else {
            return false;
        };
        self.keep(|kept| kept.grant = Some(grant));
        self.token.store(Some(Arc::new(token)));
        true
    }

    pub(super) fn needs(&self, reason: &str) {
        let needed = LoginStatus::Needed(reason.to_owned());
        self.status.send_if_modified(|status| {
            let is_new = *status != needed;
            if is_new {
                *status = needed;
            }
            is_new
        });
    }
}
