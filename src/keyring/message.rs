//! Messages of D-Bus as bytes, as far as the Secret Service needs them: <https://dbus.freedesktop.org/doc/dbus-specification.html>.
//! Written little-endian, read in either order. What does not fit its type is an error, never a panic.

/// Why bytes are no message that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it sent what is no message of D-Bus, or not the one that is meant")]
pub(super) struct BadMessage;

/// Limit: longer messages are none of ours; a secret has 64 KiB at most.
pub(super) const LONGEST: usize = 4 << 20;

/// What stands before the header's fields have a length.
pub(super) const PREFIX: usize = 16;

const LITTLE: u8 = b'l';
const BIG: u8 = b'B';
const VERSION: u8 = 1;

/// Kinds of messages.
pub(super) const CALL: u8 = 1;
pub(super) const ANSWER: u8 = 2;
pub(super) const ERROR: u8 = 3;
pub(super) const SIGNAL: u8 = 4;

/// Fields of headers.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const ANSWER_TO: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// A method, and whose.
#[derive(Clone, Copy)]
pub(super) struct Method<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
}

/// Values one after another, each where its type has to stand.
#[derive(Default)]
pub(super) struct BusWriter(Vec<u8>);

impl BusWriter {
    fn align(&mut self, to: usize) {
        let length = self.0.len().next_multiple_of(to);
        self.0.resize(length, 0);
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.number(u32::from(value));
    }

    /// A string or the path of an object.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.0.push(0);
    }

    /// An array of bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        // What is longer than any message is refused before it is sent.
        self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.0.extend(bytes);
    }

    pub(super) fn signature(&mut self, signature: &str) {
        // Ours are a few characters long.
        self.0
            .push(u8::try_from(signature.len()).unwrap_or(u8::MAX));
        self.0.extend(signature.as_bytes());
        self.0.push(0);
    }

    /// Structs, and members of dictionaries, begin anew.
    pub(super) fn begin(&mut self) {
        self.align(8);
    }

    /// An array whose elements have to stand so.
    pub(super) fn array(&mut self, alignment: usize, elements: impl FnOnce(&mut Self)) {
        self.number(0);
        let length_at = self.0.len() - 4;
        self.align(alignment);
        let first = self.0.len();
        elements(self);
        let length = u32::try_from(self.0.len() - first).unwrap_or(u32::MAX);
        if let Some(place) = self.0.get_mut(length_at..length_at + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    /// A dictionary of strings.
    pub(super) fn texts(&mut self, texts: &[(&str, &str)]) {
        self.array(8, |members| {
            for (name, value) in texts {
                members.begin();
                members.text(name);
                members.text(value);
            }
        });
    }
}

/// The bytes of a call. `serial` is what its answer names; the signature is that of the body.
pub(super) fn call(serial: u32, method: Method<'_>, signature: &str, body: &BusWriter) -> Vec<u8> {
    let mut message = BusWriter::default();
    message.0.extend([LITTLE, CALL, 0, VERSION]);
    message.number(u32::try_from(body.0.len()).unwrap_or(u32::MAX));
    message.number(serial);
    message.array(8, |fields| {
        let texts = [
            (PATH, "o", method.path),
            (INTERFACE, "s", method.interface),
            (MEMBER, "s", method.member),
            (DESTINATION, "s", method.destination),
        ];
        for (field, kind, value) in texts {
            fields.begin();
            fields.byte(field);
            fields.signature(kind);
            fields.text(value);
        }
        if !signature.is_empty() {
            fields.begin();
            fields.byte(SIGNATURE);
            fields.signature("g");
            fields.signature(signature);
        }
    });
    message.begin();
    message.0.extend(&body.0);
    message.0
}

/// How long the message is that begins with these bytes.
pub(super) fn length(prefix: &[u8; PREFIX]) -> Result<usize, BadMessage> {
    let mut reader = BusReader::new(prefix, prefix[0])?;
    reader.at = 4;
    let body = reader.number()?;
    reader.at = 12;
    let fields = reader.number()?;
    let head = PREFIX.checked_add(size(fields)?).ok_or(BadMessage)?;
    let whole = head.next_multiple_of(8).checked_add(size(body)?);
    whole.filter(|length| *length <= LONGEST).ok_or(BadMessage)
}

fn size(number: u32) -> Result<usize, BadMessage> {
    let size = usize::try_from(number).map_err(|_| BadMessage)?;
    (size <= LONGEST).then_some(size).ok_or(BadMessage)
}

/// A message that came.
#[derive(Debug, Default)]
pub(super) struct BusMessage {
    pub(super) kind: u8,
    pub(super) answer_to: Option<u32>,
    pub(super) path: String,
    pub(super) member: String,
    pub(super) error: String,
    signature: String,
    order: u8,
    body: Vec<u8>,
}

impl BusMessage {
    /// Reads a message of the right length.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, BadMessage> {
        let order = *bytes.first().ok_or(BadMessage)?;
        let mut reader = BusReader::new(bytes, order)?;
        let mut message = Self {
            kind: *bytes.get(1).ok_or(BadMessage)?,
            order,
            ..Self::default()
        };
        reader.at = PREFIX - 4;
        let fields = reader.number()?;
        let end = PREFIX + size(fields)?;
        while reader.at < end {
            reader.align(8);
            let field = reader.byte()?;
            match (field, &*reader.signature()?) {
                (PATH, "o") => message.path = reader.text()?,
                (MEMBER, "s") => message.member = reader.text()?,
                (ERROR_NAME, "s") => message.error = reader.text()?,
                (ANSWER_TO, "u") => message.answer_to = Some(reader.number()?),
                (SIGNATURE, "g") => message.signature = reader.signature()?,
                (_, "s" | "o") => drop(reader.text()?),
                (_, "u") => drop(reader.number()?),
                (_, "g") => drop(reader.signature()?),
                _ => return Err(BadMessage),
            }
        }
        reader.align(8);
        message.body = bytes.get(reader.at..).ok_or(BadMessage)?.to_vec();
        Ok(message)
    }

    /// Its values, if they are of these types.
    pub(super) fn body(&self, signature: &str) -> Result<BusReader<'_>, BadMessage> {
        if self.signature != signature {
            return Err(BadMessage);
        }
        BusReader::new(&self.body, self.order)
    }

    /// What an error says for people.
    pub(super) fn reason(&self) -> String {
        let begins_with_text = self.signature.starts_with('s');
        let text = BusReader::new(&self.body, self.order).and_then(|mut reader| reader.text());
        match text {
            Ok(text) if begins_with_text => format!("{}: {text}", self.error),
            _ => self.error.clone(),
        }
    }
}

