//! Who asks: the subject and roles on whose behalf a request runs, and the credential behind them.

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
    /// The part of what there is that the caller's endpoint shows.
    profile: Option<Arc<str>>,
    /// The client that the caller uses, where lists may depend on it.
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
    /// A program of that person's, which showed nothing.
    Local,
    /// Somebody on the network, who showed nothing. The address is there where it is needed.
    Open(Option<IpAddr>),
    /// The holder of this token.
    Token(TokenHash),
    /// The holder of this token, which a person issued.
    Issued(TokenHash),
    /// The user whom the proxy at this address named.
    Forwarded(IpAddr),
    /// Nobody: for questions about somebody.
    Imagined,
    /// The person whose daemon it is, looking how things are.
    Inspector,
}

/// What a caller has of an issued token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownToken<'a> {
    /// It showed none: nothing of that kind limits it.
    None,
    /// This one.
    Limits(&'a IssuedToken),
    /// One that is revoked or has expired: it may have nothing.
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

    /// Who showed nothing.
    pub(super) fn unnamed(credential: Credential) -> Self {
        Self::new(ANONYMOUS, Vec::new(), credential)
    }

    /// The person whose daemon it is.
    pub(super) fn operator() -> Self {
        Self::new(OPERATOR, Vec::new(), Credential::Operator)
    }

    /// The same person, who only looks.
    pub(super) fn inspector() -> Self {
        Self::new(OPERATOR, Vec::new(), Credential::Inspector)
    }

    /// Of this subject, for tests that need several callers.
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

    /// The same, to be held without a copy.
    pub fn shared_subject(&self) -> Arc<str> {
        self.identity.subject.clone()
    }

    /// The profile whose endpoint the caller uses.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The roles that it has by these settings.
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

    /// Whether what the caller showed still counts by these settings.
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

    /// Whether it showed something that another may take from it.
    pub fn has_credential(&self) -> bool {
        matches!(
            self.credential(),
            Credential::Issued(_) | Credential::Token(_) | Credential::Forwarded(_)
        )
    }

    /// The limits of the token that the caller showed, if a person issued it.
    pub fn token<'a>(&self, settings: &'a Settings) -> ShownToken<'a> {
        match self.credential() {
            Credential::Issued(hash) => match settings.issued.find(&hash) {
                Some(token) if self.is_current(settings) => ShownToken::Limits(token),
                _ => ShownToken::Gone,
            },
            _ => ShownToken::None,
        }
    }

    /// How long what the caller showed still counts, where that ends.
    pub(super) fn rest(&self, settings: &Settings) -> Option<Duration> {
        let Credential::Issued(hash) = self.credential() else {
            return None;
        };
        let expires = settings.issued.find(&hash)?.expires?;
        let now = moment::millis(SystemTime::now());
        Some(Duration::from_millis(expires.saturating_sub(now)))
    }

    /// Whether no access rule concerns the caller: it executes nothing.
    pub fn only_looks(&self) -> bool {
        self.credential() == Credential::Inspector
    }

    pub(super) fn credential(&self) -> Credential {
        self.identity.credential
    }
}
