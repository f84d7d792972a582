//! A token of its own in the entry of a client that connects to our address, and the file as it was before that. Only the entry is changed.

use serde_json::{Map, Value, json};

use super::{
    Client, ClientFile, ClientPlaces, ClientServer, ConnectOutcome, ConnectRequest, Connected,
    Reaching,
    connect::{carry_out, disconnect, file_of, not_undone, refused},
    copies::{Copies, CopiesAfter},
    edit,
    endpoint::{traits_of, why_unserved},
    file_change::{ClientFileError, FileChange, Wanted, connected, our_entry_in, present_entry},
    our_entry::EntryTraits,
    sent_token::{TOKEN_VARIABLE, VARIABLES},
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

/// What is done with a file whose client stays connected, or would be.
const OUTCOMES: [ConnectOutcome; 2] = [ConnectOutcome::WouldConnect, ConnectOutcome::Connected];

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
    let is_absent = |text: String| {
        let ours = entry_in(&text, &file, &reaching.us);
        matches!(ours, Err(ClientFileError::NotThere))
    };
    let is_new = client.speaks_http() && file.text().ok().flatten().is_none_or(is_absent);
    let ours = present_entry(&file, &reaching.us);
    let served = ours.as_ref().filter(|_| !is_new);
    if let Some(refused) = served.and_then(|ours| why_unserved(client, ours, &reaching.settings)) {
        return Err(refused.with_outcome(&format!("{} was not changed", client.name())));
    }
    let traits = EntryTraits {
        is_process: false,
        ..ours.as_ref().map(traits_of).unwrap_or_default()
    };
    let target = is_new.then(|| reaching.target(client, traits));
    let target = target.transpose()?;
    let change = || -> Result<FileChange, ClientFileError> {
        let name = "mcpproxy".to_owned();
        let change = if let Some(target) = target {
            let wanted = Wanted {
                target,
                name,
                is_exact: false,
            };
            connected(client, places, &file, &wanted, &reaching.us)?
        } else {
            FileChange::none(&file, &name, file.text()?)
        };
        let text = change.after.as_deref().unwrap_or_default();
        let ours = entry_in(text, &file, &reaching.us)?;
        let entry = with_token(client, &ours, token.reveal());
        let before = change.before.as_deref().unwrap_or_default();
        let copies = Copies::of(places, client, &file, &ours.name);
        let after = edit::put(client, file.format, copies.base(before), &ours.name, &entry)?;
        Ok(FileChange {
            name: ours.name.clone(),
            after: Some(after),
            ..change
        })
    };
    let change = change().map_err(|error| refused(client, &file, &error))?;
    let request = ConnectRequest {
        is_dry,
        ..ConnectRequest::usual(client)
    };
    carry_out(places, &request, change, OUTCOMES)
}

/// The token that the entry of a client shows. Blocks.
pub fn shown_token(places: &ClientPlaces, us: &OurAddress, client: Client) -> Option<Secret> {
    let file = file_of(places, &ConnectRequest::usual(client)).ok()?;
    let ours = present_entry(&file, us).filter(|ours| us.is_this_one(ours))?;
    token_of(&ours)
}

/// Puts the entry back as it was before we gave it a token, and the file byte for byte if nothing else was changed since. Blocks.
pub fn take_token(places: &ClientPlaces, reaching: &Reaching, client: Client) -> Result<Connected> {
    let request = ConnectRequest::usual(client);
    let file = file_of(places, &request)?;
    let change = token_taken(places, reaching, client, &file);
    match change {
        Ok(Some(change)) => carry_out(places, &request, change, OUTCOMES),
        Ok(None) => disconnect(places, reaching, &request, || ()),
        Err(error) => not_undone(places, reaching, &request, &file, &error),
    }
}

/// What that takes; nothing where there was no entry before the token.
fn token_taken(
    places: &ClientPlaces,
    reaching: &Reaching,
    client: Client,
    file: &ClientFile,
) -> Result<Option<FileChange>, ClientFileError> {
    let text = file.text()?.ok_or(ClientFileError::NotThere)?;
    let ours = here_in(&text, file, &reaching.us)?;
    let issued = |token: &Secret| {
        let issued = &reaching.settings.issued;
        issued.find(&TokenHash::of(token.reveal()))
    };
    let is_given = |token: &Secret| {
        issued(token).is_some_and(|known| known.client.as_deref() == Some(client.id()))
    };
    // A program of ours that was given one gives it back; the arguments of another one stay as they are.
    if ours.is_bridged() || token_of(&ours).is_none_or(|token| !is_given(&token)) {
        return Err(with_address(ours).err().unwrap_or(ClientFileError::NoToken));
    }
    // One that was issued here and revoked since is of no more use.
    let is_good = |token: Secret| {
        let is_issued = token.reveal().starts_with(IssuedToken::PREFIX);
        !is_issued || issued(&token).is_some() && !is_given(&token)
    };
    let name = &ours.name;
    let former = |before: &str| {
        let entry = edit::present(client, file.format, before, name).ok()?;
        let former = ClientServer {
            entry: entry.unwrap_or_default(),
            ..ClientServer::written(name)
        };
        token_of(&former).is_none_or(is_good).then_some(former)
    };
    let copies = Copies::of(places, client, file, name);
    let found = copies.newest(&text, former);
    let puts_back_another = found.is_some();
    let (after, copies) = match found {
        Some((_, former, _)) if former.entry.is_null() => return Ok(None),
        Some((at, _, true)) => copies.restored(at),
        found => {
            // Without a copy, the entry stays as it is beside its token.
            let entry = found.map_or_else(
                || without_token(members(&ours)),
                |(_, former, _)| members(&former),
            );
            let after = edit::put(client, file.format, &text, name, &entry)?;
            (Some(after), CopiesAfter::OneMore)
        }
    };
    Ok(Some(FileChange {
        after,
        puts_back_another,
        copies,
        ..FileChange::none(file, name, Some(text))
    }))
}

/// The entry that leads to us.
fn here_in(
    text: &str,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<ClientServer, ClientFileError> {
    let found = file.servers_in(text)?;
    let ours = our_entry_in(&found, file, us).filter(|ours| us.is_this_one(ours));
    ours.cloned().ok_or(ClientFileError::NotThere)
}

/// The entry that leads to our address: a program that it starts needs no token.
fn entry_in(
    text: &str,
    file: &ClientFile,
    us: &OurAddress,
) -> Result<ClientServer, ClientFileError> {
    with_address(here_in(text, file, us)?)
}

fn with_address(ours: ClientServer) -> Result<ClientServer, ClientFileError> {
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
    let is_token = |name: &str| name.eq_ignore_ascii_case(AUTHORIZATION) || name == TOKEN_VARIABLE;
    for key in HEADERS.iter().chain(&VARIABLES) {
        if let Some(Value::Object(values)) = entry.get_mut(*key) {
            values.retain(|name, _| !is_token(name));
            if values.is_empty() {
                entry.remove(*key);
            }
        }
    }
    entry
}

/// The token that stands in an entry.
fn token_of(ours: &ClientServer) -> Option<Secret> {
    ours.token().map(Secret::new)
}
