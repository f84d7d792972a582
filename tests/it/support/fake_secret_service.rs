//! A Secret Service and the session bus in front of it in one: one keyring, which may be locked, and a dialog to unlock it.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use serde::{Serialize, de::DeserializeOwned};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::{JoinHandle, JoinSet},
};
use zbus::{
    DynamicType, Message, OwnedObjectPath, OwnedVariant, Type, Variant,
    wire::{
        Endian,
        serialized::{Context, Data},
    },
};

type Attributes = BTreeMap<String, String>;

/// A value as it passes: session, parameters of its encryption, bytes, media type.
type PassedSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// What the service has.
#[derive(Default)]
struct Kept {
    /// Attributes and value by path; nothing where it was deleted.
    items: Vec<Option<(Attributes, Vec<u8>)>>,
    behaviour: Behaviour,
    /// How many dialogs were shown.
    dialogs: usize,
}

const SERVICE: &str = "org.freedesktop.secrets";

/// What it is like.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum Behaviour {
    /// Open.
    #[default]
    Open,
    /// Locked, with an owner who unlocks it when the dialog is shown.
    Locked,
    /// Locked, with an owner who closes the dialog.
    Dismissing,
    /// It takes calls and does not answer.
    Silent,
    /// Locked, and the bus ends during its dialog.
    Dying,
    /// It has no keyring that could take new secrets.
    WithoutDefault,
    /// The bus runs, and no service on it.
    Absent,
}

/// The service and its bus. Dropping it ends both.
pub struct FakeSecretService {
    address: String,
    kept: Arc<Mutex<Kept>>,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

impl FakeSecretService {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("bus");
        let listener = UnixListener::bind(&socket).expect("the folder is ours");
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let served = Arc::clone(&kept);
        let serving = tokio::spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let kept = Arc::clone(&served);
                // A client that leaves is done.
                clients.spawn(async move { drop(serve(client, &kept).await) });
            }
        });
        Self {
            address: format!("unix:path={}", socket.display()),
            kept,
            serving,
            _folder: folder,
        }
    }

    /// For `DBUS_SESSION_BUS_ADDRESS`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn becomes(&self, behaviour: Behaviour) {
        self.kept().behaviour = behaviour;
    }

    pub fn dialogs(&self) -> usize {
        self.kept().dialogs
    }

    /// The values of all items.
    pub fn values(&self) -> Vec<String> {
        let kept = self.kept();
        let values = kept.items.iter().flatten().map(|(_, value)| value.clone());
        values
            .map(|value| String::from_utf8(value).expect("text"))
            .collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic")
    }
}

impl Drop for FakeSecretService {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut client: UnixStream, kept: &Mutex<Kept>) -> io::Result<()> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line != b"BEGIN\r\n" {
        line.clear();
        while !line.ends_with(b"\r\n") {
            client.read_exact(&mut byte).await?;
            line.extend(byte);
        }
        let answer: &[u8] = match &line[..] {
            b"BEGIN\r\n" => b"",
            b"NEGOTIATE_UNIX_FD\r\n" => b"ERROR\r\n",
            _ => b"OK 0123456789abcdef0123456789abcdef\r\n",
        };
        client.write_all(answer).await?;
    }
    loop {
        let call = read_call(&mut client).await?;
        let header = call.header();
        let is_for_service = header.destination().is_some_and(|name| name == SERVICE);
        if kept.lock().expect("no panic").behaviour == Behaviour::Silent && is_for_service {
            continue;
        }
        let ends = kept.lock().expect("no panic").behaviour == Behaviour::Dying;
        if ends
            && header
                .member()
                .is_some_and(|member| member.as_str() == "Prompt")
        {
            return Ok(());
        }
        let messages = answers(&call, &mut kept.lock().expect("no panic"));
        for message in messages {
            client.write_all(message.data()).await?;
        }
    }
}

/// The next call of this client, which writes little-endian.
async fn read_call(client: &mut UnixStream) -> io::Result<Message> {
    let mut message = vec![0; 16];
    client.read_exact(&mut message).await?;
    assert_eq!(message[..2], *b"l\x01", "a call, little-endian");
    let number = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().expect("four"));
    let (body, fields) = (number(4) as usize, number(12) as usize);
    message.resize((16 + fields).next_multiple_of(8) + body, 0);
    client.read_exact(&mut message[16..]).await?;
    let message = Data::new(message, Context::new(Endian::Little, 0));
    #[expect(unsafe_code, reason = "the same library wrote these bytes")]
    let message = unsafe { Message::from_bytes(message) };
    message.map_err(io::Error::other)
}

/// What a call brings.
fn body<T: DeserializeOwned + Type>(call: &Message) -> T {
    let body = call.body();
    body.deserialize_ignore_signature().expect("as specified")
}

