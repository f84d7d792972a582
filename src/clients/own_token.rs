//! A token of its own in the entry of a client that connects to our address, and the file as it was before that. Only the entry is changed.

use serde_json::{Map, Value, json};

use super::{
    Client, ClientFile, ClientPlaces, ClientServer, ConnectOutcome, ConnectRequest, Connected,
    Reaching,
    connect::{carry_out, file_of, kept_traits, refused},
    copies::{Copies, CopiesAfter, PresentEntry},
    edit,
    file_change::{ClientFileError, FileChange, Wanted, connected, our_entry_in},
    table::TokenPlace,
};
use crate::{
    config::{IssuedToken, OurAddress},
    failure::Result,
    text::Secret,
};

const AUTHORIZATION: &str = "Authorization";

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
    let is_new = client.speaks_http() && our_entry(&file, &reaching.us).is_err();
    let mut traits = kept_traits(&file, reaching);
    traits.is_process = false;
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
    let found = file.read().ok()??;
    token_of(our_entry_in(&found, &file, us).filter(|ours| us.is_us(ours))?)
}

/// Puts the file back as it was without the token: byte for byte if nothing else was changed since. The token that it showed. Blocks.
pub fn take_token(
    places: &ClientPlaces,
    us: &OurAddress,
    client: Client,
) -> Result<(Connected, Option<Secret>)> {
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
        let is_without = |before: &str| {
            let found = file.servers_in(before).ok();
            let other = found
                .as_ref()
                .and_then(|found| our_entry_in(found, file, us));
            // A token that was issued before is revoked by now; the name of a variable is good.
            let is_issued = |token: Secret| token.reveal().starts_with(IssuedToken::PREFIX);
            other.is_some_and(|it| it.name == ours.name && !token_of(it).is_some_and(is_issued))
        };
        let restored =
            Copies::of(file).restored(|before| is_without(before) && present.comes_into(before));
        let (after, copies) = if let Some(restored) = restored {
            restored
        } else {
            let entry = without_token(members(&ours));
            let after = edit::put(client, file.format, &text, &ours.name, &entry)?;
            (after, CopiesAfter::OneMore)
        };
        Ok(FileChange {
            after: Some(after),
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
    let ours = our_entry_in(&found, file, us).filter(|ours| us.is_us(ours));
    let ours = ours.ok_or(ClientFileError::NotThere)?.clone();
    if ours.command().is_some() {
        return Err(ClientFileError::ByProcess);
    }
    Ok(ours)
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
    entry.remove("bearer_token_env_var");
    for key in ["headers", "http_headers"] {
        if let Some(Value::Object(headers)) = entry.get_mut(key) {
            headers.retain(|name, _| !name.eq_ignore_ascii_case(AUTHORIZATION));
            if headers.is_empty() {
                entry.remove(key);
            }
        }
    }
    entry
}

/// The token that stands in an entry.
fn token_of(ours: &ClientServer) -> Option<Secret> {
    ours.token().map(Secret::new)
}
