//! The state of the login of one server: what is kept of it on disk, the token in use, and whether a person has to log in. All changes go
//! through one lock order, so that a late renewal changes no other login.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::HeaderValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    LoginError, LoginTrouble,
    access_token::AccessToken,
    login_file::{Grant, KeptLogin},
    login_status::{LoginEvent, LoginStatus},
    oauth_http::OAuthRefusal,
    renewal_pauses::{RenewalCause, RenewalPauses},
    terms::Terms,
};
use crate::{
    runtime::sync::Guarded,
    storage::{self, DiskFault},
    text::{Secret, Secrets, ServerName},
};

/// The state of the login of one server.
pub(super) struct LoginState {
    pub(super) name: ServerName,
    pub(super) terms: Terms,
    token: ArcSwapOption<AccessToken>,
    /// What the file has, or should have. Read without a lock, so that nobody waits for the disk.
    kept: ArcSwap<KeptLogin>,
    /// Invariant: whoever changes `kept` holds this until it is written. It is locked before `memory`, and that before `status`.
    file: Guarded<PathBuf>,
    memory: Guarded<LoginMemory>,
    status: watch::Sender<LoginStatus>,
    /// The server has refused the token in use or the former one, and has taken none since.
    in_doubt: AtomicBool,
}

/// What is known of a login until the daemon ends.
#[derive(Default)]
struct LoginMemory {
    /// The server's challenge when it refused a request last.
    challenge: Option<String>,
    /// Why the newest login failed, if every other would fail so.
    obstacle: Option<LoginError>,
    /// Scopes that calls were refused for want of.
    wanted: BTreeSet<String>,
    /// When the token may be renewed.
    pauses: RenewalPauses,
    /// Tokens that were in use before, which a server may still repeat.
    former: VecDeque<Secret>,
}

impl LoginMemory {
    /// Forgets all that was against the former login.
    fn absolve(&mut self) {
        self.pauses = RenewalPauses::default();
        self.obstacle = None;
        self.wanted.clear();
    }
}

/// What became of the tokens of a renewal.
pub(super) enum GrantReplacement {
    /// They are in use.
    InUse,
    /// No header can carry them.
    Unusable,
    /// Somebody has logged in or out meanwhile.
    Overtaken,
}

/// Limit: scopes to request because calls were refused for want of them.
const MOST_SCOPES: usize = 64;

/// How many former tokens are remembered, to be masked in texts.
const MOST_FORMER: usize = 4;

impl LoginState {
    /// Reads what is kept.
    pub(super) fn load(name: ServerName, terms: Terms, file: PathBuf) -> Self {
        let kept = KeptLogin::load(&file, &terms.url);
        let token = kept.grant.as_ref().and_then(AccessToken::of);
        Self {
            name,
            terms,
            token: ArcSwapOption::from_pointee(token),
            kept: ArcSwap::from_pointee(kept),
            file: Guarded::new(file),
            memory: Guarded::default(),
            status: watch::Sender::new(LoginStatus::default()),
            in_doubt: AtomicBool::new(false),
        }
    }

    /// The token in use.
    pub(super) fn token(&self) -> Option<Arc<AccessToken>> {
        self.token.load_full()
    }

    /// Forgets the tokens, here and on disk. What we are registered as is kept.
    pub(super) fn log_out(&self) -> Result<(), DiskFault> {
        let file = self.file.lock();
        self.retire();
        let saved = self.write(&file, KeptLogin::log_out);
        let saved = saved.map_err(DiskFault::of("write", &file));
        let mut memory = self.memory.lock();
        self.token.store(None);
        memory.absolve();
        self.note_with(&memory, LoginEvent::Needed("not logged in".to_owned()));
        saved
    }

    /// Forgets everything, on disk too.
    pub(super) fn forget(&self) -> io::Result<()> {
        let file = self.file.lock();
        let nothing = KeptLogin::nothing(&self.terms.url);
        self.kept.store(Arc::new(nothing));
        self.token.store(None);
        storage::remove(&file)
    }

