//! Where a request may go. The address of a server is a person's word; addresses that a server names are not, and must not lead into
//! networks that only this machine can see.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
    vec,
};

use futures_util::future::{BoxFuture, FutureExt};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// Where a connection may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressReach {
    /// Addresses of the internet.
    Public,
    /// Those of private networks, too.
    Private,
    /// Those and this machine.
    Loopback,
    /// Anywhere.
    Anywhere,
}

impl AddressReach {
    /// What reaches an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                Some(inner) => of_v4(inner),
                None => of_v6(address),
            },
        }
    }

    /// What reaches the host of an address of the web: one written as a number, or every number that its name stands for.
    pub async fn of_host(host: &str) -> Self {
        if let Some(address) = literal(host) {
            return Self::of(address);
        }
        let found = tokio::net::lookup_host((host, 0)).await;
        let found = found.into_iter().flatten();
        let all = found.map(|address| Self::of(address.ip()));
        // What is not known is on the internet.
        all.max().unwrap_or(Self::Public)
    }

    /// Whether it reaches a host that is written as a number; of a name, resolving it says so.
    pub(super) fn may_reach(self, host: &str) -> bool {
        literal(host).is_none_or(|address| Self::of(address) <= self)
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

fn of_v4(address: Ipv4Addr) -> AddressReach {
    let octets = address.octets();
    let is_shared = octets[0] == 100 && (64..=127).contains(&octets[1]);
    if address.is_loopback() {
        AddressReach::Loopback
    } else if address.is_private() || is_shared {
        AddressReach::Private
    } else if address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || octets[0] == 0
        || octets[0] >= 240
        || (octets[0] == 198 && matches!(octets[1], 18 | 19))
        || octets[..3] == [192, 0, 0]
    {
        // Cloud machines learn their credentials from link-local addresses.
        AddressReach::Anywhere
    } else {
        AddressReach::Public
    }
}

fn of_v6(address: Ipv6Addr) -> AddressReach {
    let segments = address.segments();
    if address.is_loopback() {
        AddressReach::Loopback
    } else if address.is_unicast_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || segments[..2] == [0x2001, 0]
        || segments[..3] == [0x64, 0xff9b, 1]
    {
        AddressReach::Anywhere
    } else if address.is_unique_local() {
        AddressReach::Private
    } else {
        AddressReach::Public
    }
}

/// The IPv4 address inside a mapped, compatible, translated (NAT64) or 6to4 one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let last = pair(segments[6], segments[7]);
    match segments[..6] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(last),
        [0, 0, 0, 0, 0, 0] if !address.is_loopback() && !address.is_unspecified() => Some(last),
        [0x2002, high, low, ..] => Some(pair(high, low)),
        _ => None,
    }
}

/// Resolves names, and leaves out the addresses that are out of reach.
#[derive(Clone)]
pub(super) struct Resolver {
    system: GaiResolver,
    reach: AddressReach,
}

impl Resolver {
    pub(super) fn new(reach: AddressReach) -> Self {
        Self {
            system: GaiResolver::new(),
            reach,
        }
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (resolving, reach) = (self.system.call(name), self.reach);
        async move {
            let unknown = |_| io::Error::from(io::ErrorKind::NotFound);
            let found: Vec<SocketAddr> = resolving.await.map_err(unknown)?.collect();
            let n_found = found.len();
            let within = found.into_iter();
            let within = within.filter(|address| AddressReach::of(address.ip()) <= reach);
            let within: Vec<SocketAddr> = within.collect();
            if within.is_empty() && n_found > 0 {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    OUT_OF_REACH,
                ));
            }
            Ok(within.into_iter())
        }
        .boxed()
    }
}

/// The reason for refusing an address that must not be reached.
pub(super) const OUT_OF_REACH: &str =
    "its address is private, and only servers with private addresses may name such addresses";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let check = |address: &str, expected: AddressReach| {
            let address = address.parse().expect("an address");
            assert_eq!(AddressReach::of(address), expected, "{address}");
        };
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            check(public, AddressReach::Public);
        }
        for private in [
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "100.64.0.1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "2002:a00:1::",
        ] {
            check(private, AddressReach::Private);
        }
        for loopback in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            check(loopback, AddressReach::Loopback);
        }
        for never in [
            "169.254.169.254",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "fe80::1",
            "::",
            "ff02::1",
            "::ffff:169.254.169.254",
        ] {
            check(never, AddressReach::Anywhere);
        }
        assert!(
            !AddressReach::Private.may_reach("[::1]") && AddressReach::Loopback.may_reach("[::1]")
        );
        assert!(
            !AddressReach::Loopback.may_reach("169.254.169.254")
                && AddressReach::Public.may_reach("example.com")
        );
    }
}