fn path(path: &str) -> OwnedObjectPath {
    path.to_owned().try_into().expect("a path")
}

fn answer(call: &Message, body: &(impl Serialize + DynamicType)) -> Vec<Message> {
    let answer = Message::method_return(&call.header()).build(body);
    vec![answer.expect("a message")]
}

fn error(call: &Message, name: &str) -> Vec<Message> {
    let error = Message::error(&call.header(), name).build(&"told by the test");
    vec![error.expect("a message")]
}

fn answers(call: &Message, kept: &mut Kept) -> Vec<Message> {
    use Behaviour::{Dismissing, Dying, Locked};
    let is_locked = matches!(kept.behaviour, Locked | Dismissing | Dying);
    let header = call.header();
    let object = header.path().expect("a path").as_str();
    let number = object.rsplit('/').next();
    let number = number.and_then(|last| last.parse::<usize>().ok());
    let item = number.and_then(|number| kept.items.get(number)?.clone());
    match header.member().expect("a member").as_str() {
        "Hello" => answer(call, &":1.7"),
        "AddMatch" | "RemoveMatch" => answer(call, &()),
        _ if kept.behaviour == Behaviour::Absent => {
            error(call, "org.freedesktop.DBus.Error.ServiceUnknown")
        }
        "OpenSession" => {
            let (algorithm, _): (String, OwnedVariant) = body(call);
            assert_eq!(algorithm, "plain");
            answer(call, &(Variant::from(""), path("/session")))
        }
        "ReadAlias" => {
            let has_default = kept.behaviour != Behaviour::WithoutDefault;
            answer(call, &path(if has_default { "/collection" } else { "/" }))
        }
        "SearchItems" => {
            let wanted: Attributes = body(call);
            let fits = |(attributes, _): &(Attributes, Vec<u8>)| {
                let mut wanted = wanted.iter();
                wanted.all(|(key, value)| attributes.get(key) == Some(value))
            };
            let items = kept.items.iter().enumerate();
            let found = items.filter(|(_, item)| item.as_ref().is_some_and(fits));
            let found: Vec<_> = found
                .map(|(number, _)| path(&format!("/item/{number}")))
                .collect();
            let none = Vec::<OwnedObjectPath>::new();
            let found = if is_locked {
                (none, found)
            } else {
                (found, none)
            };
            answer(call, &found)
        }
        "Unlock" if is_locked => answer(call, &(Vec::<OwnedObjectPath>::new(), path("/prompt"))),
        "Unlock" => answer(call, &(body::<Vec<OwnedObjectPath>>(call), path("/"))),
        "Prompt" => {
            kept.dialogs += 1;
            let is_dismissed = kept.behaviour == Dismissing;
            if !is_dismissed {
                kept.behaviour = Behaviour::Open;
            }
            let done = Message::signal(object, "org.freedesktop.Secret.Prompt", "Completed")
                .build(&(is_dismissed, Variant::from("")));
            let mut messages = answer(call, &());
            messages.push(done.expect("a message"));
            messages
        }
        "Get" => {
            let (attributes, _) = item.expect("an item");
            answer(call, &Variant::from(attributes))
        }
        _ if is_locked => error(call, "org.freedesktop.Secret.Error.IsLocked"),
        "CreateItem" => create_item(call, kept),
        "GetSecret" => {
            let (_, value) = item.expect("an item");
            let passed: PassedSecret = (body(call), Vec::new(), value, "text/plain".to_owned());
            answer(call, &(passed,))
        }
        "Delete" => {
            kept.items[number.expect("an item")] = None;
            answer(call, &path("/"))
        }
        other => panic!("nobody should call {other}"),
    }
}

fn create_item(call: &Message, kept: &mut Kept) -> Vec<Message> {
    let (mut properties, secret, replaces): (BTreeMap<String, OwnedVariant>, PassedSecret, bool) =
        body(call);
    assert!(replaces, "in place of an older one");
    let mut property = |name: &str| {
        let property = properties.remove(&format!("org.freedesktop.Secret.Item.{name}"));
        property.expect("a property")
    };
    let label = String::try_from(property("Label")).expect("a text");
    assert!(label.starts_with("mcpproxy: "), "{label}");
    let attributes = Attributes::try_from(property("Attributes")).expect("attributes");
    let (session, _, value, media_type) = secret;
    assert_eq!((session.as_str(), &*media_type), ("/session", "text/plain"));
    let mut items = kept.items.iter();
    let same = items.position(|item| item.as_ref().is_some_and(|(known, _)| *known == attributes));
    let place = same.unwrap_or(kept.items.len());
    if same.is_none() {
        kept.items.push(None);
    }
    kept.items[place] = Some((attributes, value));
    answer(call, &(path(&format!("/item/{place}")), path("/")))
}
