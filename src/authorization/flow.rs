//! The steps of a login: finding the authorization server, registering there, making the address for the browser, and exchanging the code
//! that the browser brings back for tokens.

use std::{sync::Arc, time::Duration};

use http::Uri;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    AuthorizationRequest, AuthorizationSession,
};
use url::{Url, form_urlencoded};

use super::{
    LoginError,
    access_token::now,
    callback::Callback,
    callback_listener::CallbackListener,
    login_file::{ClientRegistration, Grant, with_tokens},
    login_state::{LoginState, no_token},
    oauth_http::{OAuthHttp, OAuthRefusal, UNUSABLE, pair},
    redirect::Redirect,
    terms::is_safe,
};
use crate::{failure::NextStep, text::secret::Secret};

/// How we present ourselves where we register.
const CLIENT_NAME: &str = "mcpproxy";

/// How long the search for the place to log in may take, with all its requests.
const SEARCH: Duration = Duration::from_mins(1);

/// A login that waits for the browser.
pub(super) struct PreparedLogin {
    session: AuthorizationSession,
    http: Arc<OAuthHttp>,
    /// What the tokens go into.
    grant: Grant,
    /// Where the browser goes.
    pub(super) url: String,
    /// The `state` that the redirect of this login alone carries.
    pub(super) state: String,
    pub(super) redirect_uri: String,
    /// Waits for the browser; absent where it returns to another machine.
    pub(super) listener: Option<CallbackListener>,
}

/// An authorization server that was found. We have no client there yet.
pub(super) struct Discovered {
    manager: AuthorizationManager,
    http: Arc<OAuthHttp>,
    metadata: AuthorizationMetadata,
    issuer: String,
    scopes: Vec<String>,
    /// Nothing names it: its address is the usual one on the server's own host.
    is_guessed: bool,
}

impl LoginState {
    /// Prepares a login at an authorization server. Nothing may listen at the port of an earlier one any more.
    pub(super) async fn prepare(&self, mut found: Discovered) -> Result<PreparedLogin, LoginError> {
        let terms = &self.terms;
        let kept = self.kept();
        let known = kept.client(&found.issuer, now());
        let redirect = Redirect::of(terms.oauth.redirect_uri.as_deref());
        let listener = redirect
            .listen(known.map(|client| client.redirect_uri.as_str()))
            .await
            .map_err(|why| match terms.oauth.redirect_uri {
                Some(_) => {
                    let how = "free that port, or change `oauth.redirect_uri`";
                    LoginError::Needs(why, NextStep::fix_key("oauth.redirect_uri", how))
                }
                None => LoginError::Failed(why),
            })?;
        let redirect_uri = redirect.address(listener.as_ref());
        let known = known.filter(|client| client.redirect_uri == redirect_uri);
        let client = match self.configured_client(&found.metadata).or(known.cloned()) {
            Some(client) => client,
            None => self.register(&mut found, &redirect_uri).await?,
        };
        let mut request = AuthorizationRequest::new(redirect_uri.as_str())
            .with_initial_scope_selection()
            .with_scopes(found.scopes)
            .with_preregistered_client(client.client_id.as_str());
        if let Some(secret) = &client.client_secret {
            request = request.with_client_secret(secret.reveal());
        }
        let session = AuthorizationSession::new(found.manager, request).await;
        let session = session.map_err(|(_, error)| self.failed(&error, &[]))?;
        let mut url = session.get_authorization_url().to_owned();
        let state = parameter(&url, "state").unwrap_or_default();
        let resource = parameter(&url, "resource").unwrap_or_default();
        for (name, value) in &terms.oauth.extra_params {
            url = with_parameter(&url, name, value.reveal());
        }
        Ok(PreparedLogin {
            session,
            http: found.http,
            grant: Grant {
                issuer: found.issuer,
                resource,
                client_id: client.client_id,
                client_secret: client.client_secret,
                redirect_uri: redirect_uri.clone(),
                metadata: serde_json::to_value(&found.metadata).unwrap_or_default(),
                ..Grant::default()
            },
            url,
            state,
            redirect_uri,
            listener,
        })
    }

