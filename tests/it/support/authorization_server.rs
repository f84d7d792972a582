//! An authorization server and an MCP server that wants its tokens, on one socket. It does what its [`Habits`] say, and keeps what it
//! was asked.

mod habits;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::Engine;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore};

pub use self::habits::{Habits, Iss, Published, Renewal, Tells};
use super::{
    http::{self, HttpAnswer},
    patience::until,
};

/// A request, its form or JSON decoded.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub authorization: String,
    pub fields: BTreeMap<String, String>,
    pub body: String,
}

#[derive(Default)]
struct Given {
    asked: Vec<Asked>,
    /// Codes that were given, with their challenge and scopes.
    codes: BTreeMap<String, (String, String)>,
    /// Tokens that count, with their scopes.
    tokens: BTreeMap<String, String>,
    refresh_tokens: BTreeSet<String>,
    /// Numbers whatever is given out.
    count: usize,
}

struct Shared {
    address: SocketAddr,
    habits: Mutex<Habits>,
    state: Mutex<Given>,
    released: Semaphore,
}

/// The running server. It stops with the test's runtime.
pub struct AuthorizationServer(Arc<Shared>);

impl AuthorizationServer {
    pub async fn start(habits: Habits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let shared = Arc::new(Shared {
            address: listener.local_addr().expect("a bound socket"),
            habits: Mutex::new(habits),
            state: Mutex::default(),
            released: Semaphore::new(0),
        });
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self(shared)
    }

    /// The entry of its MCP server.
    pub fn entry(&self) -> Value {
        json!({"url": format!("{}/mcp", self.url())})
    }