/// Values one after another.
pub(super) struct BusReader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big: bool,
}

impl<'a> BusReader<'a> {
    fn new(bytes: &'a [u8], order: u8) -> Result<Self, BadMessage> {
        let is_big = match order {
            LITTLE => false,
            BIG => true,
            _ => return Err(BadMessage),
        };
        Ok(Self {
            bytes,
            at: 0,
            is_big,
        })
    }

    fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], BadMessage> {
        let end = self.at.checked_add(length).ok_or(BadMessage)?;
        let taken = self.bytes.get(self.at..end).ok_or(BadMessage)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, BadMessage> {
        self.take(1)?.first().copied().ok_or(BadMessage)
    }

    pub(super) fn number(&mut self) -> Result<u32, BadMessage> {
        self.align(4);
        let bytes: [u8; 4] = self.take(4)?.try_into().map_err(|_| BadMessage)?;
        Ok(if self.is_big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    pub(super) fn flag(&mut self) -> Result<bool, BadMessage> {
        Ok(self.number()? != 0)
    }

    /// A string or the path of an object.
    pub(super) fn text(&mut self) -> Result<String, BadMessage> {
        let text = self.bytes()?.to_vec();
        if self.byte()? != 0 {
            return Err(BadMessage);
        }
        String::from_utf8(text).map_err(|_| BadMessage)
    }

    /// An array of bytes.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], BadMessage> {
        let length = size(self.number()?)?;
        self.take(length)
    }

    pub(super) fn signature(&mut self) -> Result<String, BadMessage> {
        let length = self.byte()?;
        let text = self.take(length.into())?.to_vec();
        if self.byte()? != 0 {
            return Err(BadMessage);
        }
        String::from_utf8(text).map_err(|_| BadMessage)
    }

    /// Structs, and members of dictionaries, begin anew.
    pub(super) fn begin(&mut self) {
        self.align(8);
    }

    /// The elements of an array, which have to stand so.
    pub(super) fn array<T>(
        &mut self,
        alignment: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, BadMessage>,
    ) -> Result<Vec<T>, BadMessage> {
        let length = size(self.number()?)?;
        self.align(alignment);
        let end = self.at + length;
        let mut elements = Vec::new();
        while self.at < end {
            elements.push(element(self)?);
        }
        (self.at == end).then_some(elements).ok_or(BadMessage)
    }

    /// Paths of objects.
    pub(super) fn paths(&mut self) -> Result<Vec<String>, BadMessage> {
        self.array(4, Self::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Method<'_> = Method {
        destination: "org.example.Service",
        path: "/org/example",
        interface: "org.example.Face",
        member: "Do",
    };

    fn sent(signature: &str, body: impl FnOnce(&mut BusWriter)) -> Vec<u8> {
        let mut writer = BusWriter::default();
        body(&mut writer);
        call(7, METHOD, signature, &writer)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = sent("ba{ss}ayao", |body| {
            body.flag(true);
            body.texts(&[("a", "b"), ("name", "öther")]);
            body.bytes(b"\x00\xff");
            body.array(4, |paths| paths.text("/x"));
        });
        let prefix: &[u8; PREFIX] = bytes.first_chunk().expect("a header");
        assert_eq!(length(prefix), Ok(bytes.len()));
        let message = BusMessage::read(&bytes).expect("a good message");
        assert_eq!(
            (message.kind, &*message.member, &*message.path),
            (CALL, "Do", "/org/example")
        );
        assert!(message.body("s").is_err());
        let mut body = message.body("ba{ss}ayao").expect("its signature");
        assert_eq!(body.flag(), Ok(true));
        let pairs = body.array(8, |pair| {
            pair.begin();
            Ok((pair.text()?, pair.text()?))
        });
        let expected = [("a", "b"), ("name", "öther")];
        assert_eq!(
            pairs,
            Ok(expected.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec())
        );
        assert_eq!(body.bytes(), Ok(&b"\x00\xff"[..]));
        assert_eq!(body.paths(), Ok(vec!["/x".to_owned()]));
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let bytes = sent("", |_| ());
        let head = [b'l', CALL, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0];
        assert_eq!(bytes.first_chunk(), Some(&head));
        let path = [PATH, 1, b'o', 0, 12, 0, 0, 0, b'/', b'o'];
        assert_eq!(bytes.get(16..26), Some(&path[..]));
        assert_eq!(bytes.len() % 8, 0);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let bytes = sent("sv", |body| {
            body.text("plain");
            body.signature("s");
            body.text("");
        });
        let read = |bytes: &[u8]| {
            let message = BusMessage::read(bytes)?;
            let _ = message.reason();
            let mut body = message.body("sv")?;
            body.text()?;
            body.signature()?;
            body.text()
        };
        assert_eq!(read(&bytes), Ok(String::new()));
        for end in 0..bytes.len() {
            let cut = bytes.get(..end).expect("shorter");
            assert!(read(cut).is_err(), "{end}");
        }
        for place in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[place] = value;
                let _ = read(&changed);
                let _ = changed.first_chunk().map(length);
            }
        }
    }

    #[test]
    fn lengths_beyond_all_bounds_are_refused() {
        let mut prefix = [0; PREFIX];
        prefix[0] = LITTLE;
        for place in [4, 12] {
            let mut long = prefix;
            long[place..place + 4].copy_from_slice(&u32::MAX.to_le_bytes());
            assert_eq!(length(&long), Err(BadMessage));
        }
        assert_eq!(length(&[b'x'; PREFIX]), Err(BadMessage));
        assert_eq!(length(&prefix), Ok(PREFIX));
    }
}