    /// Asks the server where to log in.
    pub(super) async fn discover(&self) -> Result<Discovered, LoginError> {
        let terms = &self.terms;
        if !is_safe(&terms.uri()) {
            let why =
                "its address is neither https nor on this machine, so no token may be sent to it";
            return Err(LoginError::Unsafe(why.to_owned()));
        }
        let http = Arc::new(OAuthHttp::new(terms, None).await);
        let url = terms.url.as_str();
        let manager = AuthorizationManager::new_with_oauth_http_client(url, http.clone()).await;
        let mut manager = manager.map_err(|error| self.error(&error.to_string()))?;
        let challenge = self.challenge();
        let searching = manager.resolve_metadata_from_challenge(challenge.as_deref());
        let Ok(found) = tokio::time::timeout(SEARCH, searching).await else {
            let seconds = SEARCH.as_secs();
            let why = format!("its authorization server was not found within {seconds} s");
            return Err(LoginError::Failed(with_left_out(why, &http)));
        };
        if http.names_no_server() {
            let why = "it requires a login but names no authorization server (`authorization_servers` is empty)";
            return Err(LoginError::NoPlace(why.to_owned()));
        }
        let found = found.map_err(|error| self.not_found(&error, &http))?;
        let metadata = &found.metadata;
        for place in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
            if let Some(why) = unfit(place) {
                let why = format!("its authorization server leads to {place:?}, which {why}");
                return Err(LoginError::BadAnswer(self.error(&why).to_string()));
            }
        }
        let is_guessed = found.source == AuthorizationMetadataSource::LegacyEndpointFallback;
        if !is_guessed {
            self.check_pkce(&found.metadata)?;
        }
        let metadata = found.metadata.clone();
        manager.set_metadata(found.metadata);
        let named = manager.select_initial_scopes(&[]).await;
        let scopes = self.scopes(named);
        Ok(Discovered {
            manager,
            http,
            issuer: issuer(&metadata),
            metadata,
            scopes,
            is_guessed,
        })
    }

    /// Why the search came to nothing.
    fn not_found(&self, error: &AuthError, http: &OAuthHttp) -> LoginError {
        if let Some((who, why)) = http.outage() {
            let [who, why] = [who, why].map(|text| self.error(&text).to_string());
            return LoginError::Unreachable { who, why };
        }
        let heard = http.heard();
        let (AuthError::MetadataError(_), Some((_, servers)), Some(resource)) =
            (error, heard.named_servers, heard.resource)
        else {
            return self.failed(error, &[]);
        };
        if !is_part_of(&self.terms.url, &resource) {
            let why = format!("its login is for {resource}, which is not the `url` of its entry");
            let how = "if that is the server's URL, set it in its entry";
            let why = self.error(&why).to_string();
            return LoginError::Needs(why, NextStep::fix_key("url", how));
        }
        // What the other addresses answered says less.
        let fault = heard.metadata_fault.or(heard.fault);
        let fault = fault.map(|fault| format!(": it {fault}"));
        let fault = fault.unwrap_or_default();
        let why = format!("no usable metadata from its authorization server {servers}{fault}");
        LoginError::NoPlace(self.error(&with_left_out(why, http)).to_string())
    }

    /// Refuses an authorization server that does not declare that it binds a code to its client (Model Context Protocol, Authorization,
    /// "Authorization Code Protection"). One without metadata is that of an early revision, and need not.
    fn check_pkce(&self, metadata: &AuthorizationMetadata) -> Result<(), LoginError> {
        let mut methods = metadata.code_challenge_methods_supported.iter().flatten();
        if methods.any(|method| method == "S256") {
            return Ok(());
        }
        let issuer = self.error(&issuer(metadata));
        Err(LoginError::NoPlace(format!(
            "the authorization server {issuer} does not list S256 in `code_challenge_methods_supported` (PKCE), so a login could be stolen"
        )))
    }

    /// An error of the library in words for people, without these secrets beside those that are known.
    fn failed(&self, error: &AuthError, secrets: &[&str]) -> LoginError {
        let why = match error {
            AuthError::AuthorizationServerMismatch {
                expected_issuer,
                received_issuer,
            } => format!("at {expected_issuer} calls itself {received_issuer}"),
            AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
                format!("{expected_issuer} does not name its issuer")
            }
            other => return self.error_without(secrets, &other.to_string()),
        };
        let why = format!("the authorization server {why}, so it is not trusted");
        LoginError::NoPlace(self.error(&why).to_string())
    }

    /// Registers us with an authorization server, and remembers that.
    async fn register(
        &self,
        found: &mut Discovered,
        redirect_uri: &str,
    ) -> Result<ClientRegistration, LoginError> {
        let scopes: Vec<&str> = found.scopes.iter().map(String::as_str).collect();
        let manager = &mut found.manager;
        let registering = manager.register_client(CLIENT_NAME, redirect_uri, &scopes);
        let registered = registering.await;
        let found = &*found;
        let registered = registered.map_err(|error| {
            let why = match &error {
                AuthError::RegistrationFailed(_) => not_registered(found),
                error => self.failed(error, &[]).to_string(),
            };
            let why = self.error(&why).to_string();
            if found.is_guessed {
                LoginError::NoPlace(why)
            } else if found.http.heard().is_broken {
                let who = "its authorization server".to_owned();
                LoginError::Unreachable { who, why }
            } else {
                LoginError::NotRegistered(why)
            }
        })?;
        let client = ClientRegistration {
            issuer: found.issuer.clone(),
            client_id: registered.client_id,
            client_secret: registered.client_secret.map(Secret::new),
            redirect_uri: redirect_uri.to_owned(),
            secret_ends: found.http.heard().secret_ends,
        };
        self.keep(|kept| kept.remember(client.clone()));
        Ok(client)
    }

    /// The scopes to ask for: what was granted must not be lost by logging in again. What is configured counts instead of what the
    /// server names.
    fn scopes(&self, named: Vec<String>) -> Vec<String> {
        let wanted = self.wanted();
        let configured = &self.terms.oauth.scopes;
        let mut scopes = configured.clone();
        if configured.is_empty() || !wanted.is_empty() {
            scopes.extend(self.kept().granted_scopes().iter().cloned());
            scopes.extend(wanted);
        }
        if configured.is_empty() {
            scopes.extend(named);
        }
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }

    /// What a person registered beforehand. The address of a document counts where the authorization server reads such
    /// (client id metadata documents).
    fn configured_client(&self, metadata: &AuthorizationMetadata) -> Option<ClientRegistration> {
        let oauth = &self.terms.oauth;
        let client_id = oauth.client_id.clone()?;
        let is_document = client_id.starts_with("https://");
        let fields = &metadata.additional_fields;
        let documents = fields.get("client_id_metadata_document_supported");
        let reads_documents = documents.and_then(serde_json::Value::as_bool);
        (!is_document || reads_documents == Some(true)).then(|| ClientRegistration {
            issuer: issuer(metadata),
            client_id,
            client_secret: oauth.client_secret.clone(),
            redirect_uri: String::new(),
            secret_ends: None,
        })
    }

    /// Exchanges what the browser brought for tokens.
    pub(super) async fn exchange(
        &self,
        prepared: PreparedLogin,
        callback: Callback,
    ) -> Result<Grant, LoginError> {
        if let Some(code) = callback.error {
            let description = callback.error_description;
            return Err(self.refused(&OAuthRefusal { code, description }, &[]));
        }
        let code = callback.code.filter(|code| !code.is_empty());
        let no_code = "the authorization server sent no code";
        let code = code.ok_or_else(|| LoginError::Failed(no_code.to_owned()))?;
        let (session, mut grant) = (prepared.session, prepared.grant);
        let exchanged = session
            .handle_callback_with_issuer(&code, &prepared.state, callback.issuer.as_deref())
            .await;
        let heard = prepared.http.heard();
        if let Some(why) = heard.token_fault {
            let why = self.error(&format!("the authorization server {why}"));
            return Err(LoginError::BadAnswer(why.to_string()));
        }
        let token = match exchanged {
            Ok(token) => token,
            Err(error) => {
                // A new registration may not have been kept.
                let secret = grant.client_secret.as_ref().map_or("", Secret::reveal);
                let secrets: [&str; 2] = [&code, secret];
                return Err(match (heard.refusal, &error) {
                    (Some(refusal), _) => {
                        if refusal.code == "invalid_client" {
                            self.keep(|kept| kept.forget_client(&grant.issuer));
                        }
                        self.refused(&refusal, &secrets)
                    }
                    (None, AuthError::TokenExchangeFailed(_)) => {
                        let fault = heard.fault.as_deref().unwrap_or(UNUSABLE);
                        self.error_without(&secrets, &format!("the authorization server {fault}"))
                    }
                    (None, error) => self.failed(error, &secrets),
                });
            }
        };
        grant.scopes = session.auth_manager.get_current_scopes().await;
        let token = serde_json::to_value(&token).unwrap_or_default();
        with_tokens(grant, &token, now()).ok_or_else(no_token)
    }

    /// The failure of a login that an authorization server refused. What the entry names is corrected there.
    fn refused(&self, refusal: &OAuthRefusal, secrets: &[&str]) -> LoginError {
        let why = format!("the authorization server refused the login: {refusal}");
        let why = self.error_without(secrets, &why);
        let oauth = &self.terms.oauth;
        let step = if refusal.is_client_unknown() && oauth.client_id.is_some() {
            let how = "correct `oauth.client_id`, and `oauth.client_secret` if the client has one";
            NextStep::fix_key("oauth.client_id", how)
        } else if refusal.code == "invalid_scope" && !oauth.scopes.is_empty() {
            NextStep::fix("correct `oauth.scopes` in its entry")
        } else {
            return why;
        };
        LoginError::Needs(why.to_string(), step)
    }
}

