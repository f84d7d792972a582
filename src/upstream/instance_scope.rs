//! For which clients an instance of a server runs, and what that decides of its connection: the declared capabilities, the roots, and
//! the working directory.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use url::Url;

use crate::{
    access::InstanceUser,
    call_context::ClientSender,
    catalog::OwnKey,
    config::{Root, ServerEntry, Transport},
    link::ClientKey,
    wire::{Notification, Outcome, Raw, Request},
};

/// A client that questions and notices reach outside of its calls.
pub trait ReachableClient: Send + Sync {
    /// The key of its session.
    fn session(&self) -> &Arc<str>;
    /// Whether it listens outside of its calls.
    fn is_listening(&self) -> bool;
    /// Asks it what came outside of its calls: on this stream, where it reads that, or else on its own.
    fn ask(&self, question: Request, stream: ClientSender) -> BoxFuture<'static, Outcome>;
    /// Tells it what came outside of its calls, on its own stream.
    fn tell(&self, notice: &Notification);
}

/// A reachable client.
pub type ClientReach = Arc<dyn ReachableClient>;

/// For whom an instance runs.
#[derive(Clone)]
pub enum InstanceScope {
    /// One client alone. Its capabilities are declared to the server.
    Client(SoleClient),
    /// All clients with these roots, in the order of the one that came first.
    Workspace(Arc<[Root]>),
    /// All clients that cannot answer what the server asks and want no log lines.
    Unable,
    /// All clients that shake hands, at a server that needs no handshake.
    Legacy,
}

/// A client that has an instance to itself.
#[derive(Clone)]
pub struct SoleClient {
    /// The client.
    pub user: InstanceUser,
    /// On whose behalf it calls.
    pub subject: Arc<str>,
    /// The declared capabilities.
    pub capabilities: Raw,
    /// Whether it shakes hands, and the server has sessions for such clients though it needs no handshake.
    pub shakes_hands: bool,
    /// The way to it outside of its calls, if there is one.
    pub reach: Option<ClientReach>,
}

/// The key of one server's instances.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum InstanceKey {
    /// Of clients to whom the server may list something else than to all others.
    Own(OwnKey),
    /// Of the clients with these roots: their URIs, sorted.
    Workspace(Vec<String>),
}

impl InstanceKey {
    /// Whether it is for all clients of a kind, so that it runs on when none of them is left.
    pub(super) fn is_for_many(&self) -> bool {
        matches!(self, Self::Own(OwnKey::Unable | OwnKey::Legacy))
    }
}

impl InstanceScope {
    pub(super) fn key(&self) -> InstanceKey {
        match self {
            Self::Client(sole) => InstanceKey::Own(OwnKey::User(sole.user.clone())),
            Self::Workspace(roots) => {
                let mut uris: Vec<_> = roots.iter().map(|root| root.uri.clone()).collect();
                uris.sort_unstable();
                uris.dedup();
                InstanceKey::Workspace(uris)
            }
            Self::Unable => InstanceKey::Own(OwnKey::Unable),
            Self::Legacy => InstanceKey::Own(OwnKey::Legacy),
        }
    }

    /// Which clients see the lists of this instance; `None` where these see the lists of the shared connection.
    pub(super) fn own_key(&self) -> Option<OwnKey> {
        match self.key() {
            InstanceKey::Own(key) => Some(key),
            InstanceKey::Workspace(_) => None,
        }
    }

    /// The client that has it to itself.
    pub(super) fn sole_client(&self) -> Option<&SoleClient> {
        match self {
            Self::Client(sole) => Some(sole),
            Self::Workspace(_) | Self::Unable | Self::Legacy => None,
        }
    }

    /// The entry as this instance is started with it: in the first root, where there is one on this machine.
    pub(super) fn entry(&self, entry: &Arc<ServerEntry>) -> Arc<ServerEntry> {
        let folder = match self {
            Self::Workspace(roots) => roots.first().and_then(|root| folder(&root.uri)),
            Self::Client(_) | Self::Unable | Self::Legacy => None,
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

    /// The roots that the server is given here; `None` where it gets those of its entry.
    pub(super) fn roots(&self) -> Option<Vec<Root>> {
        match self {
            // The client answers with its own.
            _ if self.has_own_roots() => Some(Vec::new()),
            Self::Workspace(roots) => Some(roots.to_vec()),
            Self::Client(_) | Self::Unable | Self::Legacy => None,
        }
    }

    /// Whether it runs for one client alone, which declares roots.
    pub(super) fn has_own_roots(&self) -> bool {
        let sole = self.sole_client();
        sole.is_some_and(|sole| has_roots(&sole.capabilities))
    }

    /// Whether nothing shows that its client is still there: it listens to nothing outside of its calls, or has no end that is known.
    pub(super) fn may_be_gone(&self) -> bool {
        self.sole_client().is_some_and(|sole| match &sole.reach {
            Some(client) => !client.is_listening(),
            None => matches!(sole.user.client, ClientKey::Named { .. }),
        })
    }
}

/// Whether these capabilities name roots.
pub(super) fn has_roots(capabilities: &Raw) -> bool {
    capabilities
        .get("roots")
        .is_some_and(|roots| roots.is_object())
}

/// The path of a `file` URI of this machine.
fn folder(uri: &str) -> Option<PathBuf> {
    let uri = Url::parse(uri).ok().filter(|uri| uri.scheme() == "file")?;
    uri.to_file_path().ok()
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
