//! The head of a request to a proxy: where it wants to go, and what the server there gets to read. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Headers that are meant for the proxy, or for one connection.
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];
const NAME_LIMIT: usize = 253;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) destination: Destination,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// In lower case, without a dot at the end.
    Name(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Tunnel,
    /// One request; the head that goes to the server.
    Forward(Vec<u8>),
}

/// A head that is no request to a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the head is malformed")]
pub(super) struct Malformed;

/// Where the head ends, behind its empty line.
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads a whole head.
pub(super) fn parse(head: &[u8]) -> Result<Head, Malformed> {
    let text = std::str::from_utf8(head).map_err(|_| Malformed)?;
    let mut lines = text.strip_suffix("\r\n\r\n").ok_or(Malformed)?.split("\r\n");
    let request: Vec<_> = lines.next().ok_or(Malformed)?.split(' ').collect();
    let &[method, target, version @ ("HTTP/1.0" | "HTTP/1.1")] = request.as_slice() else { return Err(Malformed) };
    let headers = lines.map(parse_header).collect::<Result<Vec<_>, _>>()?;
    if !is_token(method) || target.contains(char::is_control) {
        return Err(Malformed);
    }
    if method == "CONNECT" {
        let (host, port) = parse_authority(target).ok_or(Malformed)?;
        return Ok(Head { destination: Destination { host, port: port.ok_or(Malformed)? }, kind: Kind::Tunnel });
    }
    let (scheme, rest) = target.split_at_checked("http://".len()).ok_or(Malformed)?;
    if !scheme.eq_ignore_ascii_case("http://") {
        return Err(Malformed);
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = parse_authority(authority).ok_or(Malformed)?;
    let destination = Destination { host, port: port.unwrap_or(80) };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let forwarded = forwarded(&format!("{method} {path} {version}"), &destination, &headers);
    Ok(Head { destination, kind: Kind::Forward(forwarded) })
}

/// Reads `HOST`, `HOST:PORT` and the same with an address, one of the sixth version in brackets.
pub(super) fn parse_authority(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']')?;
            let host = Host::Address(IpAddr::V6(address.parse::<Ipv6Addr>().ok()?).to_canonical());
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            (parse_host(host)?, port)
        }
    };
    match port.map(parse_port) {
        None => Some((host, None)),
        Some(port) => Some((host, Some(port?))),
    }
}

fn parse_host(text: &str) -> Option<Host> {
    if let Ok(address) = text.parse() {
        return Some(Host::Address(IpAddr::V4(address)));
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = name.len() <= NAME_LIMIT && name.split('.').all(|part| !part.is_empty()) && name.bytes().all(is_fine);
    is_name.then_some(Host::Name(name))
}

fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port != 0)
}

