//! Lines out of bytes, however they are cut, without looking at a byte twice.

use memchr::memchr;

#[derive(Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Up to where there is no end of a line.
    searched: usize,
}

impl LineBuffer {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        self.bytes.extend_from_slice(bytes);
        let mut lines = Vec::new();
        let mut start = 0;
        while let Some(found) = memchr(b'\n', &self.bytes[self.searched.max(start)..]) {
            let end = self.searched.max(start) + found;
            let line = String::from_utf8_lossy(&self.bytes[start..end]);
            lines.push(line.trim_end_matches('\r').to_owned());
            start = end + 1;
        }
        self.bytes.drain(..start);
        self.searched = self.bytes.len();
        lines
    }
}

/// Events out of lines: the data of each, with its kind.
#[derive(Default)]
pub struct Events {
    lines: LineBuffer,
    kind: String,
    data: String,
}

impl Events {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        for line in self.lines.feed(bytes) {
            if line.is_empty() {
                let (kind, data) = (
                    std::mem::take(&mut self.kind),
                    std::mem::take(&mut self.data),
                );
                if !data.is_empty() {
                    events.push((kind, data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.trim_start());
            } else if let Some(kind) = line.strip_prefix("event:") {
                kind.trim_start().clone_into(&mut self.kind);
            }
        }
        events
    }
}

#[test]
fn lines_and_events_come_whole_however_they_are_cut() {
    let text = "event: endpoint\ndata: /a\n\n: ping\r\n\ndata: {\"b\":1}\r\n\r\nrest";
    for size in 1..text.len() {
        let mut events = Events::default();
        let pieces = text.as_bytes().chunks(size);
        let found: Vec<_> = pieces.flat_map(|piece| events.feed(piece)).collect();
        let pair = |kind: &str, data: &str| (kind.to_owned(), data.to_owned());
        assert_eq!(found, [pair("endpoint", "/a"), pair("", "{\"b\":1}")]);
    }
}
