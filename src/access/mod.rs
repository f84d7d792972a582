//! Who a request comes from: the only maker of [`Caller`]. Says nothing about what a caller may have, which is the gate's business.

mod caller;

use std::net::SocketAddr;

use http::HeaderMap;

pub use self::caller::Caller;

/// Tells who asks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Access {
    anonymous: Caller,
    operator: Caller,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A TCP connection from this address.
    Network(SocketAddr),
    /// A connection on the socket in the data folder, which only the folder's owner can open.
    LocalSocket,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It came by a way that is not the operator's.
    #[error("only the operator of this machine may use this API")]
    NotTheOperator,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            anonymous: Caller::of("anonymous"),
            operator: Caller::of("operator"),
        }
    }
}

impl Access {
    /// The caller behind the request of an MCP client. Clients come over the local socket too, through bridges, and are no operators
    /// for that.
    pub fn authenticate(&self, _headers: &HeaderMap, _peer: Peer) -> Result<Caller, Refused> {
        Ok(self.anonymous.clone())
    }

    /// The caller behind a request to the operator's API.
    pub fn authenticate_operator(&self, peer: Peer) -> Result<Caller, Refused> {
        match peer {
            Peer::LocalSocket => Ok(self.operator.clone()),
            Peer::Network(_) => Err(Refused::NotTheOperator),
        }
    }

    /// The client at the other end of our standard streams: the program that started us.
    pub fn standard_streams(&self) -> Caller {
        self.anonymous.clone()
    }

    /// The person at the terminal, for what the command line does without a daemon.
    pub fn terminal(&self) -> Caller {
        self.operator.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_in_tells_the_operator_from_clients() {
        let access = Access::default();
        let network = Peer::Network(([127, 0, 0, 1], 1).into());
        let clients = [network, Peer::LocalSocket].map(|peer| {
            let caller = access.authenticate(&HeaderMap::new(), peer);
            caller.expect("everybody is let in")
        });
        assert_eq!(clients[0], clients[1]);
        assert_eq!(clients[0], access.standard_streams());
        let operator = access.authenticate_operator(Peer::LocalSocket);
        let operator = operator.expect("the socket is the operator's");
        assert_eq!(operator, access.terminal());
        assert!(!operator.is_same_subject(&clients[0]));
        assert_eq!(
            access.authenticate_operator(network),
            Err(Refused::NotTheOperator)
        );
    }
}
