//! The Secret Service of the desktop, over the session's D-Bus: <https://specifications.freedesktop.org/secret-service/>. Values pass
//! as they are over the bus, which is a socket that only its owner can open.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::{
    bus::{self, Bus, BusError},
    error::KeyringError,
    message::{BadMessage, BusMessage, BusReader, BusWriter, Method},
};
use crate::{config::Variables, secret::Secret};

const SERVICE: &str = "org.freedesktop.secrets";
const ROOT: &str = "/org/freedesktop/secrets";
const SERVICE_FACE: &str = "org.freedesktop.Secret.Service";
const COLLECTION_FACE: &str = "org.freedesktop.Secret.Collection";
const ITEM_FACE: &str = "org.freedesktop.Secret.Item";
const PROMPT_FACE: &str = "org.freedesktop.Secret.Prompt";
const PROPERTIES_FACE: &str = "org.freedesktop.DBus.Properties";

/// The path that stands for none.
const NOTHING: &str = "/";

/// By these attributes our items are found: whose they are, and the name.
const OWNER: (&str, &str) = ("application", "mcpproxy");
const NAME: &str = "name";

/// Errors of the bus that mean that nobody is there to be asked.
const ABSENT: [&str; 3] = [
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Spawn.",
];
/// Those that mean that somebody does not answer.
const SILENT: [&str; 3] = [
    "org.freedesktop.DBus.Error.NoReply",
    "org.freedesktop.DBus.Error.Timeout",
    "org.freedesktop.DBus.Error.TimedOut",
];
const LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";

/// Whether the service may show a dialog.
#[derive(Clone, Copy, PartialEq)]
enum Dialogs {
    /// Whoever needs one gets the error.
    Unwanted,
    /// There is somebody to answer.
    Wanted,
}

/// Where the session's bus is.
#[derive(Clone)]
pub(super) struct SecretService {
    addresses: Option<String>,
}

impl SecretService {
    pub(super) fn new(variables: &Variables) -> Self {
        Self {
            addresses: bus::address(variables),
        }
    }

    /// The values of those that are there. Shows no dialog.
    pub(super) fn values(
        &self,
        names: &BTreeSet<String>,
        until: Instant,
    ) -> Result<BTreeMap<String, Secret>, KeyringError> {
        let mut service = self.open(Dialogs::Unwanted, until)?;
        let mut values = BTreeMap::new();
        for name in names {
            if let Some(item) = service.item(name)? {
                values.insert(name.clone(), service.value(&item)?);
            }
        }
        Ok(values)
    }

    /// Stores a secret in the default collection, in place of an older one.
    pub(super) fn set(
        &self,
        name: &str,
        value: &Secret,
        until: Instant,
    ) -> Result<(), KeyringError> {
        self.open(Dialogs::Wanted, until)?.store(name, value)
    }

    /// Says whether it was there.
    pub(super) fn remove(&self, name: &str, until: Instant) -> Result<bool, KeyringError> {
        let mut service = self.open(Dialogs::Wanted, until)?;
        let Some(item) = service.item(name)? else {
            return Ok(false);
        };
        let answer = service.call(&item, ITEM_FACE, "Delete", "", &BusWriter::default())?;
        let prompt = read(&answer, "o", "delete it", BusReader::text)?;
        service.settle(&prompt)?;
        Ok(true)
    }

    /// The names of ours.
    pub(super) fn names(&self, until: Instant) -> Result<Vec<String>, KeyringError> {
        let mut service = self.open(Dialogs::Unwanted, until)?;
        let (open, locked) = service.search(&[OWNER])?;
        let mut names = Vec::new();
        for item in open.iter().chain(&locked) {
            names.extend(service.name_of(item)?);
        }
        if names.is_empty() {
            // A service that could take none is as good as none.
            service.default_collection()?;
        }
        Ok(names)
    }

