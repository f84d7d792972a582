//! Tokens that a person issues to clients: issued, listed with their last use, and revoked. The text of a token is shown once, when it is
//! issued; after that only its hash is known.

use std::{collections::BTreeMap, iter, net::SocketAddr, path::Path, time::SystemTime};

use super::{
    Backing, Management,
    access::with_profiles,
    operator_hints::closest_server,
    token_letter::{ClientHost, letter},
    token_rows::{NewToken, NewlyIssued, TokenList, TokenRow, noted, row_of},
    writing::{blocking, not_written},
};
use crate::{
    access::last_uses,
    config::{
        AllowedCalls, ChangeOf, ChangedValue, EditError, IssuedToken, IssuedTokens, NotUndone,
        Settings, TokenError, TokenHash, duration,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    sessions::sealing::random_secret,
    storage::in_words,
    text::{
        moment,
        names::{self, as_argument},
        secret::Secret,
    },
};

/// Characters of a token that lists show.
const SHOWN: usize = 7;

impl<B: Backing> Management<B> {
    /// The tokens. `unsaved_uses` are last uses, by the hashes of tokens, that may not be in the data folder yet. Blocks.
    pub fn tokens(&self, unsaved_uses: BTreeMap<String, u64>) -> Result<TokenList> {
        let issued = read(self.data_dir())?;
        let mut uses = last_uses(self.data_dir());
        uses.extend(unsaved_uses);
        let row = |token: &IssuedToken| row_of(token, uses.get(&token.hash.to_hex()).copied());
        let mut tokens: Vec<TokenRow> = issued.iter().map(row).collect();
        tokens.sort_by(|one, other| one.name.cmp(&other.name));
        let settings = self.settings()?;
        let auth = settings.server_auth.as_deref();
        let in_file = auth.into_iter().flat_map(|auth| &auth.tokens);
        Ok(TokenList {
            tokens,
            in_file: in_file.map(|token| token.subject.clone()).collect(),
            required: settings.requires_credentials(),
        })
    }

    /// Issues a token, which clients can use at once. `listening` is the address on which the daemon listens, if one runs.
    pub async fn issue_token(
        &self,
        new: NewToken,
        listening: Option<&SocketAddr>,
    ) -> Result<NewlyIssued> {
        let settings = self
            .settings()
            .map_err(|failure| failure.with_outcome("no token was issued"))?;
        let secret = random_secret().map_err(|error| {
            let error = format!("no token was issued: {}", in_words(&error));
            Failure::new(ErrorCode::Internal, error, "Try again.")
        })?;
        let text = format!("{}{}", IssuedToken::PREFIX, secret.reveal());
        let token = token_of(new, &text, &settings)?;
        let (added, data_dir) = (token.clone(), self.data_dir().to_owned());
        let adding = move || IssuedTokens::add(&data_dir, added.clone()).map(|()| added);
        let by = ChangeOf::this_task();
        self.change_tokens(TokenAction::Issue, by, &token.name, adding)
            .await?;
        let expires = token.expires.map(moment::utc_millis);
        let address = listening.map_or_else(|| settings.listen.to_string(), ToString::to_string);
        let host = ClientHost::of(&address);
        Ok(NewlyIssued {
            text: letter(&token, &text, &host),
            lacks_host: host.is_unnamed,
            name: token.name,
            token: text,
            expires,
        })
    }

    /// Issues a token to an AI client of this machine, under the client's name, with a number behind it where that name is taken. It allows
    /// all calls, as the client had them without a token.
    pub async fn issue_token_to_client(&self, client: &str) -> Result<NewlyIssued> {
        let known = self.issued_tokens("nothing was changed").await?;
        let is_free = |name: &String| {
            known
                .iter()
                .all(|token| !token.name.eq_ignore_ascii_case(name))
        };
        let others = (2..).map(|n| format!("{client}-{n}"));
        let mut names = iter::once(client.to_owned()).chain(others);
        let new = NewToken {
            name: names.find(is_free).unwrap_or_default(),
            calls: AllowedCalls::All,
            client: Some(client.to_owned()),
            ..NewToken::default()
        };
        self.issue_token(new, None).await
    }

    /// The names of the tokens that [`Self::issue_token_to_client`] issued to this client, but for the one that its entry shows.
    pub async fn unused_tokens_of(
        &self,
        client: &str,
        shown: Option<&Secret>,
    ) -> Result<Vec<String>> {
        let known = self.issued_tokens("its token was not revoked").await?;
        let shown = shown.map(|token| TokenHash::of(token.reveal()));
        let unused = known
            .iter()
            .filter(|token| token.client.as_deref() == Some(client) && Some(token.hash) != shown);
        Ok(unused.map(|token| token.name.clone()).collect())
    }

    /// Revokes those tokens. Gives their names.
    pub async fn revoke_unused(&self, client: &str, shown: Option<&Secret>) -> Result<Vec<String>> {
        let names = self.unused_tokens_of(client, shown).await?;
        for name in &names {
            self.revoke_token(name).await?;
        }
        Ok(names)
    }

    /// Revokes a token: requests with it are refused from now on, and its sessions and streams end.
    pub async fn revoke_token(&self, name: &str) -> Result<TokenRow> {
        let (token, _) = self.remove_token(name, ChangeOf::this_task()).await?;
        Ok(row_of(&token, None))
    }

    /// What undoing the change with this number, which issued a token, changes. Refused if the token is no longer the one that was issued.
    pub(super) async fn token_undone(&self, id: u64, issued: ChangedValue) -> Result<ChangedValue> {
        let name = issued.path.last();
        let known = self.issued_tokens("nothing was undone").await?;
        let is_there = known
            .iter()
            .any(|token| Some(&token.name) == name && Some(noted(token)) == issued.after);
        if !is_there {
            let path = issued.path.join(".");
            let later = None;
            let changed = NotUndone::ChangedSince { id, path, later };
            return Err(not_written(&EditError::from(changed).into()));
        }
        Ok(ChangedValue {
            before: issued.after,
            after: None,
            ..issued
        })
    }

    /// Makes that change, by revoking the token. Gives its number in the history.
    pub(super) async fn undo_token(&self, id: u64, undone: &ChangedValue) -> Result<Option<u64>> {
        let by = ChangeOf::this_task();
        by.note().undoes(Some(id));
        let name = undone.path.last().map_or("", String::as_str);
        let (_, number) = self.remove_token(name, by).await?;
        Ok(number)
    }

    /// The issued tokens. `undone` is what is not done without them.
    async fn issued_tokens(&self, undone: &str) -> Result<IssuedTokens> {
        let data_dir = self.data_dir().to_owned();
        let known = blocking(move || read(&data_dir)).await?;
        known.map_err(|failure| failure.with_outcome(undone))
    }

    async fn remove_token(&self, name: &str, by: ChangeOf) -> Result<(IssuedToken, Option<u64>)> {
        let (removed, data_dir) = (name.to_owned(), self.data_dir().to_owned());
        let removing = move || IssuedTokens::remove(&data_dir, &removed);
        self.change_tokens(TokenAction::Revoke, by, name, removing)
            .await
    }

    /// Adds or removes a token. Gives the token, and the number of the change in the history.
    async fn change_tokens(
        &self,
        action: TokenAction,
        by: ChangeOf,
        name: &str,
        change: impl FnOnce() -> Result<IssuedToken, TokenError> + Send + 'static,
    ) -> Result<(IssuedToken, Option<u64>)> {
        let (history, data_dir) = (self.0.history().clone(), self.data_dir().to_owned());
        let changing = move || -> Result<_> {
            let token = change().map_err(|error| match failed(&data_dir, &error) {
                why if matches!(error, TokenError::Io(_)) => {
                    why.with_outcome("nothing was changed")
                }
                failure => failure,
            })?;
            let noted = Some(noted(&token));
            let (before, after) = match action {
                TokenAction::Issue => (None, noted),
                TokenAction::Revoke => (noted, None),
            };
            let number = history.note_token(&token.name, before, after, &by);
            Ok((token, number))
        };
        let changed = blocking(changing).await?;
        self.0.reread().await;
        self.note_outcome(action.as_str(), name.to_owned(), &changed);
        changed
    }
}

/// What is done to a token.
#[derive(Clone, Copy)]
enum TokenAction {
    Issue,
    Revoke,
}

impl TokenAction {
    /// Its name in the activity log.
    fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue_token",
            Self::Revoke => "revoke_token",
        }
    }
}

