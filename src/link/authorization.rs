//! What a connection needs of the login to its server: the header of the next request, and a receiver of challenges for another one.
//! Knows nothing of how a login comes about.

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::text::secret::Secrets;

/// Supplies the `Authorization` of requests to one server. No request to any other server asks it.
pub trait Authorization: Send + Sync {
    /// What the next request bears.
    fn supply(&self) -> LoginHeader;

    /// What must not show in texts, should the server repeat it.
    fn secrets(&self) -> Secrets;

    /// A server took a request that bore this.
    fn accepted(&self, sent: &HeaderValue);

    /// A server refused a request that bore `sent`. What to send it again with, once: a refused request was not processed.
    fn refused(
        &self,
        challenge: Challenge,
        sent: Option<HeaderValue>,
    ) -> BoxFuture<'_, Option<HeaderValue>>;
}

/// The header of a request.
pub enum LoginHeader {
    /// This, or nothing.
    Now(Option<HeaderValue>),
    /// What comes of a renewal that has to be waited for.
    Later(BoxFuture<'static, Option<HeaderValue>>),
}

/// How a server refused a request for want of a login or of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`, joined as RFC 9110, 5.3 allows.
    pub www_authenticate: Option<String>,
}

/// Limit: characters of a challenge that are read.
const LONGEST: usize = 8192;

impl Challenge {
    /// The challenge of a response, if it is one.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return None;
        }
        let values = headers.get_all(header::WWW_AUTHENTICATE).iter();
        let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        let joined = values.join(", ");
        Some(Self {
            status: status.as_u16(),
            www_authenticate: (!joined.is_empty() && joined.len() <= LONGEST).then_some(joined),
        })
    }
}