    /// An error in words that may be shown. An authorization server may repeat in an error whatever it was sent, so nothing that is known
    /// of this login shows in it.
    pub(super) fn error(&self, text: &str) -> LoginError {
        self.error_without(&[], text)
    }

    /// The same, without these texts either.
    pub(super) fn error_without(&self, more: &[&str], text: &str) -> LoginError {
        let more = more.iter().map(|text| (*text).to_owned());
        let secrets = Secrets::all([&self.secrets(), &Secrets::new(more)]);
        self.terms.error(&secrets, text)
    }

    /// What must not show in texts: the terms' secrets, what is kept, and the former tokens.
    pub(super) fn secrets(&self) -> Secrets {
        // In this order: a token that is being replaced is in one of them at any time.
        let known = self.kept();
        let former = self.memory.lock().former.clone();
        let all = known.secrets().chain(&former);
        let all = Secrets::new(all.map(|secret| secret.reveal().to_owned()));
        Secrets::all([&self.terms.secrets, &all])
    }

    /// Remembers the token that is about to be replaced.
    fn retire(&self) {
        if let Some(grant) = &self.kept().grant {
            let mut memory = self.memory.lock();
            memory.former.push_front(grant.access_token.clone());
            memory.former.truncate(MOST_FORMER);
        }
    }

    pub(super) fn kept(&self) -> Arc<KeptLogin> {
        self.kept.load_full()
    }

    /// Whether this is the grant of the login as it stands.
    fn is_current(&self, grant: &Grant) -> bool {
        self.kept().grant.as_ref() == Some(grant)
    }

    /// Changes what is kept. What cannot be written counts all the same, until the daemon ends.
    pub(super) fn keep(&self, change: impl FnOnce(&mut KeptLogin)) {
        self.keep_in(&self.file.lock(), change);
    }

    /// The same for whoever holds the file.
    fn keep_in(&self, file: &Path, change: impl FnOnce(&mut KeptLogin)) {
        if let Err(error) = self.write(file, change) {
            tracing::warn!(server = %self.name, file = %file.display(), error = %storage::in_words(&error), "the login cannot be saved; it lasts until the daemon stops");
        }
    }

    /// Changes what is kept: on disk first, so that a crash loses no token that the authorization server has replaced.
    fn write(&self, file: &Path, change: impl FnOnce(&mut KeptLogin)) -> io::Result<()> {
        let mut kept = KeptLogin::clone(&self.kept());
        change(&mut kept);
        let saved = kept.save(file);
        self.kept.store(Arc::new(kept));
        saved
    }

    /// Takes the tokens of a new login into use, unless that was given up. Ends whatever was against the former login.
    pub(super) fn take(&self, grant: Grant, stop: &CancellationToken) -> Result<(), LoginError> {
        let token = AccessToken::of(&grant).ok_or_else(no_token)?;
        let file = self.file.lock();
        if stop.is_cancelled() {
            return Err(given_up());
        }
        self.retire();
        self.keep_in(&file, |kept| kept.grant = Some(grant));
        let mut memory = self.memory.lock();
        self.token.store(Some(Arc::new(token)));
        memory.absolve();
        // Also where it was fine: a wait for more scopes is over now.
        self.status.send_replace(LoginStatus::Fine);
        Ok(())
    }

    /// Takes the tokens of a renewal into use, unless somebody has logged in or out since it began with the grant `before`.
    pub(super) fn replace(
        &self,
        before: &Grant,
        grant: Grant,
        cause: RenewalCause,
    ) -> GrantReplacement {
        let Some(token) = AccessToken::of(&grant) else {
            return GrantReplacement::Unusable;
        };
        let file = self.file.lock();
        if !self.is_current(before) {
            return GrantReplacement::Overtaken;
        }
        self.retire();
        self.keep_in(&file, |kept| kept.grant = Some(grant));
        let mut memory = self.memory.lock();
        memory.pauses.renewed(&token.header, cause);
        self.token.store(Some(Arc::new(token)));
        GrantReplacement::InUse
    }

