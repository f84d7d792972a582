//! Which mcpproxy sent a request: each daemon has an id of its own, sends it to every server and with it refuses what comes from itself,
//! however the address or the command that led there is spelled. Pure.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Bears the id of the daemon that sends the request, or the mark of a child of it. In the refusal of such a request it says what that is.
pub const INSTANCE: HeaderName = HeaderName::from_static("mcpproxy-instance");

/// What is wrong with a server that turns out to be the daemon which connects to it. Bridges answer with it, and it is known again there.
pub const IS_OURSELVES: &str = "this server is mcpproxy itself";

/// The id of one daemon, from its start to its end. Marks of its children begin with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceId {
    text: String,
    header: HeaderValue,
}

impl InstanceId {
    /// Makes one of a number that nobody else has.
    pub fn new(unique: uuid::Uuid) -> Self {
        let text = unique.simple().to_string();
        let header = HeaderValue::try_from(&text).expect("hexadecimal digits");
        Self { text, header }
    }

    /// The id as it stands in marks.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The id as it stands in headers.
    pub fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// The mark of a child.
    pub fn mark(&self, number: u64) -> String {
        format!("{}-{number}", self.text)
    }

    /// Whether a request comes from this daemon, or from a child of it that knows its mark.
    pub fn sent(&self, headers: &HeaderMap) -> bool {
        let is_ours = |value: &HeaderValue| {
            let rest = value.as_bytes().strip_prefix(self.text.as_bytes());
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'-')))
        };
        headers.get_all(INSTANCE).iter().any(is_ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_knows_its_own_requests_and_those_of_its_children() {
        let (ours, other) = (1, 2);
        let [ours, other] = [ours, other].map(|n| InstanceId::new(uuid::Uuid::from_u128(n)));
        let sent = |values: &[&str]| {
            let values = values.iter().map(|value| HeaderValue::try_from(*value));
            let headers = values.map(|value| (INSTANCE, value.expect("a value")));
            ours.sent(&headers.fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            }))
        };
        assert!(sent(&[ours.as_str()]) && sent(&[&ours.mark(7)]));
        assert!(sent(&[other.as_str(), ours.as_str()]));
        assert!(!sent(&[]) && !sent(&[""]) && !sent(&[&other.mark(0)]));
        assert!(!sent(&[&format!("{}0", ours.as_str())]));
        assert!(!sent(&[ours.as_str().get(1..).unwrap_or_default()]));
    }
}
