//! The progress of a forwarded call, which the upstream sends under mcpproxy's token and the client gets under its own: two clients may
//! use the same. Progress keeps the call of a client alive that requested it, also where it cannot be passed on.

use bytes::Bytes;

use crate::wire::{
    Edit, Id, Notification, Raw, RpcError, meta, method, notification_frame, splice,
};

/// The client's token. It must be found wherever the upstream would find one: a token that passed could be that of another call.
pub(super) fn token_in(params: Option<&Raw>) -> Result<Option<Raw>, RpcError> {
    let Some([found]) = params.map(|params| params.look_up([meta::META])) else {
        return Ok(None);
    };
    if found.times > 1 {
        return Err(RpcError::invalid_params("_meta appears twice"));
    }
    Ok(found.value.and_then(|meta| meta.get(meta::PROGRESS_TOKEN)))
}

/// The client's token and ours.
pub(super) struct ProgressTokens {
    /// Ours is `p` and this number, the call's own.
    number: u64,
    /// The client's, if it wants to hear.
    pub(super) client: Option<Raw>,
}

impl ProgressTokens {
    pub(super) fn new(number: u64, client: Option<Raw>) -> Self {
        Self { number, client }
    }

    /// What a client's token becomes in the params. Those of a client that sent none stay as they are.
    pub(super) fn edit(&self) -> Option<Edit<'static>> {
        let ours = || Edit::Set(Id::ours(self.number).to_raw());
        self.client.is_some().then(ours)
    }

    /// The frame of a notification for the client; `None` for progress that it did not ask for.
    pub(super) fn frame_for_client(&self, notice: &Notification) -> Option<Bytes> {
        if &*notice.method != method::PROGRESS {
            return Some(notification_frame(&notice.method, notice.params.as_ref()));
        }
        let (token, params) = (self.client.as_ref()?, notice.params.as_ref()?);
        let named = params.get(meta::PROGRESS_TOKEN)?.string()?;
        let number = named.strip_prefix('p')?.parse();
        if number != Ok(self.number) {
            return None;
        }
        let params = splice(params, &[(meta::PROGRESS_TOKEN, Edit::Set(token.clone()))]).ok()?;
        Some(notification_frame(method::PROGRESS, Some(&params)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    #[test]
    fn a_token_is_found_where_there_is_one_place_for_it() {
        let check = |params: &str, expected: Result<Option<&str>, i64>| {
            let found = token_in(Some(&raw(params))).map_err(|error| error.code);
            let found = found
                .as_ref()
                .map(|found| found.as_ref().map(Raw::as_str))
                .map_err(|code| *code);
            assert_eq!(found, expected, "{params}");
        };
        check(r#"{"_meta":{"progressToken":7}}"#, Ok(Some("7")));
        check(r#"{"_meta":{}}"#, Ok(None));
        check("{}", Ok(None));
        check("[]", Ok(None));
        let twice = r#"{"_meta":{},"_meta":{"progressToken":7}}"#;
        check(twice, Err(RpcError::INVALID_PARAMS));
    }

    #[test]
    fn progress_comes_under_the_clients_token() {
        let check = |client: Option<&str>, params: &str, expected: Option<&str>| {
            let tokens = ProgressTokens::new(3, client.map(raw));
            let notice = Notification {
                method: method::PROGRESS.into(),
                params: Some(raw(params)),
            };
            let frame = tokens.frame_for_client(&notice);
            let expected =
                expected.map(|params| notification_frame(method::PROGRESS, Some(&raw(params))));
            assert_eq!(frame, expected, "{params}");
        };
        let ours = r#"{ "progressToken":"p3", "progress":1.10}"#;
        check(
            Some("7"),
            ours,
            Some(r#"{ "progressToken":7, "progress":1.10}"#),
        );
        check(None, ours, None);
        check(Some("7"), r#"{"progressToken":"p4","progress":1}"#, None);
        check(Some("7"), r#"{"progress":1}"#, None);
    }
}
