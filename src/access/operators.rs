//! Operators: programs that open the local socket, holders of the API key, and browsers with a login to the web UI (the page). What an
//! operator may do is not decided here.

mod cookie;
mod kept_logins;
mod page_logins;
mod same_origin;

use std::{io, path::PathBuf, sync::Arc, time::SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::watch;

pub use self::page_logins::LINK_LIFETIME;
use self::page_logins::{PageLogins, SessionNumber};
use super::Peer;
use crate::{
    config::{ChangeWay, Settings, TokenHash},
    text::secret::Secret,
};

/// The header with the API key.
pub static API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Finds out whether a request is an operator's, and keeps the logins to the page. Of keys, links and cookies only hashes are held.
#[derive(Debug, Default)]
pub struct Operators {
    /// The hash of the key that is used where the settings have none.
    kept: Option<TokenHash>,
    logins: PageLogins,
}

/// The credential of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorPass(Pass);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    LocalSocket,
    Key(TokenHash),
    Page(SessionNumber),
}

/// Why a request is not an operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAnOperator {
    /// It has no credential of an operator.
    #[error("nothing was done: the request has no API key")]
    NoKey,
    /// It has another key.
    #[error("nothing was done: the API key is wrong")]
    WrongKey,
    /// It has a cookie of no session, or of one that has ended.
    #[error("nothing was done: the login to the web UI has ended")]
    SessionOver,
    /// It has the cookie of a session, but does not come from the page.
    #[error(
        "nothing was done: the request has the web UI's cookie, but does not come from the web UI"
    )]
    OtherOrigin,
}

impl OperatorPass {
    /// How changes of the configuration with this pass are recorded.
    pub fn way(self) -> ChangeWay {
        match self.0 {
            Pass::LocalSocket => ChangeWay::Terminal,
            Pass::Key(_) => ChangeWay::Rest,
            Pass::Page(_) => ChangeWay::Page,
        }
    }
}

impl Operators {
    /// `kept` is the key that is used where the settings have none. Sessions are saved in the data folder, if there is one. Blocks.
    pub fn new(kept: Option<&Secret>, data_dir: Option<PathBuf>) -> Self {
        let now = SystemTime::now();
        Self {
            kept: kept.map(|key| TokenHash::of(key.reveal())),
            logins: data_dir.map_or_else(PageLogins::default, |data_dir| {
                PageLogins::kept_in(data_dir, now)
            }),
        }
    }

    /// The pass of a request, if it is an operator's. A key decides, whatever else the request has; tokens of MCP clients are ignored.
    pub(super) fn authenticate(
        &self,
        settings: &Settings,
        peer: Peer,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<OperatorPass, NotAnOperator> {
        if peer == Peer::LocalSocket {
            return Ok(OperatorPass(Pass::LocalSocket));
        }
        let mut keys = headers.get_all(&API_KEY).iter();
        if let Some(key) = keys.next() {
            let shown = key.to_str().ok().map(TokenHash::of);
            let right = shown.filter(|_| shown == self.key(settings) && keys.next().is_none());
            let pass = right.map(|hash| OperatorPass(Pass::Key(hash)));
            return pass.ok_or(NotAnOperator::WrongKey);
        }
        let cookies = cookie::values(headers);
        if cookies.is_empty() {
            return Err(NotAnOperator::NoKey);
        }
        if !same_origin::comes_from_the_page(method, headers) {
            return Err(NotAnOperator::OtherOrigin);
        }
        let (now, key) = (SystemTime::now(), self.key(settings));
        let sessions = cookies.iter();
        let mut sessions = sessions.map(|value| self.logins.session(value, key, now));
        let session = sessions.find_map(|session| session);
        let session = session.ok_or(NotAnOperator::SessionOver)?;
        Ok(OperatorPass(Pass::Page(session)))
    }

    /// The hash of the API key.
    pub(super) fn key(&self, settings: &Settings) -> Option<TokenHash> {
        let written = settings.api_key.as_ref();
        written.map(|key| TokenHash::of(key.reveal())).or(self.kept)
    }

    /// The secret part of a new login link, which opens one session within [`LINK_LIFETIME`].
    pub fn new_link(&self) -> io::Result<Secret> {
        self.logins.new_link(SystemTime::now())
    }

    /// Opens a session with a login link: the value of `Set-Cookie` for the browser. Nothing if the link was used before, is too old, or is
    /// unknown.
    pub fn log_in(
        &self,
        token: &str,
        settings: &Settings,
        headers: &HeaderMap,
    ) -> io::Result<Option<HeaderValue>> {
        let key = self.key(settings);
        let session = self.logins.log_in(token, key, SystemTime::now())?;
        Ok(session.map(|session| cookie::set(headers, &session)))
    }

    /// Ends the session of this pass, if it is one: the value of `Set-Cookie` that removes the browser's cookie.
    pub fn log_out(&self, pass: OperatorPass, headers: &HeaderMap) -> Option<HeaderValue> {
        let Pass::Page(session) = pass.0 else {
            return None;
        };
        self.logins.end(session);
        Some(cookie::clear(headers))
    }

    /// Saves the sessions. Blocks.
    pub(super) fn keep(&self) -> io::Result<()> {
        self.logins.keep()
    }

    /// Ends every session and link.
    pub(super) fn end_all(&self) {
        self.logins.end_all();
    }

    /// Returns when a pass is no longer valid. Meanwhile a session counts as used. Cancel-safe.
    pub(super) async fn withdrawn(
        &self,
        pass: OperatorPass,
        mut settings: watch::Receiver<Arc<Settings>>,
    ) {
        match pass.0 {
            Pass::LocalSocket => std::future::pending().await,
            Pass::Page(session) => self.logins.ended(session).await,
            Pass::Key(hash) => {
                while self.key(&settings.borrow_and_update()) == Some(hash) {
                    if settings.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
