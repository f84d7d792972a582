//! Messages of D-Bus as a service has them: calls that come little-endian, and answers, errors and signals that go big-endian, as those of
//! other machines do.

use std::collections::BTreeMap;

use tokio::{io::AsyncReadExt, net::UnixStream};

pub type Attributes = BTreeMap<String, String>;

/// A call as it came.
pub struct Call {
    pub serial: u32,
    pub path: String,
    pub member: String,
    pub destination: String,
    pub body: In,
}

impl Call {
    /// The next one of this client.
    pub async fn read(client: &mut UnixStream) -> std::io::Result<Self> {
        let mut head = vec![0; 16];
        client.read_exact(&mut head).await?;
        assert_eq!(head[..4], *b"l\x01\x00\x01", "a call, little-endian");
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
        let (body, serial, fields) = (number(4) as usize, number(8), number(12) as usize);
        let padded = (16 + fields).next_multiple_of(8);
        let mut message = head.clone();
        message.resize(padded + body, 0);
        client.read_exact(&mut message[16..]).await?;
        let mut call = Self {
            serial,
            path: String::new(),
            member: String::new(),
            destination: String::new(),
            body: In(message[padded..].to_vec(), 0),
        };
        let mut reader = In(message, 16);
        while reader.1 < 16 + fields {
            reader.align(8);
            let field = reader.byte();
            let kind = reader.signature();
            let value = if kind == "g" {
                reader.signature()
            } else {
                reader.text()
            };
            match field {
                1 => call.path = value,
                3 => call.member = value,
                6 => call.destination = value,
                _ => (),
            }
        }
        Ok(call)
    }
}

/// Values that came.
pub struct In(pub Vec<u8>, pub usize);

impl In {
    pub fn align(&mut self, to: usize) {
        self.1 = self.1.next_multiple_of(to);
    }

    pub fn take(&mut self, length: usize) -> Vec<u8> {
        let taken = self.0[self.1..self.1 + length].to_vec();
        self.1 += length;
        taken
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    pub fn number(&mut self) -> u32 {
        self.align(4);
        u32::from_le_bytes(self.take(4).try_into().expect("four"))
    }

    pub fn bytes(&mut self) -> Vec<u8> {
        let length = self.number() as usize;
        self.take(length)
    }

    pub fn text(&mut self) -> String {
        let text = self.bytes();
        assert_eq!(self.byte(), 0);
        String::from_utf8(text).expect("UTF-8")
    }

    pub fn signature(&mut self) -> String {
        let length = usize::from(self.byte());
        let text = self.take(length);
        assert_eq!(self.byte(), 0);
        String::from_utf8(text).expect("ASCII")
    }

    pub fn attributes(&mut self) -> Attributes {
        let length = self.number() as usize;
        self.align(8);
        let end = self.1 + length;
        let mut attributes = Attributes::new();
        while self.1 < end {
            self.align(8);
            let name = self.text();
            attributes.insert(name, self.text());
        }
        attributes
    }
}

/// Values to be sent, big-endian.
#[derive(Default)]
pub struct Out(Vec<u8>);

impl Out {
    pub fn align(mut self, to: usize) -> Self {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
        self
    }

    pub fn number(self, number: usize) -> Self {
        let mut out = self.align(4);
        let number = u32::try_from(number).expect("small");
        out.0.extend(number.to_be_bytes());
        out
    }

    pub fn bytes(self, bytes: &[u8]) -> Self {
        let mut out = self.number(bytes.len());
        out.0.extend(bytes);
        out
    }

    pub fn text(self, text: &str) -> Self {
        let mut out = self.bytes(text.as_bytes());
        out.0.push(0);
        out
    }

    pub fn signature(mut self, signature: &str) -> Self {
        self.0.push(u8::try_from(signature.len()).expect("short"));
        self.0.extend(signature.bytes());
        self.0.push(0);
        self
    }

    pub fn paths(self, paths: &[String]) -> Self {
        let texts = paths
            .iter()
            .fold(Self::default(), |out, path| out.text(path));
        let mut out = self.number(texts.0.len());
        out.0.extend(texts.0);
        out
    }

    pub fn attributes(self, attributes: &Attributes) -> Self {
        let members = attributes
            .iter()
            .fold(Self::default(), |out, (name, value)| {
                out.align(8).text(name).text(value)
            });
        let mut out = self.number(members.0.len()).align(8);
        out.0.extend(members.0);
        out
    }

    /// The message of this kind with these fields and this body.
    pub fn message(self, kind: u8, fields: &[(u8, &str, &str)], answer_to: Option<u32>) -> Vec<u8> {
        let mut header = Self::default();
        for (field, kind, value) in fields {
            header = header.align(8);
            header.0.push(*field);
            header = header.signature(kind);
            header = if *kind == "g" {
                header.signature(value)
            } else {
                header.text(value)
            };
        }
        if let Some(serial) = answer_to {
            header = header.align(8);
            header.0.push(5);
            header = header.signature("u").number(serial as usize);
        }
        let mut message = Self(vec![b'B', kind, 1, 1]);
        message = message
            .number(self.0.len())
            .number(1)
            .number(header.0.len());
        message.0.extend(header.0);
        message = message.align(8);
        message.0.extend(self.0);
        message.0
    }
}
