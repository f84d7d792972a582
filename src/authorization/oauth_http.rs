//! The requests of a login: where they may go, and what is sent beside what rmcp sends. Notes of the answers what rmcp does not pass on,
//! such as refusals.

use std::{fmt, io, time::Duration};

use http::{HeaderValue, Request, Response, Uri, header};
use percent_encoding::percent_decode_str;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;

use super::terms::{Terms, is_safe};
use crate::{
    link::{AddressReach, Fetching},
    runtime::sync::Guarded,
    text::{percent::encoded, secret::Secret},
};

/// Limit: authorization servers of one server whose metadata is read, and bytes of an answer. Metadata and tokens have a few thousand.
const MOST_SERVERS: usize = 5;
const LARGEST: usize = 1 << 20;

/// How long one request may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// The beginnings of the paths at which an authorization server says where to log in.
const METADATA: [&str; 2] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
];

/// The HTTP client of one login or renewal, for rmcp.
pub(super) struct OAuthHttp {
    fetching: Fetching,
    server: Uri,
    reach: AddressReach,
    extra_params: Vec<(String, Secret)>,
    /// What a renewal names as its resource; what rmcp found where none is given.
    resource: Option<String>,
    heard: Guarded<ServerAnswers>,
}

/// Facts from an authorization server's answers that rmcp does not pass on.
#[derive(Clone, Default)]
pub(super) struct ServerAnswers {
    /// Why the last request had no usable answer, if it had none.
    pub(super) fault: Option<String>,
    /// What is down.
    down: Option<String>,
    /// Whether the last answer says that its server is broken.
    pub(super) is_broken: bool,
    /// What is wrong with the first answer that should say where to log in.
    pub(super) metadata_fault: Option<String>,
    /// How an authorization server refused the last request.
    pub(super) refusal: Option<OAuthRefusal>,
    /// Why the last answer with tokens cannot be used, though it refuses nothing.
    pub(super) token_fault: Option<String>,
    /// When the secret ends that came with the registration (RFC 7591, 3.2.1).
    pub(super) secret_ends: Option<u64>,
    /// How many authorization servers the server names, where it says which, and those whose metadata is read.
    pub(super) named_servers: Option<(usize, String)>,
    /// What the server calls itself where it names them.
    pub(super) resource: Option<String>,
}

/// The `error` with which an authorization server refuses a request (RFC 6749, 5.2; RFC 7591, 3.2.2), with its description, as they came. Shows
/// the description in quotation marks; whoever shows it masks and cuts the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OAuthRefusal {
    pub(super) code: String,
    pub(super) description: Option<String>,
}

impl OAuthRefusal {
    /// Whether the server no longer knows this client, or not for such requests.
    pub(super) fn is_client_unknown(&self) -> bool {
        matches!(&*self.code, "invalid_client" | "unauthorized_client")
    }
}

impl fmt::Display for OAuthRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = &self.code;
        match self.description.as_deref() {
            None | Some("") => f.write_str(code),
            Some(words) => write!(f, "\"{words}\" ({code})"),
        }
    }
}

impl OAuthHttp {
    pub(super) async fn new(terms: &Terms, resource: Option<String>) -> Self {
        let server = terms.uri();
        let own = AddressReach::of_host(server.host().unwrap_or_default()).await;
        Self {
            fetching: Fetching {
                ca_file: terms.ca_file.clone(),
                deadline: DEADLINE,
                largest: LARGEST,
            },
            server,
            // Whatever the server is, nothing that it names leads to what only this host may see.
            reach: own.min(AddressReach::Loopback),
            extra_params: terms.oauth.extra_params.clone(),
            resource,
            heard: Guarded::default(),
        }
    }

    /// The facts so far.
    pub(super) fn heard(&self) -> ServerAnswers {
        self.heard.lock().clone()
    }

    /// What is down or out of reach, the server or its authorization server, and the same with the fault.
    pub(super) fn outage(&self) -> Option<(String, String)> {
        let heard = self.heard.lock();
        let down = heard.down.clone()?;
        let why = format!("{down} {}", heard.fault.as_ref()?);
        Some((down, why))
    }

    /// Whether the server says where to log in, and names no place.
    pub(super) fn names_no_server(&self) -> bool {
        matches!(self.heard.lock().named_servers, Some((0, _)))
    }

    /// The reason why a search found nothing, where it was cut short.
    pub(super) fn left_out(&self) -> Option<String> {
        let (named, _) = self.heard().named_servers?;
        (named > MOST_SERVERS).then(|| {
            format!("it names {named} authorization servers; mcpproxy tried only the first {MOST_SERVERS}")
        })
    }

