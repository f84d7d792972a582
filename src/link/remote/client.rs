//! HTTP requests to one server: what all of them bear, over which connection they go, and what is done where a login is wanted.

use std::{pin::pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use hyper_util::client::proxy::matcher::Matcher;

use super::{
    AddressReach, Endpoint, EndpointError, HttpRefusal, MessageBody, Posted, ServerBody,
    connection::{Http1Connection, Pool, Unanswered},
    dial::Dialer,
    reply::cause,
    unreached,
};
use crate::{
    link::{Authorization, Challenge, LinkError, LoginHeader},
    text::Secrets,
    wire::MessageFrame,
};

/// Makes a request, and the same once more where that has to be sent again.
pub(crate) trait MakeRequest: Fn() -> Request<MessageBody> + Send + Sync {}

impl<F: Fn() -> Request<MessageBody> + Send + Sync> MakeRequest for F {}

/// The way to a server, with what every request to it bears.
pub(crate) struct HttpClient {
    dialer: Dialer,
    idle: Arc<Pool>,
    headers: HeaderMap,
    /// What must not show in texts, should the server repeat it.
    secrets: Secrets,
    /// Who supplies the `Authorization`, where it is not one of the headers.
    authorization: Option<Arc<dyn Authorization>>,
}

impl HttpClient {
    /// Prepares the way to an endpoint, whose address comes back without user and password.
    pub(crate) fn new(
        endpoint: &Endpoint,
        proxies: &Matcher,
    ) -> Result<(Self, Uri), EndpointError> {
        Self::reaching(endpoint, proxies, AddressReach::Anywhere)
    }

    /// The same where connections must not lead further.
    pub(crate) fn reaching(
        endpoint: &Endpoint,
        proxies: &Matcher,
        reach: AddressReach,
    ) -> Result<(Self, Uri), EndpointError> {
        let (uri, mut headers) = endpoint.parse()?;
        let dialer = Dialer::new(endpoint, &uri, proxies, reach)?;
        if let Some(credentials) = dialer.proxy_credentials(&uri) {
            headers.insert(header::PROXY_AUTHORIZATION, credentials.clone());
        }
        headers.entry(header::HOST).or_insert(host(&uri)?);
        let authorization = endpoint.authorization.clone();
        // What a person configured counts, and is never replaced.
        let authorization = authorization.filter(|_| !headers.contains_key(header::AUTHORIZATION));
        let client = Self {
            dialer,
            idle: Arc::default(),
            headers,
            secrets: endpoint.secrets.clone(),
            authorization,
        };
        Ok((client, uri))
    }

    /// A request with the headers that every request bears.
    pub(crate) fn request(&self, method: Method, uri: &Uri, body: Bytes) -> Request<MessageBody> {
        request(method, uri, self.headers.clone(), body)
    }

    /// The headers of every request that posts a message.
    pub(crate) fn message_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        headers
    }

    /// A request that posts one message.
    pub(crate) fn message(&self, uri: &Uri, message: Bytes) -> Request<MessageBody> {
        request(Method::POST, uri, self.message_headers(), message)
    }

    /// A request for a stream of events.
    pub(crate) fn stream(&self, uri: &Uri) -> Request<MessageBody> {
        let mut request = self.request(Method::GET, uri, Bytes::new());
        request.headers_mut().insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        request
    }

    /// Sends a request. Distinguishes success from refusal.
    pub(crate) async fn submit(&self, make: impl MakeRequest) -> Result<Posted, LinkError> {
        let response = self.send(make).await?;
        if response.status().is_success() {
            return Ok(Posted::Accepted(response));
        }
        // Boxed, because it is large and seldom.
        let secrets = self.secrets();
        let refusal = Box::pin(HttpRefusal::read(response, &secrets));
        Ok(Posted::Refused(refusal.await))
    }

    /// Sends a request, with the login's header. One that the server refuses for want of a login is made and sent once more where that
    /// changes anything.
    pub(crate) async fn send(
        &self,
        make: impl MakeRequest,
    ) -> Result<Response<ServerBody>, LinkError> {
        let sent = match self.authorization.as_ref().map(|login| login.supply()) {
            None => None,
            Some(LoginHeader::Now(header)) => header,
            Some(LoginHeader::Later(header)) => header.await,
        };
        let response = self.send_once(&make, sent.as_ref()).await?;
        let Some(authorization) = self.authorization.as_deref() else {
            return Ok(response);
        };
        let Some(challenge) = Challenge::of(response.status(), response.headers()) else {
            if let Some(sent) = sent.filter(|_| response.status().is_success()) {
                authorization.accepted(&sent);
            }
            return Ok(response);
        };
        // Boxed, because it is large and seldom.
        let again = Box::pin(async {
            match authorization.refused(challenge, sent).await {
                Some(header) => self.send_again(authorization, make, header).await,
                None => Ok(response),
            }
        });
        again.await
    }

    async fn send_again(
        &self,
        authorization: &dyn Authorization,
        make: impl MakeRequest,
        header: HeaderValue,
    ) -> Result<Response<ServerBody>, LinkError> {
        let response = self.send_once(&make, Some(&header)).await?;
        match Challenge::of(response.status(), response.headers()) {
            // Only reported: nothing is sent a third time.
            Some(challenge) => drop(authorization.refused(challenge, Some(header)).await),
            None if response.status().is_success() => authorization.accepted(&header),
            None => (),
        }
        Ok(response)
    }

    /// Sends a request with this login: over a connection that is open, if there is one. Makes it here, because what is handed to a future
    /// is held twice.
    async fn send_once(
        &self,
        make: &impl MakeRequest,
        login: Option<&HeaderValue>,
    ) -> Result<Response<ServerBody>, LinkError> {
        let mut request = make();
        if let Some(login) = login {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, login.clone());
        }
        let address = request.uri().clone();
        loop {
            let idle = self.idle.take();
            let is_new = idle.is_none();
            let mut connection = match idle {
                Some(idle) => idle,
                // Boxed, because it is large and seldom.
                None => Box::pin(self.connect(&address)).await?,
            };
            let sent = pin!(connection.send(request, &address));
            match connection.answer(sent).await {
                Ok(response) => {
                    let body = |body| ServerBody::new(body, connection, self.idle.clone());
                    return Ok(response.map(body));
                }
                Err(Unanswered { unsent, error }) => match unsent {
                    // It was closed this moment: the request is as good as new.
                    Some(unsent) if !is_new => request = unsent,
                    _ => return Err(lost(&error, &address)),
                },
            }
        }
    }

    /// Only a connection that never came about leaves no doubt that the request was not processed.
    async fn connect(&self, address: &Uri) -> Result<Box<Http1Connection>, LinkError> {
        let dialled = self.dialer.dial(address.clone()).await;
        let stream =
            dialled.map_err(|error| unreached::why(&*error, address, self.dialer.goal(address)))?;
        let connection = Http1Connection::over(stream).await;
        let connection = connection.map_err(|error| LinkError::NotDelivered(cause(&error)))?;
        Ok(Box::new(connection))
    }

    /// What must not show in texts, should the server repeat it: the secrets of its entry, and of its login.
    pub(crate) fn secrets(&self) -> Secrets {
        let of_login = self.authorization.as_ref().map(|login| login.secrets());
        Secrets::all([&of_login.unwrap_or_default(), &self.secrets])
    }
}

/// A request with all of its headers.
pub(crate) fn request(
    method: Method,
    uri: &Uri,
    headers: HeaderMap,
    body: impl Into<MessageFrame>,
) -> Request<MessageBody> {
    let mut request = Request::new(MessageBody::from(body.into()));
    *request.method_mut() = method;
    *request.uri_mut() = uri.clone();
    *request.headers_mut() = headers;
    request
}

/// The connection ended before there was a response.
fn lost(error: &hyper::Error, address: &Uri) -> LinkError {
    let is_plain = address.scheme_str() == Some("http");
    if is_plain && error.is_parse() {
        return LinkError::NotHttp;
    }
    LinkError::Lost(cause(error))
}

/// The `Host` of requests to an address.
fn host(address: &Uri) -> Result<HeaderValue, EndpointError> {
    let host = address.host().unwrap_or_default();
    let usual = match address.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let text = match address.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::try_from(text).map_err(|_| EndpointError::Url("no host".to_owned()))
}