fn parse_header(line: &str) -> Result<(&str, &str), Malformed> {
    let (name, value) = line.split_once(':').ok_or(Malformed)?;
    let is_text = |character: char| character == '\t' || !character.is_control();
    if is_token(name) && value.chars().all(is_text) { Ok((name, value.trim())) } else { Err(Malformed) }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The head as the server reads it: for this host, and for this one request. A second one on the same connection could
/// be for somebody else.
fn forwarded(request: &str, destination: &Destination, headers: &[(&str, &str)]) -> Vec<u8> {
    let named: Vec<_> = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(',').map(str::trim))
        .collect();
    let is_dropped = |name: &str| HOP_BY_HOP.iter().chain(&named).any(|dropped| name.eq_ignore_ascii_case(dropped));
    let authority = destination.to_string();
    let host = authority.strip_suffix(":80").unwrap_or(&authority);
    let mut lines = vec![request.to_owned(), format!("Host: {host}")];
    lines.extend(headers.iter().filter(|(name, _)| !is_dropped(name)).map(|(name, value)| format!("{name}: {value}")));
    lines.push("Connection: close\r\n\r\n".to_owned());
    lines.join("\r\n").into_bytes()
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(address) => write!(f, "{}", std::net::SocketAddr::from((*address, self.port))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(host: &str, port: u16) -> Destination {
        Destination { host: Host::Name(host.into()), port }
    }

    fn address(host: &str, port: u16) -> Destination {
        Destination { host: Host::Address(host.parse().unwrap()), port }
    }

    #[track_caller]
    fn tunnel(head: &str, expected: Option<Destination>) {
        let expected = expected.map(|destination| Head { destination, kind: Kind::Tunnel });
        assert_eq!(parse(head.as_bytes()).ok(), expected, "{head}");
    }

    #[test]
    fn a_tunnel_names_host_and_port() {
        let connect = |target: &str| format!("CONNECT {target} HTTP/1.1\r\nHost: other\r\n\r\n");
        tunnel(&connect("API.Example.com.:443"), Some(name("api.example.com", 443)));
        tunnel(&connect("127.0.0.1:8080"), Some(address("127.0.0.1", 8080)));
        tunnel(&connect("[::1]:8080"), Some(address("::1", 8080)));
        tunnel(&connect("[::ffff:10.0.0.1]:1"), Some(address("10.0.0.1", 1)));
        for bad in [
            "a", "a:", "a:0", "a:65536", "a:+1", "a:1:2", "[::1]", "[::1]1", "[a]:1", "::1:1", "u@a:1", "a..b:1", ":1",
            "é:1",
        ] {
            tunnel(&connect(bad), None);
        }
    }

    #[test]
    fn a_head_that_is_no_request_to_a_proxy_is_refused() {
        for bad in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://u:p@a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n folded: x\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX : y\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX: y\nHost: b\r\n\r\n",
            "GET http://a/\tb HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n",
            "\r\n\r\n",
            "",
        ] {
            assert_eq!(parse(bad.as_bytes()), Err(Malformed), "{bad:?}");
        }
    }

    #[track_caller]
    fn forward(head: &str, to: Destination, expected: &str) {
        let Head { destination, kind } = parse(head.as_bytes()).unwrap();
        let Kind::Forward(head) = kind else { panic!("a tunnel") };
        assert_eq!((destination, String::from_utf8(head).unwrap().as_str()), (to, expected));
    }

    #[test]
    fn a_request_goes_on_for_its_host_alone() {
        forward(
            "POST http://127.0.0.1:81/v1?a=b HTTP/1.1\r\nHost: evil\r\nProxy-Authorization: x\r\nAccept: */*\r\n\
             Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n\r\n",
            address("127.0.0.1", 81),
            "POST /v1?a=b HTTP/1.1\r\nHost: 127.0.0.1:81\r\nAccept: */*\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
        );
        forward(
            "GET HTTP://Example.com?q HTTP/1.0\r\n\r\n",
            name("example.com", 80),
            "GET /?q HTTP/1.0\r\nHost: example.com\r\nConnection: close\r\n\r\n",
        );
    }

    #[test]
    fn the_end_is_behind_the_empty_line() {
        assert_eq!(end(b"a\r\n\r\nb"), Some(5));
        assert_eq!(end(b"a\r\n\r"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_upset_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes).ok();
            end(&bytes);
        }

        #[test]
        fn what_goes_on_is_one_head_for_the_host_that_was_read(
            method in "[A-Z]{1,7}",
            host in "[a-zA-Z0-9.:\\[\\]@_-]{0,20}",
            path in "[ -~]{0,20}",
            headers in proptest::collection::vec("[ -~\r\n]{0,30}", 0..4),
        ) {
            let head = format!("{method} http://{host}{path} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
            if let Ok(Head { destination, kind: Kind::Forward(forwarded) }) = parse(head.as_bytes()) {
                prop_assert_eq!(end(&forwarded), Some(forwarded.len()));
                let text = String::from_utf8(forwarded).unwrap();
                let hosts: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("Host: ")).collect();
                let expected = destination.to_string();
                prop_assert_eq!(hosts, [expected.strip_suffix(":80").unwrap_or(&expected)]);
            }
        }
    }
}
