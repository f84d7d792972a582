//! The clients that use an instance of a server, and what follows for its connection: the capabilities that we declare to the server,
//! its roots, and its working directory.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use percent_encoding::percent_decode_str;

use crate::{
    call_context::ClientSender,
    config::{Root, ServerEntry, Transport},
    upstream::connect::control::Declared,
    wire::{Edit, Notification, Outcome, Raw, Request, splice},
};

/// Asks a client what came outside of its calls: on this stream, where it is heard there, or else on the client's own.
pub type Ask = Arc<dyn Fn(Request, ClientSender) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// Tells a client what came outside of its calls, on its own stream.
pub type TellClient = Arc<dyn Fn(&Notification) + Send + Sync>;

/// Whose requests go to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionKey {
    /// Those of a session, or of a connection that a client has to itself.
    Session(Arc<str>),
    /// Those of one subject that belong to no session.
    Subject(Arc<str>),
}

/// For whom an instance runs.
#[derive(Clone)]
pub enum InstanceScope {
    /// One client's session. The server is told what this client can do, and may ask it at any time.
    Client {
        /// The session.
        session_key: SessionKey,
        /// What the client can do, as it said so.
        capabilities: Raw,
        /// The way to ask it.
        ask: Ask,
        /// The way to tell it something.
        tell: TellClient,
    },
    /// Requests that belong together, of clients that can be asked on the way back only.
    Apart(SessionKey),
    /// All clients with these roots, in the order of the one that came first.
    Workspace(Arc<[Root]>),
    /// All clients that cannot answer what the server asks.
    Unable,
    /// One call at a time, of a client without a session that can be asked on the way back.
    Leased {
        /// What tells it from the others.
        number: usize,
        /// What the client can do, as far as a server can make use of it.
        capabilities: Raw,
    },
}

/// By what instances of one server are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::upstream) enum InstanceKey {
    Of(SessionKey),
    /// The URIs, sorted.
    At(Vec<String>),
    Unable,
    Leased(usize),
}

impl InstanceScope {
    pub(in crate::upstream) fn key(&self) -> InstanceKey {
        match self {
            Self::Client { session_key, .. } | Self::Apart(session_key) => {
                InstanceKey::Of(session_key.clone())
            }
            Self::Workspace(roots) => {
                let mut uris: Vec<_> = roots.iter().map(|root| root.uri.clone()).collect();
                uris.sort_unstable();
                uris.dedup();
                InstanceKey::At(uris)
            }
            Self::Unable => InstanceKey::Unable,
            Self::Leased { number, .. } => InstanceKey::Leased(*number),
        }
    }

    /// The entry as this instance is started with it: in the first root, where there is one on this machine.
    pub(in crate::upstream) fn entry(&self, entry: &Arc<ServerEntry>) -> Arc<ServerEntry> {
        let folder = match self {
            Self::Workspace(roots) => roots.first().and_then(|root| folder(&root.uri)),
            Self::Client { .. } | Self::Apart(_) | Self::Unable | Self::Leased { .. } => None,
        };
        let (Transport::Stdio(stdio), Some(folder)) = (&entry.transport, folder) else {
            return entry.clone();
        };
        let mut stdio = stdio.clone();
        stdio.cwd = Some(folder);
        Arc::new(ServerEntry {
            transport: Transport::Stdio(stdio),
            ..ServerEntry::clone(entry)
        })
    }

    /// The roots that we name for it; `None` where those of the settings count.
    pub(in crate::upstream) fn roots(&self) -> Option<Vec<Root>> {
        match self {
            // The client names its own.
            _ if self.has_own_roots() => Some(Vec::new()),
            Self::Workspace(roots) => Some(roots.to_vec()),
            Self::Client { .. } | Self::Apart(_) | Self::Unable | Self::Leased { .. } => None,
        }
    }

    /// Whether one client has it to itself that says what its roots are.
    pub(in crate::upstream) fn has_own_roots(&self) -> bool {
        match self {
            Self::Client { capabilities, .. } | Self::Leased { capabilities, .. } => {
                has_roots(capabilities)
            }
            Self::Apart(_) | Self::Workspace(_) | Self::Unable => false,
        }
    }

    pub(in crate::upstream) fn tell(&self) -> Option<&TellClient> {
        match self {
            Self::Client { tell, .. } => Some(tell),
            Self::Apart(_) | Self::Workspace(_) | Self::Unable | Self::Leased { .. } => None,
        }
    }

    pub(in crate::upstream) fn ask(&self) -> Option<&Ask> {
        match self {
            Self::Client { ask, .. } => Some(ask),
            Self::Apart(_) | Self::Workspace(_) | Self::Unable | Self::Leased { .. } => None,
        }
    }
}

fn has_roots(capabilities: &Raw) -> bool {
    capabilities
        .get("roots")
        .is_some_and(|roots| roots.is_object())
}

/// What a server is told that it can ask. One that `is_divided` is only listed over the connection that is nobody's, so that it offers
/// there whatever it offers to any client.
pub(in crate::upstream) fn declared(
    scope: Option<&InstanceScope>,
    entry: &ServerEntry,
    is_divided: bool,
) -> Declared {
    let exactly = |capabilities: &Raw| {
        let with_roots = [("roots", Edit::Set(Raw::empty_object()))];
        let declared = match splice(capabilities, &with_roots) {
            Ok(declared) if !entry.roots.is_empty() && !has_roots(capabilities) => declared,
            _ => capabilities.clone(),
        };
        Declared::Exactly(declared)
    };
    match scope {
        Some(
            InstanceScope::Client { capabilities, .. } | InstanceScope::Leased { capabilities, .. },
        ) => exactly(capabilities),
        Some(InstanceScope::Unable) => exactly(&Raw::empty_object()),
        None if is_divided => Declared::Bridged { roots: true },
        Some(InstanceScope::Workspace(_)) => Declared::Bridged { roots: true },
        Some(InstanceScope::Apart(_)) | None => Declared::Bridged {
            roots: !entry.roots.is_empty(),
        },
    }
}

/// The path of a `file` URI of this machine.
fn folder(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let path = percent_decode_str(path).decode_utf8().ok()?.into_owned();
    // `file:///C:/x` is `C:/x`.
    let drive = path.strip_prefix('/').filter(|_| cfg!(windows));
    Some(PathBuf::from(drive.unwrap_or(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_this_machine_are_found() {
        let check = |uri, expected: Option<&str>| {
            assert_eq!(folder(uri), expected.map(PathBuf::from), "{uri}");
        };
        check("file:///home/me/a%20b", Some("/home/me/a b"));
        check("FILE://localhost/x", Some("/x"));
        check("file://server/share", None);
        check("https://a/b", None);
        check("file:///%ff", None);
        check("/home/me", None);
    }

    #[test]
    fn the_same_roots_are_the_same_workspace() {
        let scope = |uris: &[&str]| {
            let root = |uri: &&str| Root {
                uri: (*uri).to_owned(),
                name: None,
            };
            InstanceScope::Workspace(uris.iter().map(root).collect())
        };
        let key = |uris: &[&str]| scope(uris).key();
        assert_eq!(
            key(&["file:///a", "file:///b"]),
            key(&["file:///b", "file:///a"])
        );
        assert_ne!(key(&["file:///a"]), key(&["file:///b", "file:///a"]));
    }
}
