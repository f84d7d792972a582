//! A Secret Service and the session bus in front of it in one: one keyring, which may be locked, and a dialog to unlock it.

use std::sync::{Arc, Mutex, MutexGuard};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::{JoinHandle, JoinSet},
};

use super::fake_bus::{Attributes, Call, In, Out};

/// What the service has.
#[derive(Default)]
struct Kept {
    /// Attributes and value by path; nothing where it was deleted.
    items: Vec<Option<(Attributes, Vec<u8>)>>,
    behaviour: Behaviour,
    /// How many dialogs were shown.
    dialogs: usize,
}

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

async fn serve(mut client: UnixStream, kept: &Mutex<Kept>) -> std::io::Result<()> {
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
        let call = Call::read(&mut client).await?;
        if kept.lock().expect("no panic").behaviour == Behaviour::Silent
            && call.destination == "org.freedesktop.secrets"
        {
            continue;
        }
        let messages = answers(&call, &mut kept.lock().expect("no panic"));
        client.write_all(&messages.concat()).await?;
    }
}

fn answer(call: &Call, signature: &str, body: Out) -> Vec<Vec<u8>> {
    vec![body.message(2, &[(8, "g", signature)], Some(call.serial))]
}

fn error(call: &Call, name: &str) -> Vec<Vec<u8>> {
    let body = Out::default().text("told by the test");
    vec![body.message(3, &[(4, "s", name), (8, "g", "s")], Some(call.serial))]
}

fn answers(call: &Call, kept: &mut Kept) -> Vec<Vec<u8>> {
    let mut body = In(call.body.0.clone(), 0);
    let is_locked = matches!(kept.behaviour, Behaviour::Locked | Behaviour::Dismissing);
    let number = call
        .path
        .rsplit('/')
        .next()
        .and_then(|last| last.parse::<usize>().ok());
    let item = number.and_then(|number| kept.items.get(number)?.clone());
    let out = Out::default();
    match &*call.member {
        "Hello" => answer(call, "s", out.text(":1.7")),
        "AddMatch" | "RemoveMatch" => answer(call, "", out),
        _ if kept.behaviour == Behaviour::Absent => {
            error(call, "org.freedesktop.DBus.Error.ServiceUnknown")
        }
        "OpenSession" => {
            assert_eq!(body.text(), "plain");
            answer(call, "vo", out.signature("s").text("").text("/session"))
        }
        "ReadAlias" => {
            let has_default = kept.behaviour != Behaviour::WithoutDefault;
            answer(
                call,
                "o",
                out.text(if has_default { "/collection" } else { "/" }),
            )
        }
        "SearchItems" => {
            let wanted = body.attributes();
            let fits = |(attributes, _): &(Attributes, Vec<u8>)| {
                let mut wanted = wanted.iter();
                wanted.all(|(key, value)| attributes.get(key) == Some(value))
            };
            let items = kept.items.iter().enumerate();
            let found = items.filter(|(_, item)| item.as_ref().is_some_and(fits));
            let found: Vec<String> = found.map(|(number, _)| format!("/item/{number}")).collect();
            let (open, locked) = if is_locked {
                (vec![], found)
            } else {
                (found, vec![])
            };
            answer(call, "aoao", out.paths(&open).paths(&locked))
        }
        "Unlock" if is_locked => answer(call, "aoo", out.paths(&[]).text("/prompt")),
        "Unlock" => {
            body.number();
            let object = body.text();
            answer(call, "aoo", out.paths(&[object]).text("/"))
        }
        "Prompt" => {
            kept.dialogs += 1;
            let is_dismissed = kept.behaviour == Behaviour::Dismissing;
            if !is_dismissed {
                kept.behaviour = Behaviour::Open;
            }
            let done = Out::default().number(usize::from(is_dismissed));
            let done = done.signature("s").text("");
            let face = "org.freedesktop.Secret.Prompt";
            let fields = [
                (1, "o", &*call.path),
                (2, "s", face),
                (3, "s", "Completed"),
                (8, "g", "bv"),
            ];
            let mut messages = answer(call, "", out);
            messages.push(done.message(4, &fields, None));
            messages
        }
        _ if is_locked && call.member != "Get" => {
            error(call, "org.freedesktop.Secret.Error.IsLocked")
        }
        "CreateItem" => create_item(call, &mut body, kept),
        "GetSecret" => {
            let session = body.text();
            let (_, value) = item.expect("an item");
            let passed = out
                .align(8)
                .text(&session)
                .bytes(&[])
                .bytes(&value)
                .text("text/plain");
            answer(call, "(oayays)", passed)
        }
        "Get" => {
            let (attributes, _) = item.expect("an item");
            // A variant begins where its signature does.
            let value = out.signature("a{ss}").attributes(&attributes);
            answer(call, "v", value)
        }
        "Delete" => {
            let number = number.expect("an item");
            kept.items[number] = None;
            answer(call, "o", out.text("/"))
        }
        other => panic!("nobody should call {other}"),
    }
}

fn create_item(call: &Call, body: &mut In, kept: &mut Kept) -> Vec<Vec<u8>> {
    let end = body.number() as usize;
    body.align(8);
    let end = body.1 + end;
    let mut attributes = Attributes::new();
    while body.1 < end {
        body.align(8);
        let property = body.text();
        match &*body.signature() {
            "s" => assert!(body.text().starts_with("mcpproxy: "), "{property}"),
            _ => attributes = body.attributes(),
        }
    }
    body.align(8);
    assert_eq!(body.text(), "/session");
    body.bytes();
    let value = body.bytes();
    assert_eq!(body.text(), "text/plain");
    assert_eq!(body.number(), 1, "in place of an older one");
    let mut items = kept.items.iter();
    let same = items.position(|item| item.as_ref().is_some_and(|(known, _)| *known == attributes));
    let place = same.unwrap_or(kept.items.len());
    if same.is_none() {
        kept.items.push(None);
    }
    kept.items[place] = Some((attributes, value));
    answer(
        call,
        "oo",
        Out::default().text(&format!("/item/{place}")).text("/"),
    )
}