    async fn request(&self, mut request: Request<Vec<u8>>) -> io::Result<Response<Vec<u8>>> {
        let is_own = request.uri().authority() == self.server.authority();
        if !is_safe(request.uri()) {
            let why =
                "its address is neither https nor on this machine, so mcpproxy sends nothing there";
            let mut heard = self.heard.lock();
            heard.fault = Some(format!("cannot be used: {why}"));
            heard.down = None;
            return Err(io::Error::other(why));
        }
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.map(HeaderValue::as_bytes).unwrap_or_default();
        let is_form = kind.starts_with(b"application/x-www-form-urlencoded");
        if is_form {
            let body = std::mem::take(request.body_mut());
            *request.body_mut() = self.form(&body).into_bytes();
        }
        let asked = request.uri().to_string();
        let (whose, reach) = if is_own {
            ("it", AddressReach::Anywhere)
        } else {
            ("its authorization server", self.reach)
        };
        let response = self.fetching.fetch(request, reach).await;
        let mut response = response.map_err(|error| {
            let error = error.to_string();
            let mut heard = self.heard.lock();
            heard.fault = Some(format!("cannot be reached: {error}"));
            heard.down = Some(whose.to_owned());
            io::Error::other(error)
        })?;
        self.heard.lock().down = response.status().is_server_error().then(|| {
            let without_query = asked.split('?').next();
            without_query.unwrap_or_default().to_owned()
        });
        self.take_answer(&mut response);
        if METADATA.iter().any(|name| asked.contains(name)) {
            let fault = metadata_fault(&response);
            let mut heard = self.heard.lock();
            heard.metadata_fault = heard.metadata_fault.take().or(fault);
        }
        if is_form {
            self.heard.lock().token_fault = token_fault(&response);
        }
        Ok(response)
    }

    /// Notes what rmcp does not pass on of an answer, and makes of the answer what rmcp can do with: not too many authorization servers,
    /// and a lifetime of a token that is a whole number.
    fn take_answer(&self, response: &mut Response<Vec<u8>>) {
        let status = response.status();
        let mut heard = self.heard.lock();
        heard.is_broken = status.is_server_error();
        heard.fault = (!status.is_success()).then(|| format!("answered HTTP {}", status.as_u16()));
        heard.refusal = None;
        let Ok(Value::Object(mut body)) = serde_json::from_slice(response.body()) else {
            return;
        };
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let error = text("error");
        // A server that is overloaded or broken has refused nothing.
        let is_down = matches!(error, Some("server_error" | "temporarily_unavailable"))
            || matches!(status.as_u16(), 408 | 425 | 429);
        // Some servers refuse with HTTP 200.
        let is_refusal = !status.is_server_error() && !is_down;
        let refusal = error.filter(|code| is_refusal && !code.is_empty());
        heard.refusal = refusal.map(|code| OAuthRefusal {
            code: code.to_owned(),
            description: text("error_description").map(str::to_owned),
        });
        if body.contains_key("client_id") {
            let ends = body.get("client_secret_expires_at");
            heard.secret_ends = ends.and_then(Value::as_u64).filter(|ends| *ends > 0);
        }
        let mut is_changed = false;
        let resource = text("resource").map(str::to_owned);
        if let Some(Value::Array(servers)) = body.get_mut("authorization_servers") {
            let all = servers.len();
            is_changed |= all > MOST_SERVERS;
            servers.truncate(MOST_SERVERS);
            let named: Vec<&str> = servers.iter().filter_map(Value::as_str).collect();
            let before = heard.named_servers.take();
            heard.named_servers = before.max(Some((all, named.join(", "))));
            heard.resource = resource;
        }
        if body.contains_key("access_token")
            && let Some(written) = body.get("expires_in").filter(|value| !value.is_u64())
        {
            match whole_seconds(written) {
                Some(seconds) => body.insert("expires_in".to_owned(), seconds.into()),
                None => body.shift_remove("expires_in"),
            };
            is_changed = true;
        }
        if is_changed && let Ok(body) = serde_json::to_vec(&body) {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            *response.body_mut() = body;
        }
    }

