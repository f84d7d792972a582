//! The topics that clients can subscribe to at a server besides its lists, and which notifications are about them.

use crate::wire::{Notification, Thing, method};

/// A topic of news.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::upstream) enum NewsTopic {
    /// The updates of the resource with this URI.
    Resource(Box<str>),
    /// The states of the task with this id.
    Task(Box<str>),
}

impl NewsTopic {
    /// The topic that a thing is, if it can be followed.
    pub(in crate::upstream) fn of(thing: &Thing<'_>) -> Option<Self> {
        match thing {
            Thing::Resource(uri) => Some(Self::Resource(uri.as_ref().into())),
            Thing::Task(id) => Some(Self::Task(id.as_ref().into())),
            Thing::Tool(_) | Thing::Prompt(_) | Thing::Nothing => None,
        }
    }

    /// What a notification is about.
    pub(super) fn of_notice(notice: &Notification) -> Option<Self> {
        let text = |key| notice.params.as_ref()?.get(key)?.string();
        match &*notice.method {
            method::RESOURCE_UPDATED => Some(Self::Resource(text("uri")?.into())),
            method::TASK_CHANGED => Some(Self::Task(text("taskId")?.into())),
            _ => None,
        }
    }

    /// Whether subscribers of this topic get this news. An update may be of a part of the resource ("Resource Updated Notification").
    pub(super) fn covers(&self, news: &Self) -> bool {
        match (self, news) {
            (Self::Resource(resource), Self::Resource(uri)) => is_within(uri, resource),
            _ => self == news,
        }
    }
}

/// Whether a URI is that of a resource or of a part of it.
fn is_within(uri: &str, resource: &str) -> bool {
    match uri.strip_prefix(resource) {
        Some(rest) => {
            rest.is_empty() || rest.starts_with(['/', '?', '#']) || resource.ends_with('/')
        }
        None => false,
    }
}