/// The token to store, if what is wanted of it is possible. `text` is what clients will send.
fn token_of(new: NewToken, text: &str, settings: &Settings) -> Result<IssuedToken> {
    let wrong = |why: String, hint: &str| {
        let error = format!("no token was issued: {why}");
        Failure::new(ErrorCode::InvalidArguments, error, hint)
    };
    if let Some(profile) = &new.profile
        && !settings.profiles.contains_key(profile)
    {
        let why = format!("no profile {profile:?} is configured");
        let failure = wrong(why, "Name a profile.");
        return Err(with_profiles(failure, profile, settings));
    }
    let servers = new.servers.filter(|servers| !servers.is_empty());
    let is_known = |name: &&String| {
        settings.servers.contains_key(name.as_str()) || settings.broken_entry(name).is_some()
    };
    let mut named = servers.iter().flatten();
    if let Some(unknown) = named.find(|name| !is_known(name)) {
        let why = format!("no server {unknown:?} is configured");
        let failure = wrong(why, "Name configured servers.");
        let failure = failure.with_closest(closest_server(settings, unknown));
        return Err(failure.with_step(NextStep::ShowServers));
    }
    let created = moment::millis(SystemTime::now());
    let expires = new.expires.map(|written| {
        let lasts = duration::parse(&written).filter(|time| !time.is_zero());
        let lasts = lasts.and_then(|time| u64::try_from(time.as_millis()).ok());
        let ends = lasts.and_then(|lasts| created.checked_add(lasts));
        ends.ok_or_else(|| {
            wrong(
                format!("`expires` cannot be {written:?}"),
                "Write how long the token is valid, such as 30d or 12h, at most 365 days.",
            )
        })
    });
    Ok(IssuedToken {
        subject: new.subject.unwrap_or_else(|| new.name.clone()),
        name: new.name,
        roles: new.roles,
        servers,
        profile: new.profile,
        calls: new.calls,
        client: new.client,
        created,
        expires: expires.transpose()?,
        begins: text.chars().take(SHOWN).collect(),
        hash: TokenHash::of(text),
    })
}