    /// A form with what this server wants besides. A renewal asks for no scopes: it is about those that were granted (RFC 6749, 6),
    /// and some servers refuse one that names others.
    fn form(&self, body: &[u8]) -> String {
        let body = String::from_utf8_lossy(body);
        let mut pairs: Vec<String> = body.split('&').map(str::to_owned).collect();
        let is_renewal = pairs.iter().any(|pair| pair == "grant_type=refresh_token");
        let mut set = |name: &str, value: &str| {
            pairs.retain(|pair| name_of(pair) != name);
            pairs.push(pair(name, value));
        };
        if let Some(resource) = &self.resource {
            set("resource", resource);
        }
        for (name, value) in &self.extra_params {
            set(name, value.reveal());
        }
        if is_renewal {
            pairs.retain(|pair| name_of(pair) != "scope");
        }
        pairs.join("&")
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { Ok(self.request(request.request).await?) })
    }
}

/// What is wrong with an answer that should say where to log in (RFC 8414, 2), if it is one.
fn metadata_fault(response: &Response<Vec<u8>>) -> Option<String> {
    if !response.status().is_success() {
        return None;
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(response.body()) else {
        return Some("sent metadata that is not a JSON object".to_owned());
    };
    let mut needed = ["authorization_endpoint", "token_endpoint"].into_iter();
    let missing = needed.find(|name| !body.get(*name).is_some_and(Value::is_string))?;
    Some(format!("sent metadata without `{missing}`"))
}

/// What is wrong with an answer with which the library can do nothing. Its own words are for programmers.
pub(super) const UNUSABLE: &str = "sent an unusable answer";

/// What is wrong with an answer that should hold tokens (RFC 6749, 5.1).
fn token_fault(response: &Response<Vec<u8>>) -> Option<String> {
    if !response.status().is_success() {
        return None;
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(response.body()) else {
        return Some("sent an answer that is not a JSON object".to_owned());
    };
    if body.contains_key("error") {
        return None;
    }
    let lacks = |name: &str| Some(format!("sent an answer without `{name}`"));
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    match (text("access_token").unwrap_or_default(), text("token_type")) {
        ("", _) => lacks("access_token"),
        (_, None) => lacks("token_type"),
        (_, Some(kind)) if kind.eq_ignore_ascii_case("bearer") => {
            let mut texts = ["refresh_token", "scope"].into_iter();
            let is_other = |value: &Value| !value.is_string() && !value.is_null();
            let wrong = texts.find(|name| body.get(*name).is_some_and(is_other))?;
            Some(format!("sent an answer in which `{wrong}` is not a text"))
        }
        (_, Some(kind)) => Some(format!(
            "issued a token of the type {kind:?}, not \"bearer\""
        )),
    }
}

/// The lifetime of a token as authorization servers write it: some as a text, some as a fraction.
fn whole_seconds(written: &Value) -> Option<u64> {
    let text = match written {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().ok()
}

/// A parameter as it stands in a form.
pub(super) fn pair(name: &str, value: &str) -> String {
    format!("{}={}", encoded(name), encoded(value))
}

fn name_of(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or_default();
    percent_decode_str(name).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn http(extra: &[(&str, &str)], resource: Option<&str>) -> OAuthHttp {
        let extra = extra.iter();
        OAuthHttp {
            fetching: Fetching {
                ca_file: None,
                deadline: DEADLINE,
                largest: LARGEST,
            },
            server: Uri::default(),
            reach: AddressReach::Public,
            extra_params: extra
                .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
                .collect(),
            resource: resource.map(str::to_owned),
            heard: Guarded::default(),
        }
    }

    #[test]
    fn forms_say_what_the_server_wants_besides() {
        let check = |http: &OAuthHttp, form: &str, expected: &str| {
            assert_eq!(http.form(form.as_bytes()), expected);
        };
        let plain = http(&[], None);
        check(
            &plain,
            "grant_type=a&resource=r&scope=x",
            "grant_type=a&resource=r&scope=x",
        );
        check(
            &plain,
            "grant_type=refresh_token&scope=x",
            "grant_type=refresh_token",
        );
        let fixed = http(&[("audience", "a b")], Some("https://h/"));
        check(
            &fixed,
            "grant_type=a&resource=r",
            "grant_type=a&resource=https%3A%2F%2Fh%2F&audience=a%20b",
        );
        check(
            &http(&[("resource", "z")], None),
            "a=b&resource=r",
            "a=b&resource=z",
        );
    }

    #[test]
    fn refusals_are_told_from_faults() {
        let check = |status: u16, body: &str, expected: Option<&str>| {
            let http = http(&[], None);
            let mut response = Response::new(body.as_bytes().to_vec());
            *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
            http.take_answer(&mut response);
            let heard = http.heard();
            assert_eq!(heard.is_broken, status >= 500, "{status}");
            let refusal = heard.refusal;
            let words = refusal.as_ref().map(ToString::to_string);
            assert_eq!(words.as_deref(), expected, "{status} {body}");
            let is_client_unknown = refusal.is_some_and(|refusal| refusal.is_client_unknown());
            assert_eq!(is_client_unknown, expected == Some("invalid_client"));
        };
        check(400, r#"{"error":"invalid_grant"}"#, Some("invalid_grant"));
        check(401, r#"{"error":"invalid_client"}"#, Some("invalid_client"));
        let described = r#"{"error":"bad_refresh_token","error_description":"Too old."}"#;
        check(200, described, Some("\"Too old.\" (bad_refresh_token)"));
        check(429, r#"{"error":"slow_down"}"#, None);
        check(503, r#"{"error":"invalid_grant"}"#, None);
        check(400, r#"{"error":"temporarily_unavailable"}"#, None);
        check(400, "<html>", None);
        check(200, r#"{"access_token":"t"}"#, None);
    }

    #[test]
    fn an_answer_without_a_usable_token_is_told() {
        for (status, body, fault) in [
            (200, r#"{"access_token":"t","token_type":"Bearer"}"#, None),
            (
                200,
                r#"{"token_type":"Bearer"}"#,
                Some("sent an answer without `access_token`"),
            ),
            (
                200,
                "access_token=t&token_type=bearer",
                Some("sent an answer that is not a JSON object"),
            ),
            (
                200,
                r#"{"access_token":"t"}"#,
                Some("sent an answer without `token_type`"),
            ),
            (
                200,
                r#"{"access_token":"t","token_type":"bearer","refresh_token":5}"#,
                Some("sent an answer in which `refresh_token` is not a text"),
            ),
            (
                200,
                r#"{"access_token":"t","token_type":"mac"}"#,
                Some(r#"issued a token of the type "mac", not "bearer""#),
            ),
            (200, r#"{"error":"expired"}"#, None),
            (503, "", None),
        ] {
            let mut response = Response::new(body.as_bytes().to_vec());
            *response.status_mut() = http::StatusCode::from_u16(status).expect("a status");
            assert_eq!(token_fault(&response).as_deref(), fault, "{body}");
        }
    }

    #[test]
    fn answers_are_put_right() {
        let check = |body: Value, expected: Value| {
            let http = http(&[], None);
            let mut response = Response::new(body.to_string().into_bytes());
            http.take_answer(&mut response);
            let read: Value = serde_json::from_slice(response.body()).expect("JSON");
            assert_eq!(read, expected);
            http
        };
        for (written, read) in [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(3600.5), Some(3600)),
            (json!("12.5"), Some(12)),
            (json!(-5), None),
            (json!("soon"), None),
            (json!(1e300), None),
            (json!(null), None),
        ] {
            let mut expected = json!({ "access_token": "t" });
            if let Some(read) = read {
                expected["expires_in"] = json!(read);
            }
            check(
                json!({ "access_token": "t", "expires_in": written }),
                expected,
            );
        }
        let servers = |n: usize| json!({ "authorization_servers": vec!["https://h"; n] });
        let http = check(servers(2_000), servers(5));
        assert!(http.left_out().is_some_and(|body| body.contains("2000")));
        assert!(!http.names_no_server());
        let http = check(servers(0), servers(0));
        assert!(http.names_no_server() && http.left_out().is_none());
        let http = check(json!({ "resource": "r" }), json!({ "resource": "r" }));
        assert!(!http.names_no_server());
    }

    #[tokio::test]
    async fn nothing_is_sent_in_clear_to_another_machine() {
        let http = http(&[], None);
        for url in ["http://example.com/token", "ftp://example.com/"] {
            let request = Request::get(url).body(Vec::new()).expect("a request");
            let error = http.request(request).await.expect_err(url);
            assert!(error.to_string().contains("neither https"), "{error}");
            let fault = http.heard().fault.expect("one");
            assert!(fault.contains("neither https"), "{fault}");
        }
        for url in [
            "https://127.0.0.1:1/x",
            "https://169.254.169.254/",
            "https://[fd00::1]/",
        ] {
            let request = Request::get(url).body(Vec::new()).expect("a request");
            let error = http.request(request).await.expect_err(url);
            assert!(error.to_string().contains("is private"), "{error}");
        }
    }
}
