//! A connection to the session's D-Bus: finding it, saying who we are, calls with their answers, one signal. Every wait ends at one moment.
//! It knows nothing of secrets.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
    path::Path,
    time::{Duration, Instant},
};

use percent_encoding::percent_decode_str;

use super::message::{self, BadMessage, BusMessage, BusWriter, Method, PREFIX};
use crate::config::Variables;

/// Says where the session's bus listens.
const ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
/// The folder that the bus listens in where nothing is said.
const RUNTIME_FOLDER: &str = "XDG_RUNTIME_DIR";

/// Limit: lines of the greeting are shorter.
const LONGEST_LINE: usize = 1 << 10;
/// Limit: signals that came while an answer was awaited; one is waited for at most.
const KEPT_SIGNALS: usize = 16;

const BUS: Method<'_> = Method {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    member: "Hello",
};

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum BusError {
    #[error("no session bus: {0}")]
    NoBus(String),
    /// The answer is an error of this name.
    #[error("{reason}")]
    Refused { name: String, reason: String },
    #[error("no answer in time")]
    Silent,
    #[error("the session bus: {0}")]
    Broken(io::Error),
    #[error(transparent)]
    BadMessage(#[from] BadMessage),
}

/// Where the session's bus listens, in the form that D-Bus has for it; nothing where there is none.
pub(super) fn address(variables: &Variables) -> Option<String> {
    let said = variables(ADDRESS).filter(|address| !address.is_empty());
    said.or_else(|| {
        let folder = variables(RUNTIME_FOLDER).filter(|folder| !folder.is_empty())?;
        let socket = Path::new(&folder).join("bus");
        socket
            .exists()
            .then(|| format!("unix:path={}", socket.display()))
    })
}

/// A connection on which one call is under way at most.
pub(super) struct Bus {
    stream: UnixStream,
    until: Instant,
    serial: u32,
    signals: VecDeque<BusMessage>,
}

impl Bus {
    /// Connects to the first of the addresses that can be reached. Everything has to be done until then.
    pub(super) fn open(addresses: &str, until: Instant) -> Result<Self, BusError> {
        let mut bus = Self {
            stream: connect(addresses).map_err(|error| BusError::NoBus(error.to_string()))?,
            until,
            serial: 0,
            signals: VecDeque::new(),
        };
        bus.greet()?;
        bus.call(BUS, "", &BusWriter::default())?;
        Ok(bus)
    }

    /// Says which user we are, which the bus compares with what the socket says.
    fn greet(&mut self) -> Result<(), BusError> {
        let user = rustix::process::geteuid().as_raw().to_string();
        // Digits in hexadecimal are a 3 and the digit.
        let hex: String = user.chars().flat_map(|digit| ['3', digit]).collect();
        self.send(format!("\0AUTH EXTERNAL {hex}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            if line.len() > LONGEST_LINE {
                return Err(BadMessage.into());
            }
            let mut byte = [0];
            self.receive(&mut byte)?;
            line.extend(byte);
        }
        if !line.starts_with(b"OK ") {
            return Err(BusError::NoBus("it does not let us in".to_owned()));
        }
        self.send(b"BEGIN\r\n")
    }

    /// Calls a method, and waits for its answer.
    pub(super) fn call(
        &mut self,
        method: Method<'_>,
        signature: &str,
        body: &BusWriter,
    ) -> Result<BusMessage, BusError> {
        self.serial += 1;
        let serial = self.serial;
        let bytes = message::call(serial, method, signature, body);
        if bytes.len() > message::LONGEST {
            return Err(BadMessage.into());
        }
        self.send(&bytes)?;
        loop {
            let message = self.next()?;
            match message.kind {
                message::ANSWER if message.answer_to == Some(serial) => return Ok(message),
                message::ERROR if message.answer_to == Some(serial) => {
                    return Err(BusError::Refused {
                        reason: message.reason(),
                        name: message.error,
                    });
                }
                message::SIGNAL if self.signals.len() < KEPT_SIGNALS => {
                    self.signals.push_back(message);
                }
                _ => (),
            }
        }
    }

    /// Has the bus pass on a signal of this object.
    pub(super) fn subscribe(&mut self, object: &str, member: &str) -> Result<(), BusError> {
        let mut rule = BusWriter::default();
        rule.text(&format!("type='signal',path='{object}',member='{member}'"));
        let method = Method {
            member: "AddMatch",
            ..BUS
        };
        self.call(method, "s", &rule).map(drop)
    }

    /// Waits for a signal that was subscribed to.
    pub(super) fn signal(&mut self, object: &str, member: &str) -> Result<BusMessage, BusError> {
        loop {
            let message = match self.signals.pop_front() {
                Some(message) => message,
                None => self.next()?,
            };
            let is_meant = message.path == object && message.member == member;
            if message.kind == message::SIGNAL && is_meant {
                return Ok(message);
            }
        }
    }

    fn next(&mut self) -> Result<BusMessage, BusError> {
        let mut prefix = [0; PREFIX];
        self.receive(&mut prefix)?;
        let mut bytes = prefix.to_vec();
        bytes.resize(message::length(&prefix)?.max(PREFIX), 0);
        let rest = bytes.get_mut(PREFIX..).unwrap_or_default();
        self.receive(rest)?;
        Ok(BusMessage::read(&bytes)?)
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), BusError> {
        while !bytes.is_empty() {
            let left = self.left()?;
            let written = self.stream.set_write_timeout(Some(left));
            let written = written.and_then(|()| self.stream.write(bytes));
            let written = written.map_err(failed)?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self, mut buffer: &mut [u8]) -> Result<(), BusError> {
        while !buffer.is_empty() {
            let left = self.left()?;
            let read = self.stream.set_read_timeout(Some(left));
            let read = read.and_then(|()| self.stream.read(buffer));
            match read.map_err(failed)? {
                0 => return Err(BusError::Broken(io::ErrorKind::UnexpectedEof.into())),
                read => buffer = buffer.get_mut(read..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// How long may still be waited.
    fn left(&self) -> Result<Duration, BusError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(BusError::Silent);
        }
        Ok(left)
    }
}

fn failed(error: io::Error) -> BusError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => BusError::Silent,
        _ => BusError::Broken(error),
    }
}

/// Tries one address after another.
fn connect(addresses: &str) -> io::Result<UnixStream> {
    let unknown = || {
        io::Error::new(
            io::ErrorKind::Unsupported,
            "its address is of no kind that is known",
        )
    };
    let mut last = unknown();
    for address in addresses.split(';') {
        let connected = match socket(address) {
            Some(socket) => socket.and_then(|socket| UnixStream::connect_addr(&socket)),
            None => continue,
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The socket that an address means, if it is of a kind that we know.
fn socket(address: &str) -> Option<io::Result<SocketAddr>> {
    let parameters = address.strip_prefix("unix:")?;
    parameters.split(',').find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value: Vec<u8> = percent_decode_str(value).collect();
        match key {
            "path" => {
                let path = String::from_utf8(value).map_err(io::Error::other);
                Some(path.and_then(SocketAddr::from_pathname))
            }
            "abstract" => Some(SocketAddr::from_abstract_name(value)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let path = |address: &str| {
            let socket = socket(address)?.expect("a good address");
            let path = socket.as_pathname().map(|path| path.display().to_string());
            path.or_else(|| {
                let name = socket.as_abstract_name()?;
                Some(format!("@{}", String::from_utf8_lossy(name)))
            })
        };
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(path(address).as_deref(), expected, "{address}");
        };
        check("unix:path=/run/user/1/bus", Some("/run/user/1/bus"));
        check("unix:guid=ab,path=/a%20b,x=y", Some("/a b"));
        check("unix:abstract=/tmp/dbus-1,guid=2", Some("@/tmp/dbus-1"));
        check("tcp:host=localhost,port=1", None);
        check("unix:runtime=yes", None);
        check("autolaunch:", None);
        check("", None);
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
            address(&variables)
        };
        assert_eq!(find(None), None);
        std::fs::write(folder.path().join("bus"), "").expect("writable");
        assert_eq!(find(Some("")), Some(format!("unix:path={place}/bus")));
        assert_eq!(find(Some("unix:path=/x")).as_deref(), Some("unix:path=/x"));
    }
}