/// The reason why a search failed, with the hint that it was cut short where it was.
fn with_left_out(why: String, http: &OAuthHttp) -> String {
    match http.left_out() {
        Some(left_out) => format!("{left_out}: {why}"),
        None => why,
    }
}

/// Who the authorization server says it is; where it says nothing, where it is.
fn issuer(metadata: &AuthorizationMetadata) -> String {
    metadata.issuer.clone().unwrap_or_else(|| {
        let uri: Uri = metadata.token_endpoint.parse().unwrap_or_default();
        match (uri.scheme_str(), uri.authority()) {
            (Some(scheme), Some(authority)) => format!("{scheme}://{authority}"),
            _ => String::new(),
        }
    })
}

/// Why we could not register with an authorization server.
fn not_registered(found: &Discovered) -> String {
    let issuer = &found.issuer;
    if found.is_guessed {
        return "it names no authorization server, and none is at the usual addresses; it may need a key in `headers`".to_owned();
    }
    if found.metadata.registration_endpoint.is_none() {
        return format!(
            "the authorization server {issuer} does not let clients register themselves"
        );
    }
    let heard = found.http.heard();
    match (heard.refusal, heard.fault) {
        (Some(refusal), _) => {
            format!("the authorization server {issuer} refused to register mcpproxy: {refusal}")
        }
        (None, fault) => {
            let fault = fault
                .as_deref()
                .unwrap_or("sent no JSON object with a `client_id`");
            format!(
                "mcpproxy cannot register at the authorization server {issuer}: its registration endpoint {fault}"
            )
        }
    }
}

