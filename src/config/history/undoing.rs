//! Undoing a change: the earlier text byte for byte if nothing was changed since, else each value if later changes left it alone. Pure.

use std::collections::HashSet;

use super::{ReverseEdit, StoredChange, TextMark, changed_values, store::Numbered};
use crate::config::{Change, EditError, NotUndone, blank::is_blank, document, edit};

/// Finds the change to undo among the lines of the history: that of this number, or the latest that neither is undone nor undoes another.
pub(super) fn find(stored: &str, id: Option<u64>) -> Result<StoredChange, NotUndone> {
    let mut undone = HashSet::new();
    for line in stored.lines().rev() {
        let Ok(one) = serde_json::from_str::<Numbered>(line) else {
            continue;
        };
        // From the last line up: a change that undoes another comes after it, and one that is itself undone undoes nothing.
        let is_undone = undone.contains(&one.id);
        undone.extend(one.undoes.filter(|_| !is_undone));
        match id {
            None if is_undone || one.undoes.is_some() => continue,
            Some(id) if id != one.id => continue,
            Some(id) if is_undone => return Err(NotUndone::Already(id)),
            _ => (),
        }
        return serde_json::from_str(line).map_err(|_| NotUndone::NotKept(one.id));
    }
    Err(match id {
        _ if stored.is_empty() => NotUndone::Empty,
        Some(id) => NotUndone::Unknown(id),
        None => NotUndone::Nothing,
    })
}

/// The text with the change undone.
pub(super) fn undo(
    text: &str,
    change: &StoredChange,
    back: Option<&ReverseEdit>,
) -> Result<String, EditError> {
    let id = change.entry.id;
    let step = change.text.as_ref().ok_or(NotUndone::NotKept(id))?;
    let before = back.and_then(|back| back.apply(text));
    if step.after == TextMark::of(text)
        && let Some(before) = &before
        && step.before == Some(TextMark::of(before))
        // An empty file would count as lost, so the first values are removed one by one.
        && !is_blank(Some(before))
    {
        return Ok(before.clone());
    }
    if change.entry.changes.is_empty() {
        let is_begin = before.is_some_and(|before| is_blank(Some(&before)));
        let why = if is_begin {
            NotUndone::Begin(id)
        } else {
            NotUndone::NotKept(id)
        };
        return Err(why.into());
    }
    let mut edited = text.to_owned();
    for value in change.of_file() {
        if value.partly && value.before.is_some() {
            let path = value.path.join(".");
            return Err(NotUndone::Secret { id, path }.into());
        }
        if value.before.is_none() && value.after.is_none() {
            return Err(NotUndone::NotKept(id).into());
        }
        let reverse = Change {
            path: value.path.clone(),
            value: value.before.clone(),
        };
        let before = edited;
        edited = edit(&before, &reverse).map_err(|error| match error {
            EditError::NoKey | EditError::BadName(_) => NotUndone::NotKept(id).into(),
            error => error,
        })?;
        // The value must still be the one that the change made: then undoing it is exactly the reverse of the change.
        let found = changed_values(&document::read(&before)?, &document::read(&edited)?);
        let is_reverse = found.iter().all(|one| {
            one.path == value.path && one.before == value.after && one.after == value.before
        });
        if !is_reverse || found.is_empty() {
            let path = value.path.join(".");
            let later = None;
            return Err(NotUndone::ChangedSince { id, path, later }.into());
        }
    }
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::config::NotUndone;

    #[test]
    fn an_undo_that_is_undone_does_not_count() {
        let line = |(id, undoes): (u64, Option<u64>)| {
            let undoes = undoes.map_or_else(String::new, |undoes| format!(r#","undoes":{undoes}"#));
            format!(
                r#"{{"id":{id},"at":"","by":"operator","way":"rest","changes":[],"needs":"nothing"{undoes}}}"#
            )
        };
        let cases = [
            (vec![], None, Ok(1)),
            (vec![1], None, Err(NotUndone::Nothing)),
            (vec![1], Some(1), Err(NotUndone::Already(1))),
            (vec![1, 2], None, Ok(1)),
            (vec![1, 2], Some(1), Ok(1)),
            (vec![1, 2], Some(2), Err(NotUndone::Already(2))),
            (vec![1, 2, 3], Some(1), Err(NotUndone::Already(1))),
            (vec![1, 2, 1], Some(1), Err(NotUndone::Already(1))),
        ];
        for (undos, id, expected) in cases {
            let undos = undos.iter().map(|undone| Some(*undone));
            let changes = std::iter::once(None).chain(undos);
            let stored: Vec<String> = (1..).zip(changes).map(line).collect();
            let found = find(&stored.join("\n"), id).map(|change| change.entry.id);
            assert_eq!(found, expected, "{stored:?}");
        }
        for id in [None, Some(1)] {
            assert_eq!(find("", id).err(), Some(NotUndone::Empty));
        }
    }
}
