//! The Secret Service of the desktop, over the session's D-Bus: <https://specifications.freedesktop.org/secret-service/>. Values are not
//! encrypted on the bus, which is a socket that only its owner can open. Only this file uses `zbus`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::Path,
    time::Instant,
};

use futures_util::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{runtime, time::timeout_at};
use zbus::{
    Connection, DBusError, DynamicType, Error, MatchRule, MessageStream, ObjectPath,
    OwnedObjectPath, OwnedVariant, Type, Variant,
    connection::Builder,
    message::{self, Message},
};

use super::error::KeyringError;
use crate::{config::Variables, text::secret::Secret};

/// The variable with the address of the session's bus.
const ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
/// The variable with the folder in which the bus listens if the address is not set.
const RUNTIME_FOLDER: &str = "XDG_RUNTIME_DIR";

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
const SERVICE_FACE: &str = "org.freedesktop.Secret.Service";
const COLLECTION_FACE: &str = "org.freedesktop.Secret.Collection";
const ITEM_FACE: &str = "org.freedesktop.Secret.Item";
const PROMPT_FACE: &str = "org.freedesktop.Secret.Prompt";
const PROPERTIES_FACE: &str = "org.freedesktop.DBus.Properties";

/// The object path that means "no object".
const NOTHING: &str = "/";

/// The attributes of our items: their owner, and the secret's name.
const OWNER: (&str, &str) = ("application", "mcpproxy");
const NAME: &str = "name";

/// Errors of the bus that mean that no Secret Service runs.
const ABSENT: [&str; 3] = [
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Spawn.",
];
/// Errors of the bus that mean that it does not answer.
const SILENT: [&str; 3] = [
    "org.freedesktop.DBus.Error.NoReply",
    "org.freedesktop.DBus.Error.Timeout",
    "org.freedesktop.DBus.Error.TimedOut",
];
const LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";

/// The `Secret` structure of the specification: session, parameters of the encryption, value, media type.
type PassedSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// Whether the service may show a dialog.
#[derive(Clone, Copy, PartialEq)]
enum Dialogs {
    /// No: where a dialog is needed, the call fails.
    Unwanted,
    /// Yes: a user can answer.
    Wanted,
}

/// The Secret Service at the address of the session's bus.
#[derive(Clone)]
pub(super) struct SecretService {
    addresses: Option<String>,
}

impl SecretService {
    pub(super) fn new(variables: &Variables) -> Self {
        Self {
            addresses: addresses(variables),
        }
    }

    /// The values of the stored ones among these secrets. Shows no dialog.
    pub(super) fn values(
        &self,
        names: &BTreeSet<String>,
        until: Instant,
    ) -> Result<BTreeMap<String, Secret>, KeyringError> {
        self.in_session(Dialogs::Unwanted, until, async |session| {
            let mut values = BTreeMap::new();
            for name in names {
                if let Some(item) = session.item(name).await? {
                    values.insert(name.clone(), session.value(&item).await?);
                }
            }
            Ok(values)
        })
    }

    /// Stores a secret in the default collection, and replaces an older one.
    pub(super) fn set(
        &self,
        name: &str,
        value: &Secret,
        until: Instant,
    ) -> Result<(), KeyringError> {
        self.in_session(Dialogs::Wanted, until, async |session| {
            session.store(name, value).await
        })
    }

    /// Removes a secret, and says whether it was there.
    pub(super) fn remove(&self, name: &str, until: Instant) -> Result<bool, KeyringError> {
        self.in_session(Dialogs::Wanted, until, async |session| {
            let Some(item) = session.item(name).await? else {
                return Ok(false);
            };
            let prompt = session.call(&item, ITEM_FACE, "Delete", &()).await?;
            session.settle(prompt).await?;
            Ok(true)
        })
    }

    /// The names of all secrets of mcpproxy.
    pub(super) fn names(&self, until: Instant) -> Result<Vec<String>, KeyringError> {
        self.in_session(Dialogs::Unwanted, until, async |session| {
            let (open, locked) = session.search(BTreeMap::from([OWNER])).await?;
            let mut names = Vec::new();
            for item in open.iter().chain(&locked) {
                names.extend(session.name_of(item).await?);
            }
            if names.is_empty() {
                // A service without a default collection cannot store secrets, and counts as absent.
                session.default_collection().await?;
            }
            Ok(names)
        })
    }

