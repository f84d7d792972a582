//! A token of its own in the entry of a client that connects to our address, and the file as it was before that. Only the entry is changed.

use serde_json::{Map, Value, json};

use super::{
    Client, ClientFile, ClientPlaces, ClientServer, ConnectOutcome, ConnectRequest, Connected,
    Reaching,
    connect::{carry_out, file_of, refused},
    copies::{Copies, CopiesAfter, PresentEntry},
    edit,
    endpoint::traits_of,
    file_change::{
        ClientFileError, FileChange, Wanted, connected, our_entry_in, ours_in, present_entry,
    },
    our_entry::EntryTraits,
    table::TokenPlace,
};
use crate::{
    config::{IssuedToken, OurAddress, TokenHash},
    failure::Result,
    text::Secret,
};

const AUTHORIZATION: &str = "Authorization";

/// The keys of headers.
const HEADERS: [&str; 2] = ["headers", "http_headers"];

/// The key of the name of the variable with a token.
const VARIABLE_KEY: &str = "bearer_token_env_var";

/// Has the entry of a client show this token. A client that is not connected, and can connect to the address, gets an entry. Blocks.
pub fn give_token(
    places: &ClientPlaces,
    reaching: &Reaching,
    client: Client,
    token: &Secret,
    is_dry: bool,
) -> Result<Connected> {
    let file = file_of(places, &ConnectRequest::usual(client))?;
    // One that leads to us keeps its address and its other headers.
    let present = our_entry(&file, &reaching.us);
    let is_new = client.speaks_http() && matches!(present, Err(ClientFileError::NotThere));
    let ours = present_entry(&file, &reaching.us);
    let traits = EntryTraits {
        is_process: false,
        ..ours.as_ref().map(traits_of).unwrap_or_default()
    };
    let target = is_new.then(|| reaching.target(client, traits));
    let target = target.transpose()?;
    let change = |file: &ClientFile| {
        let name = "mcpproxy".to_owned();
        let change = if let Some(target) = target {
            let wanted = Wanted {
                target,
                name,
                is_exact: false,
            };
            connected(client, file, &wanted, &reaching.us)?
        } else {
            FileChange::none(file, &name, file.text()?)
        };
        let text = change.after.as_deref().unwrap_or_default();
        let ours = entry_in(text, file, &reaching.us)?;
        let entry = with_token(client, &ours, token.reveal());
        let after = edit::put(client, file.format, text, &ours.name, &entry)?;
        Ok(FileChange {
            name: ours.name,
            after: Some(after),
            ..change
        })
    };
    carried_out(places, client, is_dry, change)
}

/// The token that the entry of a client shows. Blocks.
pub fn shown_token(places: &ClientPlaces, us: &OurAddress, client: Client) -> Option<Secret> {
    let file = file_of(places, &ConnectRequest::usual(client)).ok()?;
    let ours = present_entry(&file, us).filter(|ours| us.is_this_one(ours))?;
    token_of(&ours)
}

/// Puts the file back as it was before the token: byte for byte if nothing else was changed since. The token that it showed. Blocks.
pub fn take_token(
    places: &ClientPlaces,
    reaching: &Reaching,
    client: Client,
) -> Result<(Connected, Option<Secret>)> {
    let Reaching { us, settings, .. } = reaching;
    // One that was issued here and revoked since is of no more use.
    let is_good = |token: Secret| {
        let is_issued = token.reveal().starts_with(IssuedToken::PREFIX);
        !is_issued
            || settings
                .issued
                .find(&TokenHash::of(token.reveal()))
                .is_some()
    };
    let mut shown = None;
    let change = |file: &ClientFile| {
        let (text, ours) = our_entry(file, us)?;
        shown = token_of(&ours);
        let present = PresentEntry {
            client,
            file,
            text: &text,
            server: &ours,
        };
        let former = |before: &str| {
            let other = ours_in(file, before, us)?;
            let is_other = other.name == ours.name && other.token() != ours.token();
            (is_other && token_of(&other).is_none_or(is_good)).then(|| members(&other))
        };
        let copies = Copies::of(file);
        let restored =
            copies.restored(|before| former(before).is_some() && present.comes_into(before));
        let earlier = copies.texts().find_map(former);
        let puts_back_another = earlier.is_some();
        let (after, copies) = if let Some(restored) = restored {
            restored
        } else {
            let mut entry = without_token(members(&ours));
            give_token_of(&mut entry, &earlier.unwrap_or_default());
            let after = edit::put(client, file.format, &text, &ours.name, &entry)?;
            (after, CopiesAfter::OneMore)
        };
        Ok(FileChange {
            after: Some(after),
            puts_back_another,
            copies,
            ..FileChange::none(file, &ours.name, Some(text.clone()))
        })
    };
    let done = carried_out(places, client, false, change)?;
    Ok((done, shown))
}