    pub fn entry_with(&self, oauth: &Value) -> Value {
        json!({"url": format!("{}/mcp", self.url()), "oauth": oauth})
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    pub fn change(&self, change: impl FnOnce(&mut Habits)) {
        change(&mut self.0.habits.lock().expect("no panic under lock"));
    }

    /// No token that was given counts any more.
    pub fn revoke_tokens(&self) {
        self.0.state().tokens.clear();
    }

    /// Lets one renewal that waits be answered.
    pub fn release(&self) {
        self.0.released.add_permits(1);
    }

    /// What was asked at this path.
    pub fn asked(&self, path: &str) -> Vec<Asked> {
        let state = self.0.state();
        let asked = state.asked.iter().filter(|asked| asked.path == path);
        asked.cloned().collect()
    }

    /// The requests for tokens of this kind.
    pub fn grants(&self, kind: &str) -> Vec<Asked> {
        let mut asked = self.asked("/token");
        asked.retain(|asked| {
            asked
                .fields
                .get("grant_type")
                .is_some_and(|found| found == kind)
        });
        asked
    }

    /// Waits until there were so many.
    pub async fn wait_for_grants(&self, kind: &str, n: usize) {
        until("the requests for tokens", || {
            (self.grants(kind).len() >= n).then_some(())
        })
        .await;
    }

    /// All secrets that were given out.
    pub fn secrets(&self) -> Vec<String> {
        let state = self.0.state();
        let given = 1..=state.count;
        let all = given.flat_map(|n| ["access", "refresh", "code"].map(|kind| secret(kind, n)));
        all.collect()
    }
}

fn secret(kind: &str, n: usize) -> String {
    format!("{kind}-hunter2-{n}")
}

/// A browser that goes to this address: where it is sent.
pub async fn browse(url: &str) -> String {
    visit(url).await.header("location").to_owned()
}

/// A browser that shows this address.
pub async fn visit(url: &str) -> HttpAnswer {
    let rest = url.strip_prefix("http://").expect("a plain address");
    let (host, path) = rest.split_once('/').expect("a path");
    let address = host.replace("localhost", "127.0.0.1").parse();
    http::send(
        address.expect("an address"),
        "GET",
        &format!("/{path}"),
        &[("host", host)],
        "",
    )
    .await
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Given> {
        self.state.lock().expect("no panic under lock")
    }

    fn habits(&self) -> Habits {
        self.habits.lock().expect("no panic under lock").clone()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a small body");
    let path = head.uri.path().to_owned();
    let asked = asked(&path, head.uri.query(), &head.headers, &body);
    shared.state().asked.push(asked.clone());
    let habits = shared.habits();
    match path.as_str() {
        "/mcp" => mcp(&shared, &habits, &asked),
        "/authorize" => authorize(&shared, &habits, &asked),
        "/token" => token(&shared, &habits, &asked).await,
        "/register" => register(&shared, &habits, &asked),
        path if path == habits.server_metadata => {
            json_answer(StatusCode::OK, &server_metadata(&shared, &habits))
        }
        "/.well-known/oauth-protected-resource/mcp"
            if habits.resource_metadata == Published::WellKnown =>
        {
            resource_metadata(&shared, &habits)
        }
        "/resource-metadata" if habits.resource_metadata == Published::InChallenge => {
            resource_metadata(&shared, &habits)
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn asked(path: &str, query: Option<&str>, headers: &HeaderMap, body: &Bytes) -> Asked {
    let body = String::from_utf8_lossy(body).into_owned();
    let pairs = query.into_iter().chain([body.as_str()]);
    let pairs = pairs
        .flat_map(|text| text.split('&'))
        .filter_map(|pair| pair.split_once('='));
    let decoded = |text: &str| {
        let spaced = text.replace('+', " ");
        let decoded = percent_encoding::percent_decode_str(&spaced);
        decoded.decode_utf8_lossy().into_owned()
    };
    let authorization = headers.get(header::AUTHORIZATION);
    Asked {
        path: path.to_owned(),
        authorization: authorization.map_or(String::new(), |value| {
            value.to_str().expect("plain text").to_owned()
        }),
        fields: pairs
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect(),
        body,
    }
}

fn json_answer(status: StatusCode, value: &Value) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        value.to_string(),
    )
        .into_response()
}

fn resource_metadata(shared: &Shared, habits: &Habits) -> Response {
    let url = shared.url();
    let mut servers: Vec<String> = (1..habits.servers)
        .map(|n| format!("{url}/absent/{n}"))
        .collect();
    servers.extend((habits.servers > 0).then(|| url.clone()));
    json_answer(
        StatusCode::OK,
        &json!({"resource": format!("{url}/mcp"), "authorization_servers": servers}),
    )
}

fn server_metadata(shared: &Shared, habits: &Habits) -> Value {
    let url = shared.url();
    let mut metadata = json!({
        "issuer": habits.issuer.clone().unwrap_or_else(|| url.clone()),
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    let all = metadata.as_object_mut().expect("an object");
    all.extend(habits.more_metadata.as_object().expect("an object").clone());
    metadata
}

fn authorize(shared: &Shared, habits: &Habits, asked: &Asked) -> Response {
    let field = |name: &str| asked.fields.get(name).cloned().unwrap_or_default();
    let mut to = format!("{}?state={}", field("redirect_uri"), field("state"));
    if habits.agrees {
        let mut state = shared.state();
        state.count += 1;
        let code = secret("code", state.count);
        state
            .codes
            .insert(code.clone(), (field("code_challenge"), field("scope")));
        to.push_str("&code=");
        to.push_str(&code);
    } else {
        to += "&error=access_denied&error_description=not%20today";
    }
    match habits.iss {
        Iss::Absent => (),
        Iss::Right => to.extend(["&iss=", &shared.url()]),
        Iss::Wrong => to += "&iss=https://elsewhere.example",
    }
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

async fn token(shared: &Shared, habits: &Habits, asked: &Asked) -> Response {
    let refused = |code: &str| json_answer(StatusCode::BAD_REQUEST, &json!({"error": code}));
    let field = |name: &str| asked.fields.get(name).cloned().unwrap_or_default();
    if let Some(status) = habits.repeats {
        let status = StatusCode::from_u16(status).expect("a status");
        let mut heard: Vec<String> = asked.fields.values().cloned().collect();
        heard.extend(shared.state().tokens.keys().cloned());
        heard.extend(habits.client_secret.map(str::to_owned));
        let said = format!("no: {} ({})", heard.join(" "), asked.body);
        return json_answer(
            status,
            &json!({"error": "server_error", "error_description": said}),
        );
    }
    let scopes = match field("grant_type").as_str() {
        "authorization_code" => {
            let known = shared.state().codes.remove(&field("code"));
            let Some((challenge, scopes)) = known else {
                return refused("invalid_grant");
            };
            if challenge != s256(&field("code_verifier")) {
                return refused("invalid_grant");
            }
            scopes
        }
        "refresh_token" => {
            if habits.renewal == Renewal::Waits {
                shared.released.acquire().await.expect("open").forget();
            }
            match habits.renewal {
                Renewal::Down => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
                Renewal::Refused => return refused("invalid_grant"),
                Renewal::Works | Renewal::Waits => (),
            }
            // Each works once.
            if !shared
                .state()
                .refresh_tokens
                .remove(&field("refresh_token"))
            {
                return refused("invalid_grant");
            }
            String::new()
        }
        _ => return refused("unsupported_grant_type"),
    };
    let scopes = if scopes.is_empty() {
        habits.scopes.to_owned()
    } else {
        scopes
    };
    let mut state = shared.state();
    state.count += 1;
    let (access, refresh) = (
        secret("access", state.count),
        secret("refresh", state.count),
    );
    state.tokens.insert(access.clone(), scopes.clone());
    state.refresh_tokens.insert(refresh.clone());
    let mut answer = json!({
        "access_token": access, "token_type": habits.token_type, "refresh_token": refresh, "scope": scopes,
    });
    if let Some(lifetime) = &habits.lifetime {
        answer["expires_in"] = json!(lifetime);
    }
    json_answer(StatusCode::OK, &answer)
}

/// What a verifier has to be hashed to (RFC 7636, 4.2).
fn s256(verifier: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest)
}

fn register(shared: &Shared, habits: &Habits, asked: &Asked) -> Response {
    if !habits.registers {
        let refused =
            json!({"error": "invalid_client_metadata", "error_description": "by hand only"});
        return json_answer(StatusCode::BAD_REQUEST, &refused);
    }
    let mut state = shared.state();
    state.count += 1;
    let mut answer: Value = serde_json::from_str(&asked.body).expect("JSON");
    answer["client_id"] = json!(format!("client-{}", state.count));
    if let Some(secret) = habits.client_secret {
        answer["client_secret"] = json!(secret);
    }
    json_answer(StatusCode::CREATED, &answer)
}

/// The MCP server: `echo` needs a token, `write` one with that scope.
fn mcp(shared: &Shared, habits: &Habits, asked: &Asked) -> Response {
    let token = asked
        .authorization
        .strip_prefix("Bearer ")
        .unwrap_or_default();
    let known = shared.state().tokens.get(token).cloned();
    let Some(scopes) = known.filter(|_| habits.takes_tokens) else {
        let mut challenge = "Bearer error=\"invalid_token\"".to_owned();
        if let Some(scopes) = habits.challenge_scopes {
            challenge.extend([", scope=\"", scopes, "\""]);
        }
        if habits.resource_metadata == Published::InChallenge {
            let at = shared.url();
            challenge.extend([", resource_metadata=\"", &at, "/resource-metadata\""]);
        }
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response();
    };
    let Ok(request) = serde_json::from_str::<Value>(&asked.body) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let method = request["method"].as_str().unwrap_or_default();
    if let Some(told) = habits.tells.and_then(|tells| tells.answer(token, method)) {
        return told;
    }
    let is_call = method == "tools/call";
    if is_call && request["params"]["name"] == "write" && !scopes.split(' ').any(|s| s == "write") {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
        return (
            StatusCode::FORBIDDEN,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response();
    }
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        "tools/list" => json!({"tools": [tool("echo"), tool("write")]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        "ping" => json!({}),
        _ if request["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
            return json_answer(StatusCode::OK, &answer);
        }
    };
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    json_answer(StatusCode::OK, &answer)
}