    /// Runs `work` in a session with the service on this thread, until a deadline.
    fn in_session<T>(
        &self,
        dialogs: Dialogs,
        until: Instant,
        work: impl AsyncFnOnce(Session) -> Result<T, KeyringError>,
    ) -> Result<T, KeyringError> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            KeyringError::Failed(format!("failed to make a connection: {error}"))
        })?;
        let done = runtime.block_on(async {
            let work = async { work(self.open(dialogs).await?).await };
            timeout_at(until.into(), work).await
        });
        runtime.shutdown_background();
        done.unwrap_or(Err(KeyringError::Silent))
    }

    async fn open(&self, dialogs: Dialogs) -> Result<Session, KeyringError> {
        let Some(addresses) = &self.addresses else {
            let why = "$DBUS_SESSION_BUS_ADDRESS is not set";
            return Err(KeyringError::Absent(why.to_owned()));
        };
        let mut session = Session {
            bus: connect(addresses).await?,
            path: ObjectPath::default().into(),
            dialogs,
        };
        let plain = ("plain", Variant::from(""));
        let (_, path): (OwnedVariant, OwnedObjectPath) = session
            .call(ROOT, SERVICE_FACE, "OpenSession", &plain)
            .await?;
        session.path = path;
        Ok(session)
    }
}

/// The addresses of the session's bus in the form of D-Bus; nothing if there is no bus.
fn addresses(variables: &Variables) -> Option<String> {
    let named = variables(ADDRESS).filter(|address| !address.is_empty());
    named.or_else(|| {
        let folder = variables(RUNTIME_FOLDER).filter(|folder| !folder.is_empty())?;
        let socket = Path::new(&folder).join("bus");
        socket
            .exists()
            .then(|| format!("unix:path={}", socket.display()))
    })
}

/// Connects to the first of the addresses that can be reached.
async fn connect(addresses: &str) -> Result<Connection, KeyringError> {
    let mut fault = KeyringError::Absent("$DBUS_SESSION_BUS_ADDRESS names no bus".to_owned());
    for address in addresses.split(';') {
        match Builder::address(address).build().await {
            Ok(bus) => return Ok(bus),
            Err(error) => {
                fault = KeyringError::Absent(if is_closed(&error) {
                    format!("the session bus at {address} closed the connection")
                } else {
                    format!("no session bus at {address}")
                });
            }
        }
    }
    Err(fault)
}

/// A session with the service.
struct Session {
    bus: Connection,
    path: OwnedObjectPath,
    dialogs: Dialogs,
}

impl Session {
    async fn call<T: DeserializeOwned + Type>(
        &self,
        object: &str,
        interface: &str,
        member: &str,
        body: &(impl Serialize + DynamicType),
    ) -> Result<T, KeyringError> {
        let bus = &self.bus;
        let answer = bus.call_method(Some(SERVICE), object, Some(interface), member, body);
        let answer = answer.await.and_then(|answer| read(&answer));
        answer.map_err(|error| fault(&format!("do {member}"), &error))
    }

