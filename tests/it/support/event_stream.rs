//! A stream of events that a client reads on its own.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    http::OpenAnswer,
    sse::{Event, Parser},
};

/// A stream of events that stands on its own.
pub struct EventStream {
    answer: OpenAnswer,
    parser: Parser,
    events: VecDeque<Event>,
}

impl EventStream {
    pub fn new(answer: OpenAnswer) -> Self {
        Self {
            answer,
            parser: Parser::default(),
            events: VecDeque::new(),
        }
    }

    /// Somebody reads it for as long as the test runs.
    pub fn without_deadline(mut self) -> Self {
        self.answer.wait_for_ever();
        self
    }

    /// The next event; nothing when the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            let piece = self.answer.next().await?;
            self.events.extend(self.parser.feed(&piece));
        }
        self.events.pop_front()
    }

    /// Reads on until a frame of this method comes.
    pub async fn next_frame(&mut self, method: &str) -> String {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("the stream ended before {method}"));
            let frame: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if frame["method"] == method {
                return event.data;
            }
        }
    }
}
