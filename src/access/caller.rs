//! The caller of a request: the subject and roles on whose behalf it runs, and the credential that proves them.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::ClientSeat;
use crate::{
    config::{ANONYMOUS, IssuedToken, OPERATOR, Provider, Settings, TokenHash},
    text::moment,
};

/// The identity behind a request. Cheap to clone. Only [`super::Access`] makes one.
#[derive(Debug, Clone)]
pub struct Caller {
    identity: Arc<Identity>,
    /// The profile whose endpoint the caller uses, which shows a part of all servers and tools.
    profile: Option<Arc<str>>,
    /// The client that the caller uses, where lists may differ from client to client.
    seat: Option<Arc<ClientSeat>>,
}

#[derive(Debug)]
struct Identity {
    subject: Arc<str>,
    roles: Box<[String]>,
    credential: Credential,
}

/// The credential of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    /// The person whose daemon it is.
    Operator,
    /// A program of that person, without a credential.
    Local,
    /// Somebody on the network without a credential. The address is there if a rate limit needs it.
    Open(Option<IpAddr>),
    /// The holder of this token.
    Token(TokenHash),
    /// The holder of this token, which a person issued.
    Issued(TokenHash),
    /// The user whom the proxy at this address named.
    Forwarded(IpAddr),
    /// None: the caller is imagined, for a question about access.
    Imagined,
    /// The person whose daemon it is, who lists things and calls nothing.
    Inspector,
}

/// The issued token of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownToken<'a> {
    /// It has none, so that no such token limits it.
    None,
    /// This token limits it.
    Limits(&'a IssuedToken),
    /// Its token is revoked or has expired: it may have nothing.
    Gone,
}

/// Callers are equal if they are the same person on the same endpoints, by the same token where it is an issued one: roles may change.
impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        let issued = |caller: &Self| match caller.credential() {
            Credential::Issued(hash) => Some(hash),
            _ => None,
        };
        self.is_same_subject(other)
            && self.profile == other.profile
            && issued(self) == issued(other)
    }
}

impl Eq for Caller {}

impl Caller {
    pub(super) fn new(subject: &str, roles: Vec<String>, credential: Credential) -> Self {
        let identity = Identity {
            subject: subject.into(),
            roles: roles.into(),
            credential,
        };
        Self {
            identity: Arc::new(identity),
            profile: None,
            seat: None,
        }
    }

    /// A caller without a credential.
    pub(super) fn unnamed(credential: Credential) -> Self {
        Self::new(ANONYMOUS, Vec::new(), credential)
    }

    /// The person whose daemon it is.
    pub(super) fn operator() -> Self {
        Self::new(OPERATOR, Vec::new(), Credential::Operator)
    }

    /// The same person, who lists things and calls nothing.
    pub(super) fn inspector() -> Self {
        Self::new(OPERATOR, Vec::new(), Credential::Inspector)
    }

    /// A caller of this subject, for tests that need several.
    #[cfg(test)]
    pub(crate) fn named(subject: &str) -> Self {
        Self::new(subject, Vec::new(), Credential::Imagined)
    }

    /// The same caller on the endpoint of a profile.
    #[must_use]
    pub fn in_profile(&self, profile: &str) -> Self {
        Self {
            identity: self.identity.clone(),
            profile: Some(profile.into()),
            seat: None,
        }
    }

    /// The same caller at this client.
    #[must_use]
    pub fn at(self, seat: Arc<ClientSeat>) -> Self {
        Self {
            seat: Some(seat),
            ..self
        }
    }

    /// The client that the caller uses.
    pub fn seat(&self) -> Option<&Arc<ClientSeat>> {
        self.seat.as_ref()
    }

    /// The name access rules and records know this caller by.
    pub fn subject(&self) -> &str {
        &self.identity.subject
    }

    /// The same, shared instead of copied.
    pub fn shared_subject(&self) -> Arc<str> {
        self.identity.subject.clone()
    }

    /// The profile whose endpoint the caller uses.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The roles of the caller by these settings.
    pub fn roles<'a>(&'a self, settings: &'a Settings) -> &'a [String] {
        let roles = match self.credential() {
            Credential::Token(hash) => {
                let auth = settings.server_auth.as_ref();
                auth.and_then(|auth| auth.token(&hash))
                    .map(|token| &token.roles)
            }
            Credential::Issued(hash) => settings.issued.find(&hash).map(|token| &token.roles),
            _ => return &self.identity.roles,
        };
        roles.map_or(&[], Vec::as_slice)
    }

    /// Whether both are the same subject. Roles may change while a session lasts.
    pub fn is_same_subject(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity) || self.subject() == other.subject()
    }

    /// Whether the caller's credential is still valid by these settings.
    pub fn is_current(&self, settings: &Settings) -> bool {
        let auth = settings.server_auth.as_deref();
        match self.credential() {
            Credential::Operator
            | Credential::Local
            | Credential::Imagined
            | Credential::Inspector => true,
            Credential::Open(_) => !settings.requires_credentials(),
            Credential::Issued(hash) => settings
                .issued
                .find(&hash)
                .is_some_and(|token| *token.subject == *self.subject() && !token.is_expired()),
            Credential::Token(hash) => auth.is_some_and(|auth| {
                auth.providers.contains(&Provider::Bearer)
                    && auth
                        .token(&hash)
                        .is_some_and(|token| *token.subject == *self.subject())
            }),
            Credential::Forwarded(proxy) => auth.is_some_and(|auth| {
                auth.providers.contains(&Provider::Forwarded)
                    && super::credentials::is_trusted(&auth.forwarded, proxy)
            }),
        }
    }

    /// Whether it has a credential that can be withdrawn.
    pub fn has_credential(&self) -> bool {
        matches!(
            self.credential(),
            Credential::Issued(_) | Credential::Token(_) | Credential::Forwarded(_)
        )
    }

    /// The token of the caller with its limits, if a person issued it.
    pub fn token<'a>(&self, settings: &'a Settings) -> ShownToken<'a> {
        match self.credential() {
            Credential::Issued(hash) => match settings.issued.find(&hash) {
                Some(token) if self.is_current(settings) => ShownToken::Limits(token),
                _ => ShownToken::Gone,
            },
            _ => ShownToken::None,
        }
    }

    /// How long the caller's credential is still valid; nothing if it does not expire.
    pub(super) fn rest(&self, settings: &Settings) -> Option<Duration> {
        let Credential::Issued(hash) = self.credential() else {
            return None;
        };
        let expires = settings.issued.find(&hash)?.expires?;
        let now = moment::millis(SystemTime::now());
        Some(Duration::from_millis(expires.saturating_sub(now)))
    }

    /// Whether the caller only lists things, so that no access rule concerns it.
    pub fn only_looks(&self) -> bool {
        self.credential() == Credential::Inspector
    }

    /// Whether it is the person whose daemon it is, who may read paths and names of secrets; a model may not.
    pub fn is_operator(&self) -> bool {
        matches!(
            self.credential(),
            Credential::Operator | Credential::Inspector
        )
    }

    pub(super) fn credential(&self) -> Credential {
        self.identity.credential
    }
}
