//! One HTTP request beside every connection, to an address that a stranger may have named: bounded in time and size, and only to where
//! it may go. Redirects are not followed.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use hyper_util::client::proxy::matcher::Matcher;

use super::{
    LinkError,
    remote::{AddressReach, Endpoint, HttpClient, is_event_stream},
};

/// How such requests are made.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// Certificates to trust besides those of the system, as PEM.
    pub ca_file: Option<PathBuf>,
    /// How long one may take, answer and all.
    pub deadline: Duration,
    /// Limit: bytes of an answer.
    pub largest: usize,
}

impl Fetching {
    /// Sends a request to its address if that is within reach, and reads the whole answer. The body of an event stream is left
    /// unread: it has no end.
    pub async fn fetch(
        &self,
        request: Request<Vec<u8>>,
        reach: AddressReach,
    ) -> Result<Response<Vec<u8>>, LinkError> {
        let fetching = Box::pin(self.fetch_within(request, reach));
        match tokio::time::timeout(self.deadline, fetching).await {
            Ok(fetched) => fetched,
            Err(_) => Err(LinkError::NotDelivered(format!(
                "no answer within {} s",
                self.deadline.as_secs()
            ))),
        }
    }

    async fn fetch_within(
        &self,
        request: Request<Vec<u8>>,
        reach: AddressReach,
    ) -> Result<Response<Vec<u8>>, LinkError> {
        let endpoint = Endpoint {
            url: request.uri().to_string(),
            ca_file: self.ca_file.clone(),
            ..Endpoint::default()
        };
        let (client, uri) = HttpClient::reaching(&endpoint, &Matcher::from_env(), reach)
            .map_err(|error| LinkError::NotDelivered(error.to_string()))?;
        let (head, body) = request.into_parts();
        let mut sent = client.request(head.method, &uri, Bytes::from(body));
        replace(sent.headers_mut(), &head.headers);
        let (head, body) = client.send(|| sent.clone()).await?.into_parts();
        if is_event_stream(&head.headers) {
            return Ok(Response::from_parts(head, Vec::new()));
        }
        let read = Limited::new(body, self.largest).collect().await;
        let body = read.map_err(|_| {
            LinkError::Broken(format!(
                "its answer ended early or has more than {} bytes",
                self.largest
            ))
        })?;
        Ok(Response::from_parts(head, body.to_bytes().into()))
    }
}

fn replace(headers: &mut HeaderMap, with: &HeaderMap) {
    for (name, value) in with {
        if name != header::HOST {
            headers.insert(name, value.clone());
        }
    }
}
