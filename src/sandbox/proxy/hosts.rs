//! The hosts that a proxy may reach, and the addresses that each may have. Pure.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::head::{Destination, Host, parse_authority};

/// What may be reached.
#[derive(Debug)]
pub(super) struct Allowed(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug)]
enum Pattern {
    Host(Host),
    /// All names that end with this, a dot first.
    Below(String),
}

/// The addresses that a listed host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The address itself is listed.
    Any,
    /// This machine.
    Loopback,
    /// The world: a name must not lead into the network of the user, whoever owns it.
    Public,
}

impl Allowed {
    pub(super) fn parse(hosts: &[String]) -> io::Result<Self> {
        let unknown = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("`{text}` is no host"));
        hosts.iter().map(|text| parse_entry(text).ok_or_else(|| unknown(text))).collect::<Result<_, _>>().map(Self)
    }

    /// The addresses that a destination may have; `None` when it is not listed.
    pub(super) fn reach(&self, destination: &Destination) -> Option<Reach> {
        let is_listed = |entry: &&Entry| {
            entry.port.is_none_or(|port| port == destination.port) && entry.pattern.covers(&destination.host)
        };
        self.0.iter().find(is_listed).map(|_| match &destination.host {
            Host::Address(_) => Reach::Any,
            Host::Name(name) if name == "localhost" => Reach::Loopback,
            Host::Name(_) => Reach::Public,
        })
    }
}

impl Pattern {
    fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Host(listed), host) => listed == host,
            (Self::Below(end), Host::Name(name)) => name.ends_with(end.as_str()),
            (Self::Below(_), Host::Address(_)) => false,
        }
    }
}

impl Reach {
    pub(super) fn permits(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback => address.to_canonical().is_loopback(),
            Self::Public => is_public(address),
        }
    }
}

fn parse_entry(text: &str) -> Option<Entry> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(Entry { pattern: Pattern::Host(Host::Address(address.to_canonical())), port: None });
    }
    match text.strip_prefix("*.") {
        None => parse_authority(text).map(|(host, port)| Entry { pattern: Pattern::Host(host), port }),
        Some(rest) => match parse_authority(rest)? {
            (Host::Name(name), port) => Some(Entry { pattern: Pattern::Below(format!(".{name}")), port }),
            (Host::Address(_), _) => None,
        },
    }
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    let is_shared = a == 100 && b & 0xc0 == 64;
    let is_for_tests = a == 198 && b & 0xfe == 18;
    let is_own = address.is_private() || address.is_loopback() || address.is_link_local();
    // 0.x is this host, and from 224 on there are groups and what is reserved.
    !(is_own || is_shared || is_for_tests || a == 0 || a >= 224)
}

/// What is handed out to the world is `2000::/3`; parts of it and of others stand for addresses of the fourth version.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, .., y, z] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match a {
        0x64 => b == 0xff9b && v4(y, z),
        0x2002 => v4(b, c),
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listed: &[&str], asked: &str, expected: Option<Reach>) {
        let listed: Vec<_> = listed.iter().map(ToString::to_string).collect();
        let (host, port) = parse_authority(asked).unwrap();
        let destination = Destination { host, port: port.unwrap() };
        assert_eq!(Allowed::parse(&listed).unwrap().reach(&destination), expected, "{asked} of {listed:?}");
    }

    #[test]
    fn only_what_is_listed_is_reached() {
        check(&["Example.com"], "example.COM:443", Some(Reach::Public));
        check(&["example.com"], "www.example.com:443", None);
        check(&["example.com"], "notexample.com:443", None);
        check(&["*.example.com"], "a.b.example.com:443", Some(Reach::Public));
        check(&["*.example.com"], "example.com:443", None);
        check(&["*.example.com"], "badexample.com:443", None);
        check(&["example.com:443"], "example.com:443", Some(Reach::Public));
        check(&["example.com:443"], "example.com:80", None);
        check(&["*.example.com:80", "a.example.com"], "a.example.com:443", Some(Reach::Public));
        check(&["localhost"], "localhost:80", Some(Reach::Loopback));
        check(&["127.0.0.1:80"], "127.0.0.1:80", Some(Reach::Any));
        check(&["127.0.0.1:80"], "127.0.0.1:81", None);
        check(&["127.0.0.1:80"], "localhost:80", None);
        check(&["::1"], "[::1]:80", Some(Reach::Any));
        check(&["[::1]:80"], "[::1]:80", Some(Reach::Any));
        check(&["10.0.0.1"], "[::ffff:10.0.0.1]:80", Some(Reach::Any));
        check(&["*.0.0.1.example"], "10.0.0.1:80", None);
        check(&[], "example.com:443", None);
    }

    #[test]
    fn an_entry_that_is_no_host_is_an_error() {
        for bad in ["", "*", "*.", "https://a.com", "a.com/x", "a b", "*.10.0.0.1", "a.com:0", "a.*.com", "**.a.com"] {
            let error = Allowed::parse(&[bad.to_owned()]).unwrap_err();
            assert_eq!(error.to_string(), format!("`{bad}` is no host"));
        }
    }

    #[test]
    fn a_name_leads_to_the_world_and_nowhere_else() {
        for own in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
        ] {
            assert!(!Reach::Public.permits(own.parse().unwrap()), "{own}");
        }
        for public in ["1.1.1.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"] {
            assert!(Reach::Public.permits(public.parse().unwrap()), "{public}");
            assert!(!Reach::Loopback.permits(public.parse().unwrap()), "{public}");
        }
        assert!(
            Reach::Loopback.permits("127.0.0.2".parse().unwrap()) && Reach::Loopback.permits("::1".parse().unwrap())
        );
    }
}
