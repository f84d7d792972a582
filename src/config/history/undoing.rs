//! Undoing a change: byte for byte while its text still stands, value by value where later changes left its values alone. Pure.

use serde_json::Value;

use super::{ChangedValue, difference::WayBack, differing_values, store::StoredChange, text_mark};
use crate::{
    config::{
        document::SERVERS,
        edit::{Change, EditError, edit_all},
        not_undone::NotUndone,
    },
    text::names::ServerName,
};

/// The change that is to be undone: without a number the latest that neither is undone nor undoes another.
pub(super) fn meant(stored: &[StoredChange], id: Option<u64>) -> Result<&StoredChange, NotUndone> {
    let is_undone = |id: u64| stored.iter().any(|change| change.entry.undoes == Some(id));
    let Some(id) = id else {
        let mut latest = stored.iter().rev();
        let latest = latest.find(|one| one.entry.undoes.is_none() && !is_undone(one.entry.id));
        return latest.ok_or(NotUndone::Nothing);
    };
    let found = stored.iter().find(|change| change.entry.id == id);
    let found = found.ok_or(NotUndone::Unknown(id))?;
    if is_undone(id) {
        return Err(NotUndone::Already(id));
    }
    Ok(found)
}

/// The text with the change undone.
pub(super) fn undo(
    text: &str,
    change: &StoredChange,
    back: Option<&WayBack>,
) -> Result<String, EditError> {
    if text_mark(text) == change.after
        && let Some(before) = back.and_then(|back| back.from(text))
        && Some(text_mark(&before)) == change.before
    {
        return Ok(before);
    }
    let id = change.entry.id;
    if change.entry.changes.is_empty() {
        return Err(NotUndone::NotKept(id).into());
    }
    let mut edited = text.to_owned();
    for value in &change.entry.changes {
        if value.partly && value.before.is_some() {
            return Err(NotUndone::Secret(id).into());
        }
        let edits = reversed(value).ok_or(NotUndone::NotKept(id))?;
        let before = edited;
        edited = edit_all(&before, &edits)?;
        // Whatever is there now must be what the change left: then it is just the way back that differs.
        let found = differing_values(&before, &edited);
        let is_reverse = found.iter().all(|one| {
            one.path == value.path && one.before == value.after && one.after == value.before
        });
        if !is_reverse || found.is_empty() {
            let path = value.path.join(".");
            return Err(NotUndone::ChangedSince { id, path }.into());
        }
    }
    Ok(edited)
}

/// The edits that bring a value back.
fn reversed(value: &ChangedValue) -> Option<Vec<Change>> {
    let mut path = value.path.clone();
    let edit = if path.first().is_some_and(|key| key == SERVERS) {
        let server = path.get(1)?.clone();
        match (path.split_off(2), value.before.clone()) {
            (keys, Some(Value::Object(entry))) if keys.is_empty() => Change::AddServer {
                name: ServerName::parse(&server).ok()?,
                entry,
            },
            (keys, None) if keys.is_empty() => Change::RemoveServer { name: server },
            (keys, _) if keys.is_empty() => return None,
            (path, Some(value)) => Change::SetKey {
                server,
                path,
                value,
            },
            (path, None) => Change::RemoveKey { server, path },
        }
    } else {
        match value.before.clone() {
            Some(value) => Change::SetSetting { path, value },
            None => Change::RemoveSetting { path },
        }
    };
    Some(vec![edit])
}
