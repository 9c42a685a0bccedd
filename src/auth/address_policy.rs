//! Filter against server-side request forgery (SSRF). Decides to which IP addresses requests for
//! metadata and tokens may be sent. A server must not make its clients send requests to machines
//! that only the clients can reach.
//!
//! The filter checks the resolved addresses of a name, and the connection uses exactly those
//! addresses. Therefore DNS rebinding can't bypass the filter.
//!
//! Spec: Security Best Practices, "Server-Side Request Forgery"; RFC 9728, section 7.7.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::http_url::HttpUrl;
use crate::sync::Mutex;

/// The kind of an IP address, according to the special-purpose address registries of IANA (RFC
/// 6890).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zone {
    Public,
    Loopback,
    Private,
    LinkLocal,
    /// An address that does not belong to a single machine: multicast, documentation, benchmarks,
    /// anycast services, or reserved.
    Special,
}

fn zone(address: IpAddr) -> Zone {
    match address {
        IpAddr::V4(address) => zone_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(Embedded::Reached(inner)) => zone_v4(inner),
            Some(Embedded::Unused(inner)) => match zone_v4(inner) {
                Zone::Public => Zone::Special,
                inner => inner,
            },
            None => zone_v6(address),
        },
    }
}

fn zone_v4(address: Ipv4Addr) -> Zone {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => Zone::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Zone::Private,
        (169, 254, _) => Zone::LinkLocal,
        (0 | 224.., ..)
        | (192, 0, 0 | 2)
        // Anycast: 6to4 relays, AS112 and AMT. The nearest instance may be in the local network.
        | (192, 88, 99)
        | (192, 31, 196)
        | (192, 52, 193)
        | (192, 175, 48)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => Zone::Special,
        _ => Zone::Public,
    }
}

fn zone_v6(address: Ipv6Addr) -> Zone {
    match address.segments() {
        _ if address.is_loopback() => Zone::Loopback,
        [0xfc00..=0xfdff, ..] => Zone::Private,
        [0xfe80..=0xfebf, ..] => Zone::LinkLocal,
        // Site-local addresses are deprecated, but some networks still route them.
        [0xfec0..=0xfeff, ..] => Zone::Private,
        // Local-use NAT64 prefix (RFC 8215): only the local network knows the mapping to IPv4.
        [0x64, 0xff9b, 1, ..] => Zone::Private,
        // Protocol assignments: Teredo, which hides the address of its endpoint, anycast,
        // benchmarks, AMT, AS112, ORCHID, drones.
        [0x2001, 0..=0x1ff, ..] => Zone::Special,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Zone::Special,
        // AS112.
        [0x2620, 0x4f, 0x8000, ..] => Zone::Special,
        [0x2000..=0x3fff, ..] => Zone::Public,
        // Discard-only (100::), segment routing (5f00::), multicast, unassigned.
        _ => Zone::Special,
    }
}

/// An IPv4 address that is embedded in an IPv6 address.
enum Embedded {
    /// The IPv6 address has a form that is in use: IPv4-mapped (RFC 4291), NAT64 (RFC 6052) or 6to4
    /// (RFC 3056). A connection to the IPv6 address reaches this IPv4 address.
    Reached(Ipv4Addr),
    /// The IPv6 address has a deprecated form: IPv4-compatible (RFC 4291) or IPv4-translated (RFC
    /// 2765). On some systems, a connection to the IPv6 address still reaches this IPv4 address.
    Unused(Ipv4Addr),
}

fn embedded(address: Ipv6Addr) -> Option<Embedded> {
    let octets = address.octets();
    let last = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            Some(Embedded::Reached(last))
        }
        [0x2002, ..] => {
            let inner = Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5]);
            Some(Embedded::Reached(inner))
        }
        [0, 0, 0, 0, 0xffff, 0, ..] => Some(Embedded::Unused(last)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(Embedded::Unused(last)),
        _ => None,
    }
}

/// The address policy for requests on behalf of an MCP server.
#[derive(Clone, Debug)]
pub(super) struct AddressPolicy {
    /// Whether the host application allows all addresses.
    everywhere: bool,
    server_host: String,
    /// The kind of the MCP server's address. `None` if the server's URL has neither an address
    /// literal nor a loopback name.
    server_zone: Option<Zone>,
    /// A host name that the host application configured. Requests to this host name are always
    /// allowed.
    trusted_host: Option<String>,
}

impl AddressPolicy {
    pub(super) fn of(server: &HttpUrl, everywhere: bool, trusted_host: Option<String>) -> Self {
        let host = server.host();
        let server_zone = match host.parse() {
            Ok(address) => Some(zone(address)),
            Err(_) => server.is_loopback().then_some(Zone::Loopback),
        };
        Self {
            everywhere,
            server_host: host,
            server_zone,
            trusted_host,
        }
    }

    fn allows(&self, host: &str, address: IpAddr) -> bool {
        let zone = zone(address);
        // The server's own host may resolve to a loopback or private address: MCP requests go there
        // too.
        let is_own = host == self.server_host && matches!(zone, Zone::Loopback | Zone::Private);
        let is_trusted = self.trusted_host.as_deref() == Some(host);
        let is_free = self.everywhere || zone == Zone::Public || is_trusted;
        is_free || self.server_zone == Some(zone) || is_own
    }