    fn open(&self, dialogs: Dialogs, until: Instant) -> Result<Service, KeyringError> {
        let Some(addresses) = &self.addresses else {
            let why = "no session bus: $DBUS_SESSION_BUS_ADDRESS is not set";
            return Err(KeyringError::Absent(why.to_owned()));
        };
        let bus = Bus::open(addresses, until).map_err(|error| fault("be asked", &error))?;
        let mut service = Service {
            bus,
            session: String::new(),
            dialogs,
        };
        let mut plain = BusWriter::default();
        plain.text("plain");
        plain.signature("s");
        plain.text("");
        let opened = service.call(ROOT, SERVICE_FACE, "OpenSession", "sv", &plain)?;
        service.session = read(&opened, "vo", "open a session", |values| {
            // What the way of passing secrets gives back: nothing, in ours.
            match &*values.signature()? {
                "s" => drop(values.text()?),
                _ => return Err(BadMessage),
            }
            values.text()
        })?;
        Ok(service)
    }
}

/// A session with the service.
struct Service {
    bus: Bus,
    session: String,
    dialogs: Dialogs,
}

impl Service {
    fn call(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        signature: &str,
        body: &BusWriter,
    ) -> Result<BusMessage, KeyringError> {
        let method = Method {
            destination: SERVICE,
            path,
            interface,
            member,
        };
        let answer = self.bus.call(method, signature, body);
        answer.map_err(|error| fault(&format!("do {member}"), &error))
    }

    /// Items with these attributes: those that are open, and those that are locked.
    fn search(
        &mut self,
        attributes: &[(&str, &str)],
    ) -> Result<(Vec<String>, Vec<String>), KeyringError> {
        let mut asked = BusWriter::default();
        asked.texts(attributes);
        let answer = self.call(ROOT, SERVICE_FACE, "SearchItems", "a{ss}", &asked)?;
        read(&answer, "aoao", "search", |values| {
            Ok((values.paths()?, values.paths()?))
        })
    }

    /// The item of this name, unlocked.
    fn item(&mut self, name: &str) -> Result<Option<String>, KeyringError> {
        let (open, locked) = self.search(&[OWNER, (NAME, name)])?;
        if let Some(item) = open.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = locked.into_iter().next() else {
            return Ok(None);
        };
        self.unlock(&item)?;
        Ok(Some(item))
    }

    fn unlock(&mut self, object: &str) -> Result<(), KeyringError> {
        let mut asked = BusWriter::default();
        asked.array(4, |objects| objects.text(object));
        let answer = self.call(ROOT, SERVICE_FACE, "Unlock", "ao", &asked)?;
        let (unlocked, prompt) = read(&answer, "aoo", "be unlocked", |values| {
            Ok((values.paths()?, values.text()?))
        })?;
        if unlocked.iter().any(|done| done == object) {
            return Ok(());
        }
        self.settle(&prompt)
    }

    fn value(&mut self, item: &str) -> Result<Secret, KeyringError> {
        let mut session = BusWriter::default();
        session.text(&self.session);
        let answer = self.call(item, ITEM_FACE, "GetSecret", "o", &session)?;
        let value = read(&answer, "(oayays)", "give a secret", |values| {
            values.begin();
            values.text()?;
            values.bytes()?;
            Ok(values.bytes()?.to_vec())
        })?;
        // The error would have the bytes in it.
        let text = String::from_utf8(value);
        let text = text.map_err(|_| refused("give a secret", "it is no text"))?;
        Ok(Secret::new(text))
    }

    fn name_of(&mut self, item: &str) -> Result<Option<String>, KeyringError> {
        let mut property = BusWriter::default();
        property.text(ITEM_FACE);
        property.text("Attributes");
        let answer = self.call(item, PROPERTIES_FACE, "Get", "ss", &property)?;
        let attributes = read(&answer, "v", "list its items", |values| {
            if values.signature()? != "a{ss}" {
                return Err(BadMessage);
            }
            values.array(8, |attribute| {
                attribute.begin();
                Ok((attribute.text()?, attribute.text()?))
            })
        })?;
        let mut attributes = attributes.into_iter();
        let name = attributes.find(|(key, _)| key == NAME);
        Ok(name.map(|(_, name)| name))
    }

