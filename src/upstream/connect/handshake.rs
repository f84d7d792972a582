//! The handshake with a legacy server (revision 2025-11-25, lifecycle, "Initialization"): `initialize` with what we or one client can
//! answer, and the server's description of itself, kept as it came.

use std::time::Duration;

use super::own_requests::{self, ServerError};
use crate::{
    config::{ServerEntry, SessionScope},
    link::{Link, LinkError},
    process::Exit,
    text::Secrets,
    upstream::instance_scope::{InstanceScope, has_roots},
    wire::{Edit, Outcome, Raw, Revision, method, presentation, splice},
};

/// A server that is ready for calls.
#[derive(Debug)]
pub(in crate::upstream) struct Opened {
    /// The result of `initialize` or `server/discover`, as it came.
    pub(in crate::upstream) initialize: Raw,
    /// The revision that is spoken.
    pub(in crate::upstream) revision: Revision,
}

/// Why there is no connection. The text is for the operator; [`OpenError::outside`] is for clients.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::upstream) enum OpenError {
    /// The connection failed.
    #[error("{0}")]
    Link(LinkError),
    /// The program ended.
    #[error("{0}")]
    Exited(Exit),
    /// The server answered `initialize` with an error.
    #[error("initialize was refused: {0}")]
    Refused(ServerError),
    /// The server answered with something else.
    #[error("its answer to initialize names no protocol version")]
    Unusable,
}

impl OpenError {
    /// Whether the connection has ended.
    pub(in crate::upstream) fn is_an_end(&self) -> bool {
        match self {
            Self::Exited(_) | Self::Link(LinkError::Lost(_) | LinkError::NotHttp) => true,
            Self::Link(error) => error.is_undelivered(),
            _ => false,
        }
    }

    /// Whether the server may have refused the handshake itself, perhaps because it needs none, and not this client.
    pub(in crate::upstream) fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Unusable => true,
            Self::Link(LinkError::Status { status, .. }) => !matches!(status, 401 | 403 | 500..),
            _ => false,
        }
    }

    /// How long the server asks to wait before the next attempt.
    pub(in crate::upstream) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Link(error) => error.retry_after(),
            _ => None,
        }
    }

    /// What a client may read: nothing in the server's own words, which may name paths or say more than is good.
    pub(in crate::upstream) fn outside(&self) -> String {
        match self {
            Self::Link(error) => error.outside(),
            Self::Exited(_) => self.to_string(),
            Self::Refused(error) => format!("it refused initialize with {}", error.outside()),
            Self::Unusable => "its answer to initialize cannot be used".to_owned(),
        }
    }
}

/// The capabilities declared to a server with a handshake: what one client declares, in its own words, or whatever some client can do, so
/// that the server offers whatever it offers to any client. For one that cannot answer a question, the question is refused.
pub(in crate::upstream) fn declared(scope: Option<&InstanceScope>, entry: &ServerEntry) -> Raw {
    let has_roots_to_name = !entry.roots.is_empty();
    let (capabilities, names_roots) = match scope {
        Some(InstanceScope::Client(sole)) => (
            sole.capabilities.clone(),
            has_roots_to_name || has_roots(&sole.capabilities),
        ),
        Some(InstanceScope::Unable) => (Raw::empty_object(), has_roots_to_name),
        // The connection that all share for good: nobody's roots are named there but those of the settings.
        None | Some(InstanceScope::Legacy) if entry.session_scope == SessionScope::Shared => {
            (own_requests::capabilities(), has_roots_to_name)
        }
        None | Some(InstanceScope::Workspace(_) | InstanceScope::Legacy) => {
            (own_requests::capabilities(), true)
        }
    };
    let roots = match (names_roots, has_roots(&capabilities)) {
        (true, false) => Edit::Set(Raw::empty_object()),
        (false, true) => Edit::Remove,
        _ => return capabilities,
    };
    let declared = splice(&capabilities, &[("roots", roots)]);
    declared.unwrap_or(capabilities)
}

/// Does the handshake. Has no deadline of its own.
pub(in crate::upstream) async fn shake_hands(
    link: &Link,
    declared: &Raw,
) -> Result<Opened, OpenError> {
    let members = [
        (
            "protocolVersion",
            Raw::author(&Revision::NEWEST_LEGACY.as_str()),
        ),
        ("capabilities", declared.clone()),
        ("clientInfo", presentation::own_titled_implementation()),
    ]
    .map(|(key, value)| (key, Edit::Set(value)));
    let params = splice(&Raw::empty_object(), &members).expect("an object");
    let initialize = match link.initialize(&params).await.map_err(OpenError::Link)? {
        Outcome::Result(result) => result.detached(),
        Outcome::Error(error) => return Err(refused(&error, &link.secrets())),
    };
    let version = initialize
        .get("protocolVersion")
        .and_then(|version| version.string());
    let version = version.ok_or(OpenError::Unusable)?;
    let revision =
        Revision::parse(&version).filter(|revision| revision.may_have_method(method::INITIALIZE));
    link.initialized().await.map_err(OpenError::Link)?;
    Ok(Opened {
        initialize,
        revision: revision.unwrap_or(Revision::NEWEST_LEGACY),
    })
}

fn refused(error: &Raw, secrets: &Secrets) -> OpenError {
    let error = ServerError::read(error, secrets);
    if error.is_of_ourselves() {
        return OpenError::Link(LinkError::Ourselves);
    }
    OpenError::Refused(error)
}
