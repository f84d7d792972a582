//! The ticket of what was let through, and the message that is made from it. Only [`Gate`](super::Gate) makes tickets, only a
//! ticket makes messages, and an upstream sends nothing else on a caller's behalf.

use crate::{
    access::Caller,
    fingerprint::Fingerprint,
    names::ServerName,
    wire::{Edit, Raw, RpcError, Target, Thing},
};

/// What was let through: who may send what to whom. An upstream sends it only if a tool still is the one that was admitted.
#[derive(Debug, Clone)]
pub struct Admitted {
    caller: Caller,
    server: ServerName,
    target: Target<'static>,
    fingerprint: Option<Fingerprint>,
}

/// A message as it is sent: the admitted method, and params with the admitted name in them.
#[derive(Debug)]
pub struct AdmittedMessage<'a> {
    admitted: &'a Admitted,
    params: Option<Raw>,
}

impl Admitted {
    pub(super) fn new(
        caller: &Caller,
        server: &ServerName,
        target: Target<'_>,
        fingerprint: Option<Fingerprint>,
    ) -> Self {
        Self {
            caller: caller.clone(),
            server: server.clone(),
            target: target.into_owned(),
            fingerprint,
        }
    }

    /// On whose behalf.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The upstream it is for.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// What is wanted, by the upstream's own name.
    pub fn target(&self) -> &Target<'static> {
        &self.target
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.target.method()
    }

    /// The tool it calls, by the upstream's own name.
    pub fn tool(&self) -> Option<&str> {
        match self.target.thing() {
            Thing::Tool(name) => Some(name),
            _ => None,
        }
    }

    /// The definition that was admitted; `None` where changes are allowed.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// The message to send: `params` with the admitted name in place of the client's and with `edits`, everything else as the
    /// client wrote it. `edits` are of other members than that which names the target.
    pub fn message(
        &self,
        params: Option<&Raw>,
        edits: &[(&str, Edit<'_>)],
    ) -> Result<AdmittedMessage<'_>, RpcError> {
        let params = self.target.params(params, edits);
        let params = params.map_err(|_| RpcError::invalid_params("`params` is not an object"))?;
        Ok(AdmittedMessage {
            admitted: self,
            params,
        })
    }
}

impl<'a> AdmittedMessage<'a> {
    /// What lets it through.
    pub fn admitted(&self) -> &'a Admitted {
        self.admitted
    }

    /// The method.
    pub fn method(&self) -> &'a str {
        self.admitted.method()
    }

    /// The params.
    pub fn params(&self) -> Option<&Raw> {
        self.params.as_ref()
    }
}