    /// Where new secrets are kept.
    fn default_collection(&mut self) -> Result<String, KeyringError> {
        let mut alias = BusWriter::default();
        alias.text("default");
        let answer = self.call(ROOT, SERVICE_FACE, "ReadAlias", "s", &alias)?;
        let collection = read(&answer, "o", "say where it keeps secrets", BusReader::text)?;
        if collection == NOTHING {
            let why = "it has no default keyring; the desktop's password program makes one";
            return Err(KeyringError::Absent(why.to_owned()));
        }
        Ok(collection)
    }

    fn store(&mut self, name: &str, value: &Secret) -> Result<(), KeyringError> {
        let collection = self.default_collection()?;
        self.unlock(&collection)?;
        let mut item = BusWriter::default();
        item.array(8, |properties| {
            properties.begin();
            properties.text("org.freedesktop.Secret.Item.Label");
            properties.signature("s");
            properties.text(&format!("mcpproxy: {name}"));
            properties.begin();
            properties.text("org.freedesktop.Secret.Item.Attributes");
            properties.signature("a{ss}");
            properties.texts(&[OWNER, (NAME, name)]);
        });
        item.begin();
        item.text(&self.session);
        item.bytes(&[]);
        item.bytes(value.reveal().as_bytes());
        item.text("text/plain");
        // In place of the one that has the same attributes.
        item.flag(true);
        let signature = "a{sv}(oayays)b";
        let answer = self.call(&collection, COLLECTION_FACE, "CreateItem", signature, &item)?;
        let prompt = read(&answer, "oo", "store it", |values| {
            values.text()?;
            values.text()
        })?;
        self.settle(&prompt)
    }

    /// Has the dialog shown that the service wants to show, if it wants one, and waits for its end.
    fn settle(&mut self, prompt: &str) -> Result<(), KeyringError> {
        if prompt == NOTHING {
            return Ok(());
        }
        if self.dialogs == Dialogs::Unwanted {
            return Err(KeyringError::Locked);
        }
        let bus = &mut self.bus;
        let failed = |error: BusError| fault("show its dialog", &error);
        bus.subscribe(prompt, "Completed").map_err(failed)?;
        // The number of a window to stand before: none.
        let mut window = BusWriter::default();
        window.text("");
        self.call(prompt, PROMPT_FACE, "Prompt", "s", &window)?;
        let completed = self.bus.signal(prompt, "Completed").map_err(failed)?;
        if read(&completed, "bv", "show its dialog", BusReader::flag)? {
            return Err(KeyringError::Dismissed);
        }
        Ok(())
    }
}

fn read<'m, T>(
    message: &'m BusMessage,
    signature: &str,
    doing: &str,
    values: impl FnOnce(&mut BusReader<'m>) -> Result<T, BadMessage>,
) -> Result<T, KeyringError> {
    let read = message
        .body(signature)
        .and_then(|mut body| values(&mut body));
    read.map_err(|error| refused(doing, &error.to_string()))
}

fn refused(doing: &str, reason: &str) -> KeyringError {
    KeyringError::Failed(format!("the Secret Service could not {doing}: {reason}"))
}

fn fault(doing: &str, error: &BusError) -> KeyringError {
    match error {
        BusError::Silent => KeyringError::Silent,
        BusError::NoBus(_) => KeyringError::Absent(error.to_string()),
        BusError::Refused { name, .. } if name == LOCKED => KeyringError::Locked,
        BusError::Refused { name, .. } if SILENT.contains(&name.as_str()) => KeyringError::Silent,
        BusError::Refused { name, .. } if ABSENT.iter().any(|absent| name.starts_with(absent)) => {
            KeyringError::Absent("none answers on the session bus".to_owned())
        }
        _ => refused(doing, &error.to_string()),
    }
}