    /// The unlocked and the locked items with these attributes.
    async fn search(
        &self,
        attributes: BTreeMap<&str, &str>,
    ) -> Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>), KeyringError> {
        self.call(ROOT, SERVICE_FACE, "SearchItems", &attributes)
            .await
    }

    /// The item of a secret, after unlocking it.
    async fn item(&self, name: &str) -> Result<Option<OwnedObjectPath>, KeyringError> {
        let (open, locked) = self.search(BTreeMap::from([OWNER, (NAME, name)])).await?;
        if let Some(item) = open.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = locked.into_iter().next() else {
            return Ok(None);
        };
        self.unlock(&item).await?;
        Ok(Some(item))
    }

    async fn unlock(&self, object: &OwnedObjectPath) -> Result<(), KeyringError> {
        let (unlocked, prompt): (Vec<OwnedObjectPath>, OwnedObjectPath) = self
            .call(ROOT, SERVICE_FACE, "Unlock", &[object.as_ref()].as_slice())
            .await?;
        if unlocked.contains(object) {
            return Ok(());
        }
        self.settle(prompt).await
    }

    async fn value(&self, item: &str) -> Result<Secret, KeyringError> {
        let passed = self.call(item, ITEM_FACE, "GetSecret", &self.path);
        let (_, _, value, _): PassedSecret = passed.await?;
        // The error would have the bytes in it.
        let text = String::from_utf8(value);
        let text = text.map_err(|_| refused("give a secret", "it is not text"))?;
        Ok(Secret::new(text))
    }

    async fn name_of(&self, item: &str) -> Result<Option<String>, KeyringError> {
        let property = (ITEM_FACE, "Attributes");
        let found: OwnedVariant = self.call(item, PROPERTIES_FACE, "Get", &property).await?;
        let attributes = BTreeMap::<String, String>::try_from(found);
        let attributes = attributes.map_err(|error| fault("list its items", &error))?;
        Ok(attributes.get(NAME).cloned())
    }

    /// The collection in which new secrets are stored.
    async fn default_collection(&self) -> Result<OwnedObjectPath, KeyringError> {
        let collection: OwnedObjectPath = self
            .call(ROOT, SERVICE_FACE, "ReadAlias", &"default")
            .await?;
        if collection.as_str() == NOTHING {
            let why = "it has no default keyring; the desktop's password manager can create one";
            return Err(KeyringError::Absent(why.to_owned()));
        }
        Ok(collection)
    }

    async fn store(&self, name: &str, value: &Secret) -> Result<(), KeyringError> {
        let collection = self.default_collection().await?;
        self.unlock(&collection).await?;
        let attributes = BTreeMap::from([OWNER, (NAME, name)]);
        let properties = BTreeMap::from([
            (
                "org.freedesktop.Secret.Item.Label",
                Variant::from(format!("mcpproxy: {name}")),
            ),
            (
                "org.freedesktop.Secret.Item.Attributes",
                Variant::from(attributes),
            ),
        ]);
        let nothing: &[u8] = &[];
        let secret = (&self.path, nothing, value.reveal().as_bytes(), "text/plain");
        // `true` replaces an item with the same attributes.
        let item = (properties, secret, true);
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) = self
            .call(&collection, COLLECTION_FACE, "CreateItem", &item)
            .await?;
        self.settle(prompt).await
    }

    /// Lets the service show its dialog, if it needs one, and waits until the user has answered.
    async fn settle(&self, prompt: OwnedObjectPath) -> Result<(), KeyringError> {
        if prompt.as_str() == NOTHING {
            return Ok(());
        }
        if self.dialogs == Dialogs::Unwanted {
            return Err(KeyringError::Locked);
        }
        let failed = |error: Error| fault("show its dialog", &error);
        let rule = MatchRule::builder().msg_type(message::Type::Signal);
        let rule = rule.path(&prompt).member("Completed").build();
        let rule = rule.map_err(failed)?;
        let completed = MessageStream::for_match_rule(rule, &self.bus, None);
        let mut completed = completed.await.map_err(failed)?;
        // The argument is the window of the dialog: none.
        let () = self.call(&prompt, PROMPT_FACE, "Prompt", &"").await?;
        let ended = completed.next().await;
        let ended = ended.ok_or(KeyringError::Lost)?;
        let ended = ended.and_then(|signal| read(&signal));
        let (is_dismissed, _): (bool, OwnedVariant) = ended.map_err(failed)?;
        if is_dismissed {
            return Err(KeyringError::Dismissed);
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned + Type>(message: &Message) -> Result<T, Error> {
    message.body().deserialize()
}

fn refused(doing: &str, reason: &str) -> KeyringError {
    KeyringError::Failed(format!("the Secret Service could not {doing}: {reason}"))
}

fn fault(doing: &str, error: &Error) -> KeyringError {
    let name = match error {
        Error::FDO(error) => error.name().to_string(),
        Error::MethodError(name, ..) => name.to_string(),
        _ => String::new(),
    };
    match &*name {
        LOCKED => KeyringError::Locked,
        name if SILENT.contains(&name) => KeyringError::Silent,
        name if ABSENT.iter().any(|absent| name.starts_with(absent)) => {
            KeyringError::Absent("nothing answers on the session bus".to_owned())
        }
        _ if is_closed(error) => KeyringError::Lost,
        _ => refused(doing, &error.to_string()),
    }
}

/// Whether the other side closed the connection.
fn is_closed(error: &Error) -> bool {
    matches!(error, Error::InputOutput(error) if matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_bus_that_closes_the_connection_is_not_taken_for_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("bus");
        let address = format!("unix:path={}", socket.display());
        let why = async || {
            let failed = connect(&address).await.err();
            failed.expect("no bus").to_string()
        };
        assert!(why().await.contains("no session bus at"));
        let bus = tokio::net::UnixListener::bind(&socket).expect("the folder is ours");
        let (why, ()) = tokio::join!(why(), async { drop(bus.accept().await) });
        assert!(why.contains("closed the connection"), "{why}");
    }

    #[test]
    fn where_nothing_is_said_the_bus_is_in_the_folder_of_the_session() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display().to_string();
        let find = |said: Option<&'static str>| {
            let place = place.clone();
            let variables: Variables = Arc::new(move |name| match name {
                ADDRESS => said.map(str::to_owned),
                RUNTIME_FOLDER => Some(place.clone()),
                _ => None,
            });
            addresses(&variables)
        };
        assert_eq!(find(None), None);
        std::fs::write(folder.path().join("bus"), "").expect("writable");
        assert_eq!(find(Some("")), Some(format!("unix:path={place}/bus")));
        assert_eq!(find(Some("unix:path=/x")).as_deref(), Some("unix:path=/x"));
    }
}
