//! Event streams, read as the HTML standard says.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field: `message` unless the stream says otherwise.
    pub kind: String,
    pub id: Option<String>,
    pub data: String,
}

/// Takes bytes as they come and gives events as they are complete.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    event: Option<String>,
    id: Option<String>,
    data: Option<String>,
}

impl Parser {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(line) = self.take_line() {
            events.extend(self.line(&line));
        }
        events
    }

    /// A line without its end, once it is certain where it ends: a `\r` may be half of an end.
    fn take_line(&mut self) -> Option<String> {
        let end = self
            .buffer
            .iter()
            .position(|b| matches!(b, b'\n' | b'\r'))?;
        let past = match (self.buffer[end], self.buffer.get(end + 1)) {
            (b'\r', None) => return None,
            (b'\r', Some(b'\n')) => end + 2,
            _ => end + 1,
        };
        let line = String::from_utf8(self.buffer[..end].to_vec()).expect("events are UTF-8");
        self.buffer.drain(..past);
        Some(line)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let kind = self.event.take().unwrap_or_else(|| "message".to_owned());
            return self.data.take().map(|data| Event {
                kind,
                id: self.id.clone(),
                data,
            });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "id" => self.id = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => (),
        }
        None
    }
}
