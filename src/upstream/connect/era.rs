//! Finds out whether a server is opened with a handshake: sends `server/discover`, which servers with a handshake do not know (revision
//! 2026-07-28, versioning, "Backward Compatibility").

use super::{
    handshake::Opened,
    own_requests::{self, ServerError},
};
use crate::{
    link::{Link, LinkError},
    wire::{Outcome, Raw, Revision, RpcError, method},
};

/// What a server turned out to be.
#[derive(Debug)]
pub(in crate::upstream) enum Era {
    /// Its requests are stateless, and this is its description.
    Modern(Opened),
    /// It wants a handshake, or says nothing that we understand.
    Legacy,
}

/// Why the era of a server could not be found out.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::upstream) enum ProbeError {
    /// The connection failed.
    #[error("{0}")]
    Link(LinkError),
    /// The server is stateless, but in no known revision.
    #[error("{}", spoken(.0))]
    Foreign(Vec<String>),
    /// The server names this revision as one of its own, and refuses it.
    #[error("it says that it speaks the protocol revision {0}, but refused it")]
    Contradictory(Revision),
    /// The server is stateless, and refused the request.
    #[error("it refused server/discover: {0}")]
    Refused(ServerError),
}

/// Finds out the era. Has no deadline of its own; may be dropped at any time, and a late answer is dropped.
pub(in crate::upstream) async fn probe(link: &Link) -> Result<Era, ProbeError> {
    let Some(mut revision) = Revision::without_handshake().last() else {
        return Ok(Era::Legacy);
    };
    let mut was_repeated = false;
    loop {
        link.speak(Some(revision));
        match verdict(link, revision).await? {
            Verdict::Decided(Era::Legacy) => {
                link.speak(None);
                return Ok(Era::Legacy);
            }
            Verdict::Decided(era) => return Ok(era),
            // It refused what it says that it speaks: once may be a slip.
            Verdict::SpeakInstead(same) if same == revision => {
                if std::mem::replace(&mut was_repeated, true) {
                    return Err(ProbeError::Contradictory(same));
                }
            }
            // Always an older one, so there is an end to it.
            Verdict::SpeakInstead(older) => revision = older,
        }
    }
}

enum Verdict {
    Decided(Era),
    SpeakInstead(Revision),
}

async fn verdict(link: &Link, revision: Revision) -> Result<Verdict, ProbeError> {
    let params = own_requests::params(revision, &[]);
    match own_requests::try_to_ask(link, method::DISCOVER, &params).await {
        Ok(Outcome::Result(text)) => described(&text, revision),
        Ok(Outcome::Error(error)) => {
            let refusal = ServerError::read(&error, &link.secrets());
            refused(&error, refusal, revision)
        }
        Err(LinkError::HeaderMismatch(message)) => Err(ProbeError::Refused(ServerError {
            code: Some(RpcError::HEADER_MISMATCH),
            message: Some(message),
        })),
        Err(LinkError::Status { status, .. }) if status != 401 => Ok(Verdict::Decided(Era::Legacy)),
        Err(LinkError::Broken(_)) => Ok(Verdict::Decided(Era::Legacy)),
        Err(error) => Err(ProbeError::Link(error)),
    }
}

fn described(text: &Raw, revision: Revision) -> Result<Verdict, ProbeError> {
    // Some servers give the same answer to every request.
    let Some(versions) = text.get("supportedVersions").and_then(|v| names(&v)) else {
        return Ok(Verdict::Decided(Era::Legacy));
    };
    if versions.iter().any(|version| version == revision.as_str()) {
        return Ok(Verdict::Decided(Era::Modern(Opened {
            initialize: text.detached(),
            revision,
        })));
    }
    chosen(&versions, revision)
}

fn refused(error: &Raw, refusal: ServerError, revision: Revision) -> Result<Verdict, ProbeError> {
    if refusal.is_of_ourselves() {
        return Err(ProbeError::Link(LinkError::Ourselves));
    }
    match refusal.code {
        Some(RpcError::UNSUPPORTED_REVISION) => {
            let supported = error.get("data").and_then(|data| data.get("supported"));
            let versions = supported.and_then(|v| names(&v)).unwrap_or_default();
            chosen(&versions, revision)
        }
        Some(RpcError::HEADER_MISMATCH | RpcError::MISSING_CAPABILITY) => {
            Err(ProbeError::Refused(refusal))
        }
        _ => Ok(Verdict::Decided(Era::Legacy)),
    }
}

/// The newest known revision among those that a server names, which did not take `refused`.
fn chosen(versions: &[String], refused: Revision) -> Result<Verdict, ProbeError> {
    let known = versions.iter().filter_map(|name| Revision::parse(name));
    match known.filter(|revision| *revision <= refused).max() {
        Some(revision) if revision.has_handshake() => Ok(Verdict::Decided(Era::Legacy)),
        Some(revision) => Ok(Verdict::SpeakInstead(revision)),
        None => Err(ProbeError::Foreign(versions.to_vec())),
    }
}

fn names(list: &Raw) -> Option<Vec<String>> {
    list.read().ok()
}

/// What a server speaks that names these revisions.
fn spoken(theirs: &[String]) -> String {
    let plural = match theirs {
        [] => return "it names no protocol revision that it speaks".to_owned(),
        [_] => "",
        _ => "s",
    };
    let (theirs, newest) = (theirs.join(", "), Revision::NEWEST);
    format!(
        "it speaks only the protocol revision{plural} {theirs}; the newest that mcpproxy speaks is {newest}"
    )
}

impl ProbeError {
    /// What a client may read: nothing in the server's own words but the names of revisions, if they look like that.
    pub(in crate::upstream) fn outside(&self) -> String {
        match self {
            Self::Link(error) => error.outside(),
            Self::Foreign(_) => "it speaks no protocol revision that mcpproxy knows".to_owned(),
            Self::Contradictory(_) => self.to_string(),
            Self::Refused(error) => format!("it refused server/discover with {}", error.outside()),
        }
    }
}
