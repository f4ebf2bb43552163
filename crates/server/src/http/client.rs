//! The client of a request: its address, also behind trusted proxies.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use setpoint_accounts::Client;

use super::Settings;

/// The address of a connection; the listener adds it to each request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// Returns the client of a request. The header of a proxy is believed only from a trusted address,
/// and read from its end: whatever a client wrote there itself comes first.
pub(super) fn client(headers: &HeaderMap, peer: IpAddr, settings: &Settings) -> Client {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    Client::new(address(headers, peer.to_canonical(), settings), agent)
}

fn address(headers: &HeaderMap, peer: IpAddr, settings: &Settings) -> IpAddr {
    if !settings.trusted_proxies.contains(&peer) {
        return peer;
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<IpAddr> =
        forwarded.flat_map(|value| value.split(',')).map_while(|hop| hop.trim().parse().ok()).collect();
    hops.into_iter().rev().find(|hop| !settings.trusted_proxies.contains(hop)).unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(trusted: &[&str]) -> Settings {
        Settings {
            listen: "127.0.0.1:0".parse().expect("an address"),
            tls: None,
            url: String::new(),
            trusted_proxies: trusted.iter().map(|address| address.parse().expect("an address")).collect(),
            webhooks: Vec::new(),
            open_metrics: false,
        }
    }

    fn from(peer: &str, forwarded: &str, trusted: &[&str]) -> String {
        let headers = [("x-forwarded-for", forwarded)];
        let headers =
            headers.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        let headers: HeaderMap = headers.collect();
        client(&headers, peer.parse().expect("an address"), &settings(trusted)).address().to_string()
    }

    #[test]
    fn the_header_of_a_stranger_is_ignored() {
        assert_eq!(from("192.0.2.1", "10.0.0.1", &[]), "192.0.2.1");
        assert_eq!(from("192.0.2.1", "10.0.0.1", &["192.0.2.9"]), "192.0.2.1");
    }

    #[test]
    fn behind_proxies_the_last_address_that_is_no_proxy_counts() {
        let proxies = ["192.0.2.1", "192.0.2.2"];
        assert_eq!(from("192.0.2.1", "203.0.113.7", &proxies), "203.0.113.7");
        assert_eq!(from("192.0.2.1", "6.6.6.6, 203.0.113.7, 192.0.2.2", &proxies), "203.0.113.7");
        assert_eq!(from("::ffff:192.0.2.1", "203.0.113.7", &proxies), "203.0.113.7");
    }

    #[test]
    fn a_malformed_header_names_no_client() {
        assert_eq!(from("192.0.2.1", "nonsense", &["192.0.2.1"]), "192.0.2.1");
    }
}