/// Whether a server may call itself so (RFC 9728, 3.3), as rmcp decides it.
fn is_part_of(url: &str, resource: &str) -> bool {
    let (Ok(url), Ok(named)) = (Url::parse(url), Url::parse(resource)) else {
        return false;
    };
    let path = named.path();
    let rest = url.path().strip_prefix(path);
    url.origin() == named.origin()
        && rest.is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/'))
}

/// Why neither the browser nor a token is sent to an address. A user name in it looks like the host.
fn unfit(url: &str) -> Option<&'static str> {
    let url = Url::parse(url).ok();
    let uri: Option<Uri> = url.and_then(|url| url.as_str().parse().ok());
    let uri = uri.unwrap_or_default();
    if !is_safe(&uri) {
        return Some("is neither https nor on this machine");
    }
    let authority = uri.authority()?.as_str();
    authority
        .contains('@')
        .then_some("has a user name before its host")
}

/// The value of a parameter of an address.
fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(found, _)| found == name);
    found.map(|(_, value)| value.into_owned())
}

/// The address with a parameter in place of any of that name.
fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let others = query.split('&').filter(|pair| {
        let found = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && found != name
    });
    let mut pairs: Vec<String> = others.map(str::to_owned).collect();
    pairs.push(pair(name, value));
    format!("{place}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_part_of_what_it_calls_itself() {
        for (resource, expected) in [
            ("https://h/mcp", true),
            ("https://h/", true),
            ("https://h:443/mcp", true),
            ("https://h/mcp/", false),
            ("https://h/m", false),
            ("https://other/mcp", false),
            ("mcp", false),
        ] {
            assert_eq!(
                is_part_of("https://h/mcp", resource),
                expected,
                "{resource}"
            );
        }
    }

    #[test]
    fn parameters_of_an_address_are_read_and_set() {
        let url = "https://h/a?state=x%2By&resource=https%3A%2F%2Fr%2Fmcp";
        assert_eq!(parameter(url, "state").as_deref(), Some("x+y"));
        assert_eq!(parameter(url, "resource").as_deref(), Some("https://r/mcp"));
        assert_eq!(parameter(url, "code"), None);
        assert_eq!(
            with_parameter("https://h/a", "b", "c d"),
            "https://h/a?b=c%20d"
        );
        assert_eq!(
            with_parameter(url, "resource", "z"),
            "https://h/a?state=x%2By&resource=z"
        );
    }
}