    /// The authorization server has ended the login with this grant. Whether it was still the login.
    pub(super) fn end(&self, grant: &Grant, refusal: &OAuthRefusal) -> bool {
        // In words before the grant is forgotten, whose secrets must not show in them.
        let why = self.error(&format!("its login has ended: {refusal}"));
        let file = self.file.lock();
        if !self.is_current(grant) {
            return false;
        }
        self.keep_in(&file, |kept| {
            kept.end();
            if refusal.is_client_unknown() {
                kept.forget_client(&grant.issuer);
            }
        });
        self.token.store(None);
        tracing::warn!(server = %self.name, reason = %why, "the login cannot be renewed; log in again");
        self.note(LoginEvent::Needed(why.to_string()));
        true
    }

    /// Notes that a renewal of this grant failed, and gives the pause that follows; nothing if it is no longer the login.
    pub(super) fn renewal_failed(&self, grant: &Grant, why: &str) -> Option<LoginTrouble> {
        let _file = self.file.lock();
        let failed = || self.memory.lock().pauses.failed(why, Instant::now());
        self.is_current(grant).then(failed)
    }

    /// The pause before the next renewal, if there is one.
    pub(super) fn pausing(&self) -> Option<LoginTrouble> {
        self.memory.lock().pauses.pausing(Instant::now())
    }

    /// Whether there is a login, on disk or in use.
    pub(super) fn is_logged_in(&self) -> bool {
        self.token.load().is_some() || self.kept.load().grant.is_some()
    }

    /// Its status, now and later.
    pub(super) fn status(&self) -> watch::Receiver<LoginStatus> {
        self.status.subscribe()
    }

    /// Why the newest login failed, if every other would fail so.
    pub(super) fn obstacle(&self) -> Option<LoginError> {
        self.memory.lock().obstacle.clone()
    }

    /// A login failed so.
    pub(super) fn login_failed(&self, error: &LoginError) {
        let lasts = error.lasting_step(self.name.as_str()).is_some();
        self.memory.lock().obstacle = lasts.then(|| error.clone());
    }

    /// The server's challenge when it refused a request last.
    pub(super) fn challenge(&self) -> Option<String> {
        self.memory.lock().challenge.clone()
    }

    /// The server refused a request with this challenge.
    pub(super) fn note_challenge(&self, header: String) {
        self.memory.lock().challenge = Some(header);
    }

    /// Scopes that calls were refused for want of.
    pub(super) fn wanted(&self) -> Vec<String> {
        let memory = self.memory.lock();
        memory.wanted.iter().cloned().collect()
    }

    /// The server refused a call for want of these scopes, with this challenge.
    pub(super) fn want_scopes(&self, scopes: Vec<String>, header: &str) {
        let mut memory = self.memory.lock();
        // What it named for its 401 is what a login needs in any case.
        let challenge = &mut memory.challenge;
        challenge.get_or_insert_with(|| header.to_owned());
        memory.wanted.extend(scopes);
        while memory.wanted.len() > MOST_SCOPES {
            memory.wanted.pop_last();
        }
        self.note_with(&memory, LoginEvent::Wanting);
    }

    /// The server refused this token, which is in use. Nothing if it is to be renewed at once.
    pub(super) fn token_refused(&self, token: &HeaderValue) -> Option<LoginTrouble> {
        let mut memory = self.memory.lock();
        self.in_doubt.store(true, Ordering::Relaxed);
        memory.pauses.refused(token, Instant::now())
    }