fn carried_out(
    places: &ClientPlaces,
    client: Client,
    is_dry: bool,
    change: impl FnOnce(&ClientFile) -> Result<FileChange, ClientFileError>,
) -> Result<Connected> {
    let asked = ConnectRequest {
        is_dry,
        ..ConnectRequest::usual(client)
    };
    let file = file_of(places, &asked)?;
    let change = change(&file).map_err(|error| refused(client, &file, &error))?;
    let outcomes = [ConnectOutcome::WouldConnect, ConnectOutcome::Connected];
    carry_out(places, &asked, change, outcomes)
}

/// The text of the file, and the entry in it that leads to our address: a program that it starts needs no token.
fn our_entry(
    file: &ClientFile,
    us: &OurAddress,
) -> Result<(String, ClientServer), ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let ours = entry_in(&text, file, us)?;
    Ok((text, ours))
}

fn entry_in(
    text: &str,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<ClientServer, ClientFileError> {
    let found = file.servers_in(text)?;
    let ours = our_entry_in(&found, file, us).filter(|ours| us.is_this_one(ours));
    let ours = ours.ok_or(ClientFileError::NotThere)?.clone();
    match ours.command() {
        Some(_) if ours.is_bridged() => Err(ClientFileError::ByBridge),
        Some(_) => Err(ClientFileError::ByProcess),
        None => Ok(ours),
    }
}

fn members(ours: &ClientServer) -> Map<String, Value> {
    ours.entry.as_object().cloned().unwrap_or_default()
}

/// Where entries of a client have headers that stand for themselves.
fn headers_of(client: Client) -> &'static str {
    let place = client.0.entry.as_ref().map(|shape| &shape.token);
    match place {
        Some(TokenPlace::Key(_)) => "http_headers",
        _ => "headers",
    }
}

fn with_token(client: Client, ours: &ClientServer, token: &str) -> Map<String, Value> {
    let mut entry = without_token(members(ours));
    let key = headers_of(client);
    let headers = entry.entry(key).or_insert_with(|| json!({}));
    if !headers.is_object() {
        *headers = json!({});
    }
    if let Value::Object(headers) = headers {
        headers.insert(AUTHORIZATION.to_owned(), json!(format!("Bearer {token}")));
    }
    entry
}

fn without_token(mut entry: Map<String, Value>) -> Map<String, Value> {
    entry.remove(VARIABLE_KEY);
    for key in HEADERS {
        if let Some(Value::Object(headers)) = entry.get_mut(key) {
            headers.retain(|name, _| !name.eq_ignore_ascii_case(AUTHORIZATION));
            if headers.is_empty() {
                entry.remove(key);
            }
        }
    }
    entry
}

/// Gives an entry the headers that another one has, or its variable with a token.
fn give_token_of(entry: &mut Map<String, Value>, other: &Map<String, Value>) {
    for key in HEADERS {
        if let Some(Value::Object(theirs)) = other.get(key)
            && let Value::Object(headers) = entry.entry(key).or_insert_with(|| json!({}))
        {
            headers.extend(theirs.clone());
        }
    }
    let variable = other.get(VARIABLE_KEY).cloned();
    entry.extend(variable.map(|variable| (VARIABLE_KEY.to_owned(), variable)));
}

/// The token that stands in an entry.
fn token_of(ours: &ClientServer) -> Option<Secret> {
    ours.token().map(Secret::new)
}
