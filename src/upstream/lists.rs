//! Reads the lists of a connected server on the raw lane, page by page to the end, so that every definition stays as it came.

use std::collections::HashSet;

use super::link::{Inbound, Link, LinkError, MAX_FRAME};
use crate::{
    catalog::Listing,
    wire::{Id, Outcome, Raw, Revision, RpcError, method},
};

/// Limit: pages of one list. A server that never comes to an end is cut here.
const MAX_PAGES: usize = 1_000;

/// Limit: definitions in one list.
const MAX_ITEMS: usize = 100_000;

/// Limit: bytes of one list over all its pages.
const MAX_BYTES: usize = MAX_FRAME;

/// Why a server could not be listed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum ListError {
    /// The connection failed.
    #[error("{method}: {source}")]
    Link {
        /// The list that was asked for.
        method: &'static str,
        /// What happened.
        source: LinkError,
    },
    /// The server answered with an error.
    #[error("the server answered {method} with an error: {message}")]
    Refused {
        /// The list that was asked for.
        method: &'static str,
        /// The error's message.
        message: String,
    },
}

impl ListError {
    /// What a client may read: nothing in the server's own words.
    pub(super) fn outside(&self) -> String {
        match self {
            Self::Link { method, source } => format!("{method}: {}", source.outside()),
            Self::Refused { method, .. } => format!("it answered {method} with an error"),
        }
    }
}

/// Reads every list that the server's capabilities promise.
pub(super) async fn read(
    link: &Link,
    initialize: Raw,
    revision: Revision,
) -> Result<Listing, ListError> {
    let capabilities = initialize
        .get("capabilities")
        .unwrap_or_else(Raw::empty_object);
    let has = |key| capabilities.get(key).is_some_and(|value| !value.is_null());
    let (tools, prompts, resources, templates) = tokio::try_join!(
        list_if(has("tools"), link, method::TOOLS_LIST, "tools"),
        list_if(has("prompts"), link, method::PROMPTS_LIST, "prompts"),
        list_if(has("resources"), link, method::RESOURCES_LIST, "resources"),
        list_if(
            has("resources"),
            link,
            method::TEMPLATES_LIST,
            "resourceTemplates"
        ),
    )?;
    Ok(Listing {
        initialize: initialize.detached(),
        revision,
        tools,
        prompts,
        resources,
        templates,
    })
}

async fn list_if(
    promised: bool,
    link: &Link,
    method: &'static str,
    key: &str,
) -> Result<Vec<Raw>, ListError> {
    if promised {
        list(link, method, key).await
    } else {
        Ok(Vec::new())
    }
}

async fn list(link: &Link, method: &'static str, key: &str) -> Result<Vec<Raw>, ListError> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    let (mut seen, mut bytes) = (HashSet::new(), 0);
    for _ in 0..MAX_PAGES {
        let page = match page(link, method, cursor.as_deref()).await? {
            Ok(page) => page,
            // Some servers promise resources and have no templates, or the other way round.
            Err(error) if error.code == RpcError::METHOD_NOT_FOUND => return Ok(items),
            Err(error) => {
                return Err(ListError::Refused {
                    method,
                    message: error.message,
                });
            }
        };
        bytes += page.as_bytes().len();
        let found = page.get(key).unwrap_or_else(Raw::empty_object);
        // Detached: the catalog outlives the frame.
        items.extend(
            found
                .elements()
                .take(MAX_ITEMS - items.len())
                .map(|item| item.detached()),
        );
        let next = page.get("nextCursor").and_then(|next| next.string());
        match next {
            None => return Ok(items),
            Some(next)
                if items.len() < MAX_ITEMS && bytes < MAX_BYTES && seen.insert(next.clone()) =>
            {
                cursor = Some(next);
            }
            Some(_) => break,
        }
    }
    tracing::warn!(
        method,
        items = items.len(),
        "the server's list does not come to an end; it was cut"
    );
    Ok(items)
}

#[derive(serde::Deserialize)]
struct ErrorView {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

async fn page(
    link: &Link,
    method: &'static str,
    cursor: Option<&str>,
) -> Result<Result<Raw, ErrorView>, ListError> {
    let params = match cursor {
        Some(cursor) => Raw::author(&serde_json::json!({ "cursor": cursor })),
        None => Raw::empty_object(),
    };
    let failed = |source| ListError::Link { method, source };
    let mut exchange = link
        .call(Id::next_number(), method, Some(&params))
        .await
        .map_err(failed)?;
    loop {
        match exchange.next().await.map_err(failed)? {
            Inbound::Notice(_) => (),
            Inbound::Question(question) => {
                // Nobody is there yet on whose behalf it could be answered.
                let refusal = Outcome::Error(RpcError::method_not_found(&question.method).to_raw());
                link.answer(&question.id, &refusal).await.map_err(failed)?;
            }
            Inbound::Answer(Outcome::Result(result)) => return Ok(Ok(result)),
            Inbound::Answer(Outcome::Error(error)) => {
                let unreadable = |_| ErrorView {
                    code: 0,
                    message: "an unreadable error".to_owned(),
                };
                return Ok(Err(error.read().unwrap_or_else(unreadable)));
            }
        }
    }
}
