//! Where results and definitions of tools name resources: links, embedded resources, what was read, views of MCP Apps. Finds the places,
//! and changes single ones; every other byte stays. A result that names none is searched for a few bytes, and not read.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use bytes::Bytes;
use memchr::memmem::Finder;

use super::{Elements, Members, Raw, meta::META, method};

/// What those keys end in, and an escape in one. Made once: that takes longer than to search a small result.
static KEY_ENDS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [Finder::new(b"ri\""), Finder::new(b"\\u")]);

/// Where the result of a request names resources; `None` where it names none.
pub fn named_by_result<'a>(method: &str, result: &'a Raw) -> Option<UriPlaces<'a>> {
    let mut places = UriPlaces::new(result);
    if !places.may_be_there() {
        return None;
    }
    let whole = places.whole();
    match method {
        method::TOOLS_CALL => places.of_tool_result(whole),
        // The result of the call, once it is there.
        method::TASKS_GET => {
            if let Some(called) = places.get(&whole, "result") {
                places.of_tool_result(called);
            }
        }
        method::PROMPTS_GET => {
            for message in places.elements_of(&whole, "messages") {
                if let Some(content) = places.get(&message, "content") {
                    places.of_content(&content);
                }
            }
        }
        method::RESOURCES_READ => {
            for contents in places.elements_of(&whole, "contents") {
                places.note(&contents, "uri");
            }
        }
        _ => (),
    }
    (!places.found.is_empty()).then_some(places)
}

/// The definition of a tool with another view; `None` if it has no other.
pub fn tool_with_uris(definition: &Raw, other: impl Fn(&str) -> Option<String>) -> Option<Raw> {
    let mut places = UriPlaces::new(definition);
    places.of_views(&places.whole());
    places.with(other)
}

/// The URIs of the views of a tool, by its definition.
pub fn views_of_tool(definition: &Raw) -> Box<[Box<str>]> {
    let mut places = UriPlaces::new(definition);
    places.of_views(&places.whole());
    places.uris().map(Into::into).collect()
}

/// Where in a text URIs are; all ranges are those of the whole text.
pub struct UriPlaces<'a> {
    text: &'a Bytes,
    found: Vec<Range<usize>>,
}

impl<'a> UriPlaces<'a> {
    fn new(value: &'a Raw) -> Self {
        Self {
            text: value.bytes(),
            found: Vec::new(),
        }
    }

    fn whole(&self) -> Range<usize> {
        0..self.text.len()
    }

    fn part(&self, place: &Range<usize>) -> &'a [u8] {
        self.text.get(place.clone()).unwrap_or_default()
    }

    fn get(&self, object: &Range<usize>, key: &str) -> Option<Range<usize>> {
        let part = self.part(object);
        let member = Members::of(part).find(|member| member.is(part, key))?;
        Some(within(object, &member.value))
    }

    fn elements_of(&self, object: &Range<usize>, key: &str) -> Vec<Range<usize>> {
        let Some(array) = self.get(object, key) else {
            return Vec::new();
        };
        let elements = Elements::of(self.part(&array));
        elements.map(|one| within(&array, &one.value)).collect()
    }

    fn text_at(&self, place: &Range<usize>) -> Option<Cow<'a, str>> {
        // A string without escapes is borrowed.
        let part = self.part(place);
        let plain = || serde_json::from_slice::<&str>(part).ok().map(Cow::Borrowed);
        plain().or_else(|| serde_json::from_slice::<String>(part).ok().map(Cow::Owned))
    }

    fn note(&mut self, object: &Range<usize>, key: &str) {
        self.found.extend(self.get(object, key));
    }

    fn of_tool_result(&mut self, result: Range<usize>) {
        for content in self.elements_of(&result, "content") {
            self.of_content(&content);
        }
        self.of_views(&result);
    }

    fn of_content(&mut self, content: &Range<usize>) {
        let kind = self.get(content, "type");
        match kind.and_then(|kind| self.text_at(&kind)).as_deref() {
            Some("resource_link") => self.note(content, "uri"),
            Some("resource") => {
                if let Some(resource) = self.get(content, "resource") {
                    self.note(&resource, "uri");
                }
            }
            _ => (),
        }
    }

    /// `ui/resourceUri` is the older form.
    fn of_views(&mut self, object: &Range<usize>) {
        let Some(meta) = self.get(object, META) else {
            return;
        };
        self.note(&meta, "ui/resourceUri");
        if let Some(ui) = self.get(&meta, "ui") {
            self.note(&ui, "resourceUri");
        }
    }

    /// Whether any of the keys can stand there: `uri` and those that end in `Uri`, or one with an escape.
    fn may_be_there(&self) -> bool {
        KEY_ENDS.iter().any(|end| end.find(self.text).is_some())
    }

    /// The URIs, in the order in which they were found.
    pub fn uris(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.found.iter().filter_map(|place| self.text_at(place))
    }

    /// The text with other URIs in it; `None` where none of those that it names has another.
    pub fn with(&self, other: impl Fn(&str) -> Option<String>) -> Option<Raw> {
        let changes = self.found.iter().filter_map(|place| {
            let changed = other(&self.text_at(place)?)?;
            Some((place, Raw::author(&changed)))
        });
        let mut changes: Vec<_> = changes.collect();
        if changes.is_empty() {
            return None;
        }
        changes.sort_by_key(|(place, _)| place.start);
        let (mut text, mut copied_to) = (Vec::with_capacity(self.text.len() + 64), 0);
        for (place, uri) in changes {
            text.extend_from_slice(self.part(&(copied_to..place.start)));
            text.extend_from_slice(uri.as_bytes());
            copied_to = place.end;
        }
        text.extend_from_slice(self.part(&(copied_to..self.text.len())));
        Some(Raw::trusted(text.into()))
    }
}

/// A range of a part, as one of the whole.
fn within(part: &Range<usize>, range: &Range<usize>) -> Range<usize> {
    part.start + range.start..part.start + range.end
}

#[cfg(test)]
mod tests;