    /// The server took a request with this token. Called for each request, and costs one load unless a token was refused lately.
    pub(super) fn token_accepted(&self, sent: &HeaderValue) {
        if !self.in_doubt.load(Ordering::Relaxed) {
            return;
        }
        let current = self.token.load();
        if current.as_ref().is_none_or(|token| token.header != *sent) {
            return;
        }
        let mut memory = self.memory.lock();
        if memory.pauses.accepted(sent, Instant::now()) {
            self.in_doubt.store(false, Ordering::Relaxed);
            self.note_with(&memory, LoginEvent::Works);
        }
    }

    /// Why login refused for now.
    pub(super) fn trouble(&self) -> Option<LoginTrouble> {
        match &*self.status.borrow() {
            LoginStatus::Stuck(trouble) => Some(trouble.clone()),
            _ => None,
        }
    }

    /// Changes the status as this event does.
    pub(super) fn note(&self, event: LoginEvent) {
        self.note_with(&self.memory.lock(), event);
    }

    /// The same for whoever holds the memory: no login can end between the look at its scopes and the change.
    fn note_with(&self, memory: &LoginMemory, event: LoginEvent) {
        let wanted: Vec<String> = memory.wanted.iter().cloned().collect();
        self.status.send_if_modified(|status| {
            let after = status.after(event, &wanted);
            let is_new = *status != after;
            *status = after;
            is_new
        });
    }
}

/// The failure of a login that another login, a log-out or a change of the server has ended.
pub(super) fn given_up() -> LoginError {
    LoginError::Failed("the login was given up".to_owned())
}

/// The failure for an answer that is of no use.
pub(super) fn no_token() -> LoginError {
    let why = "the authorization server issued no usable token";
    LoginError::BadAnswer(why.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::OAuth;

    const URL: &str = "https://h/mcp";

    /// What an authorization server grants, with this access token.
    pub(in crate::authorization) fn grant(token: &str) -> Grant {
        Grant {
            access_token: Secret::new(token),
            ..Grant::default()
        }
    }

    /// The login of a server, kept in this file.
    pub(in crate::authorization) fn login(file: &Path) -> LoginState {
        let terms = Terms {
            url: URL.to_owned(),
            ca_file: None,
            oauth: OAuth::default(),
            secrets: Secrets::default(),
        };
        let name = ServerName::parse("a").expect("a name");
        LoginState::load(name, terms, file.to_owned())
    }

    #[test]
    fn a_renewal_that_ends_late_changes_no_other_login() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("logins").join("a.json");
        let state = login(&file);
        let on_disk = || {
            let grant = KeptLogin::load(&file, URL).grant;
            grant.map(|grant| grant.access_token.reveal().to_owned())
        };
        let (first, second) = (grant("first"), grant("second"));
        let refusal = OAuthRefusal {
            code: "invalid_grant".to_owned(),
            description: Some("Too old.".to_owned()),
        };
        let is_overtaken = |renewed: &str| {
            let replaced = state.replace(&first, grant(renewed), RenewalCause::Age);
            let is_refused = matches!(replaced, GrantReplacement::Overtaken);
            is_refused && !state.end(&first, &refusal) && state.renewal_failed(&first, "").is_none()
        };

        let stop = CancellationToken::new();
        let take = |grant: &Grant| state.take(grant.clone(), &stop).expect("a login");
        take(&first);
        take(&second);
        assert!(is_overtaken("late"));
        assert_eq!(on_disk().as_deref(), Some("second"));
        assert!(state.token.load().is_some());

        state.log_out().expect("it is written");
        assert!(is_overtaken("late"));
        assert!(on_disk().is_none() && !state.is_logged_in());

        take(&first);
        let replaced = state.replace(&first, second.clone(), RenewalCause::Age);
        assert!(matches!(replaced, GrantReplacement::InUse));
        assert!(state.end(&second, &refusal) && !state.is_logged_in());

        stop.cancel();
        assert!(state.take(first.clone(), &stop).is_err() && !state.is_logged_in());
    }
}
