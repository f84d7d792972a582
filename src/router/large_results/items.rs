//! The items of a result's content: which of them are texts, and how a text is put back into its item. Pure.

use serde::Serialize;

use crate::wire::{Edit, Raw, splice};

/// An item of a result's content.
pub(super) struct ContentItem {
    /// As it came.
    pub(super) raw: Raw,
    /// Its text, alone or in an embedded resource, and the item without it. Items with anything else are never touched: pictures, sounds,
    /// links, bytes.
    pub(super) text: Option<(TextFrame, String)>,
}

/// An item without its text.
#[derive(Debug)]
pub(super) enum TextFrame {
    /// `{"type":"text","text":…}`; the item where it has further members.
    Plain(Option<Raw>),
    /// An embedded resource.
    Resource(Raw),
}

/// The content of a result, if it has one. A text that is not Unicode (half a surrogate pair) is not taken for one.
pub(super) fn read(result: &Raw) -> Option<Vec<ContentItem>> {
    let content = result.get("content")?;
    let items = content.elements().map(|raw| ContentItem {
        text: text_in(&raw),
        raw,
    });
    Some(items.collect())
}

fn text_in(item: &Raw) -> Option<(TextFrame, String)> {
    let [kind, text, resource] = item.look_up(["type", "text", "resource"]);
    let empty = || Edit::Set(Raw::author(&""));
    match kind.value?.as_bytes() {
        b"\"text\"" => {
            let text = text.value?.string()?;
            let is_bare = item.members().count() == 2;
            let frame = || splice(item, &[("text", empty())]).map(|frame| frame.detached());
            let frame = if is_bare { None } else { Some(frame().ok()?) };
            Some((TextFrame::Plain(frame), text))
        }
        b"\"resource\"" => {
            let text = resource.value?.get("text")?.string()?;
            let edits = [("text", empty())];
            let frame = splice(item, &[("resource", Edit::Within(&edits))]).ok()?;
            Some((TextFrame::Resource(frame.detached()), text))
        }
        _ => None,
    }
}

/// An item with this text and no other members.
pub(super) fn plain(text: &str) -> Raw {
    #[derive(Serialize)]
    struct PlainText<'a> {
        r#type: &'static str,
        text: &'a str,
    }
    let r#type = "text";
    Raw::author(&PlainText { r#type, text })
}

impl TextFrame {
    /// The item with this text.
    pub(super) fn with(&self, text: &str) -> Raw {
        let set = [("text", Edit::Set(Raw::author(&text)))];
        let spliced = match self {
            Self::Plain(None) => return plain(text),
            Self::Plain(Some(frame)) => splice(frame, &set),
            Self::Resource(frame) => splice(frame, &[("resource", Edit::Within(&set))]),
        };
        spliced.unwrap_or_else(|_| plain(text))
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(None) => 0,
            Self::Plain(Some(frame)) | Self::Resource(frame) => frame.as_bytes().len(),
        }
    }
}

#[cfg(test)]
mod tests;
