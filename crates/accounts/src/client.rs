//! The client of a sign-in: its address, as limits and lists use it, and its description of itself.

use std::net::{IpAddr, Ipv6Addr};

/// The client of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    address: IpAddr,
    agent: String,
}

/// The most characters of a `User-Agent` header that are stored.
const AGENT_LENGTH: usize = 200;

impl Client {
    /// Builds a client from the address of the connection or of a trusted proxy's header, and from
    /// the `User-Agent` header, of which 200 printable characters are kept.
    pub fn new(address: IpAddr, agent: &str) -> Self {
        let agent = agent.chars().filter(|c| !c.is_control()).take(AGENT_LENGTH).collect();
        // An IPv4 address that is written as an IPv6 one is the same client.
        Self { address: address.to_canonical(), agent }
    }

    pub fn address(&self) -> IpAddr {
        self.address
    }

    pub fn agent(&self) -> &str {
        &self.agent
    }

    pub(crate) fn network(&self) -> Network {
        Network::of(self.address)
    }
}

/// The unit in which addresses are limited: an IPv4 address, or the /64 of an IPv6 address, which
/// one customer has for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// Returns the network of a canonical address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(address) => Self(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
        }
    }

    pub(crate) fn text(self) -> String {
        self.0.to_string()
    }
}