/// The tokens of a data folder. Blocks.
fn read(data_dir: &Path) -> Result<IssuedTokens> {
    IssuedTokens::read(data_dir).map_err(|error| failed(data_dir, &error.into()))
}

/// The failure for an error of the file with the tokens. Blocks.
fn failed(data_dir: &Path, error: &TokenError) -> Failure {
    let failure = |code, hint: &str| Failure::new(code, error.to_string(), hint);
    match error {
        TokenError::Io(error) => failure(ErrorCode::Internal, &IssuedTokens::step(data_dir, error)),
        TokenError::Exists(name) => failure(
            ErrorCode::TokenExists,
            "Choose another name, or revoke that token first.",
        )
        .at_terminal(format!(
            "choose another name, or revoke that token first: `mcpproxy token revoke {}`",
            as_argument(name)
        )),
        TokenError::Unknown(name) => {
            let failure = failure(ErrorCode::UnknownToken, "Name an existing token.");
            let known = IssuedTokens::usable(data_dir);
            let closest = names::closest(name, known.iter().map(|token| &*token.name));
            failure
                .with_step(NextStep::ShowTokens)
                .with_closest(closest)
        }
        TokenError::Wrong(_) => {
            failure(ErrorCode::InvalidArguments, "Correct that, then try again.")
                .at_terminal("for example: `mcpproxy token add ben --servers github --expires 30d`")
        }
    }
}