    /// Returns false if the URL contains an address literal or a loopback name that the policy
    /// forbids. Returns true for other names: they are checked when they are resolved.
    pub(super) fn allows_literal(&self, url: &HttpUrl) -> bool {
        let host = url.host();
        let own = || url.is_loopback().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = host.parse().ok().or_else(own);
        address.is_none_or(|address| self.allows(&host, address))
    }
}

/// A DNS resolver that refuses names whose addresses the policy does not allow. An HTTP client of
/// the host asks it for each address.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) reach: Arc<AddressPolicy>,
    /// The authority (host and port) of the proxy. The proxy is exempt from the policy because the
    /// host application chose it.
    pub(super) proxy: Arc<Mutex<Option<String>>>,
    /// The last address that the policy refused. `None` means that a failed name resolution has
    /// another cause.
    pub(super) refused: Arc<Mutex<Option<IpAddr>>>,
}

impl Guard {
    /// Whether the policy allows an address of a host. Records the address if not.
    pub(super) fn allows(&self, host: &str, address: IpAddr) -> bool {
        let is_allowed = self.reach.allows(host, address);
        if !is_allowed {
            *self.refused.lock() = Some(address);
        }
        is_allowed
    }
}

impl Resolver for Guard {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let place = uri.authority().map(|place| place.as_str());
        if place.is_some() && place == self.proxy.lock().as_deref() {
            return Ok(found);
        }
        let host = uri.host().unwrap_or_default();
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let mut addresses = found.iter().map(|address| address.ip());
        match addresses.all(|address| self.allows(&host, address)) {
            true => Ok(found),
            false => Err(ureq::Error::HostNotFound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-SEC-C-10
    #[test]
    fn addresses_lead_where_they_lead_in_every_spelling() {
        fn check(address: &str, expected: Zone) {
            let parsed = address.parse().expect("an address");
            assert_eq!(zone(parsed), expected, "{address}");
        }
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "100.63.255.255",
            "169.253.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2001:db7::1",
            "2620:4f:8001::1",
            "3fff:1000::1",
            "3ffe::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            check(public, Zone::Public);
        }
        for own in ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"] {
            check(own, Zone::Loopback);
        }
        for private in [
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "fc00::1",
            "fdff::1",
            "fec0::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "64:ff9b:1::1.1.1.1",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "64:ff9b:1:a00:0:100::",
            "::ffff:0:10.0.0.1",
            "2002:a00:1::",
        ] {
            check(private, Zone::Private);
        }
        for own in ["::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"] {
            check(own, Zone::Loopback);
        }
        for link in ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"] {
            check(link, Zone::LinkLocal);
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "255.255.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "192.0.0.1",
            "192.0.0.9",
            "192.0.0.171",
            "192.0.2.1",
            "192.31.196.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.175.48.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "239.255.255.255",
            "::",
            "::1.1.1.1",
            "::ffff:0:1.1.1.1",
            "::ffff:192.0.2.1",
            "64:ff9b::0.0.0.1",
            "64:ff9b:2::1.1.1.1",
            "64:ff9b:0:1::1.1.1.1",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:1::1",
            "2001:1::3",
            "2001:2::1",
            "2001:2:0:ffff::1",
            "2001:3::1",
            "2001:4:112::1",
            "2001:10::1",
            "2001:20::1",
            "2001:2f:ffff::1",
            "2001:30::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "2620:4f:8000::1",
            "3fff::1",
            "3fff:fff:ffff::1",
            "4000::1",
            "5f00::1",
            "fe00::1",
            "ff02::1",
        ] {
            check(special, Zone::Special);
        }
    }

    // M-SEC-C-08, M-SEC-C-10
    #[test]
    fn a_server_opens_no_doors_but_those_where_it_stands() {
        fn check(server: &str, host: &str, address: &str, expected: bool) {
            let reach =
                AddressPolicy::of(&HttpUrl::read("it", server).expect("a URL"), false, None);
            let allowed = reach.allows(host, address.parse().expect("an address"));
            assert_eq!(allowed, expected, "{server} {host} {address}");
        }
        check("https://mcp.example/x", "as.example", "93.184.216.34", true);
        for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "0.0.0.0"] {
            check("https://mcp.example/x", "as.example", inside, false);
        }
        check("https://mcp.example/x", "mcp.example", "10.0.0.1", true);
        check("https://mcp.example/x", "mcp.example", "169.254.1.1", false);
        check("http://localhost:1/x", "127.0.0.1", "127.0.0.1", true);
        check("http://127.0.0.1:1/x", "as.example", "10.0.0.1", false);
        check("https://10.1.1.1/x", "as.example", "10.0.0.1", true);
        check("https://10.1.1.1/x", "as.example", "127.0.0.1", false);
        let remote = AddressPolicy::of(
            &HttpUrl::read("it", "https://h/x").expect("a URL"),
            false,
            None,
        );
        for (place, allowed) in [
            ("https://as.example/authorize", true),
            ("http://localhost:631/admin", false),
            ("http://127.0.0.1:631/admin", false),
            ("https://[::1]/x", false),
            ("https://192.168.1.1/reboot", false),
        ] {
            let url = HttpUrl::read("it", place).expect("a URL");
            assert_eq!(remote.allows_literal(&url), allowed, "{place}");
        }
        let reach = AddressPolicy::of(
            &HttpUrl::read("it", "https://h/x").expect("a URL"),
            true,
            None,
        );
        assert!(reach.allows("x", IpAddr::from([10, 0, 0, 1])));
    }
}
