//! The spellings of an address that lead to the same page, for rules that forbid. A rule that allows means the text that
//! the call gives, and nothing else.

use percent_encoding::percent_decode_str;

/// An address without what a client takes away before it asks: case, userinfo, escapes, dots and the usual port.
struct Address {
    scheme: String,
    host: String,
    /// With its colon, where it is not the usual one.
    port: String,
    page: String,
}

/// Every spelling that a rule may mean: with and without scheme and usual port, and `domain:HOST` for the host and all
/// domains above it. None of a text that is no address.
pub(super) fn spellings(url: &str) -> Vec<String> {
    // A client completes an address without a scheme.
    let is_bare = url.contains('.') && !url.trim().contains(char::is_whitespace);
    let read = Address::read(url).or_else(|| Address::read(&format!("https://{url}")).filter(|_| is_bare));
    let Some(Address { scheme, host, port, page }) = read else { return Vec::new() };
    let usual = usual_port(&scheme).filter(|_| port.is_empty()).into_iter();
    let places: Vec<_> = usual.chain([port.as_str()]).map(|port| format!("{host}{port}{page}")).collect();
    let domains = std::iter::successors(Some(host.as_str()), |host| Some(host.split_once('.')?.1));
    let domains = domains.map(|domain| format!("domain:{domain}"));
    let addresses = places.iter().map(|place| format!("{scheme}://{place}"));
    let bare = page.is_empty().then(|| format!("{scheme}://{host}{port}/"));
    addresses.chain(bare).chain(places.iter().cloned()).chain(domains).collect()
}

/// The host of an address, as it is looked up.
pub(super) fn host(url: &str) -> String {
    Address::read(url).map_or_else(|| url.to_lowercase(), |address| address.host)
}

/// The pattern of a rule in the spelling that addresses are compared in.
pub(super) fn normalize_pattern(pattern: &str) -> String {
    match Address::read(pattern) {
        Some(Address { scheme, host, port, page }) => format!("{scheme}://{host}{port}{page}"),
        None => match pattern.split_once('/') {
            Some((host, page)) => format!("{}/{}", host.to_lowercase(), decode(page)),
            None => pattern.to_lowercase(),
        },
    }
}

impl Address {
    fn read(url: &str) -> Option<Self> {
        let url: String = url.trim().chars().filter(|c| !c.is_control()).map(to_ascii).collect();
        let (scheme, rest) = url.split_once(':')?;
        let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.*?".contains(c));
        // Of a page, any number of slashes is read as two, and no slash as well.
        let is_page = usual_port(&scheme.to_lowercase()).is_some() || rest.starts_with(['/', '\\']);
        let rest = Some(rest).filter(|_| is_scheme && is_page)?.trim_start_matches(['/', '\\']);
        let (authority, page) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
        let place = authority.rsplit('@').next().unwrap_or(authority);
        let is_port = |port: &&str| port.chars().all(|c| c.is_ascii_digit() || c == '*');
        let (host, port) = match place.rsplit_once(':').filter(|(_, port)| is_port(port)) {
            Some((host, port)) => (host, format!(":{}", port.trim_start_matches('0'))),
            None => (place, String::new()),
        };
        let scheme = scheme.to_lowercase();
        let host = decode(host).chars().map(to_ascii).collect::<String>().to_lowercase();
        let is_usual = port == ":" || usual_port(&scheme) == Some(&port);
        Some(Self {
            host: host.trim_end_matches('.').to_owned(),
            port: if is_usual { String::new() } else { port },
            page: normalize_page(page),
            scheme,
        })
    }
}

fn usual_port(scheme: &str) -> Option<&'static str> {
    match scheme {
        "http" => Some(":80"),
        "https" => Some(":443"),
        _ => None,
    }
}

/// What is behind the host, without escapes and without parts that lead nowhere.
fn normalize_page(page: &str) -> String {
    let page = page.split('#').next().unwrap_or_default();
    let (path, query) = page.split_at(page.find('?').unwrap_or(page.len()));
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(['/', '\\']).skip(1).map(decode) {
        match part.as_str() {
            "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let path = parts.iter().map(|part| format!("/{part}")).collect::<String>();
    let path = if path.is_empty() && !page.is_empty() { "/".to_owned() } else { path };
    path + &decode(query)
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Letters of other widths, and other full stops, stand for plain ones in the name of a host.
fn to_ascii(c: char) -> char {
    match c {
        '\u{3002}' | '\u{ff61}' => '.',
        '\u{ff01}'..='\u{ff5e}' => u8::try_from(u32::from(c) - 0xfee0).map_or(c, char::from),
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::super::compact::glob;
    use super::*;

    fn means(pattern: &str, url: &str) -> bool {
        let pattern = normalize_pattern(pattern);
        spellings(url).iter().any(|spelling| glob::matches(&pattern, spelling))
    }

    #[test]
    fn every_spelling_of_an_address_is_the_same_address() {
        let urls = [
            "https://evil.org/private/x",
            "https://EVIL.org/private/x",
            "HTTPS://evil.org/private/x",
            "https://evil.org./private/x",
            "https://evil.org:443/private/x",
            "https://evil.org:0443/private/x",
            "https://evil.org:/private/x",
            "https://me:key@evil.org/private/x",
            "https://docs.rs@evil.org/private/x",
            "https://%65vil.org/private/x",
            "https://ｅvil。org/private/x",
            "https://evil.org/%70rivate/x",
            "https://evil.org/a/../private/x",
            "https://evil.org/a/%2e%2e/private/./x#y",
            "https:\\\\evil.org\\private\\x",
            "https:/evil.org/private/x",
            "https:evil.org/private/x",
            "https:///evil.org/private/x",
            " https://evil.org/pri\tvate/x",
        ];
        let patterns = [
            "https://evil.org/*",
            "https://Evil.ORG/private/*",
            "https://evil.org:443/private/x",
            "*://evil.org/private/*",
            "evil.org/%70rivate/*",
            "*evil.org*",
            "domain:evil.org",
            "domain:*.org",
        ];
        for url in urls {
            for pattern in patterns {
                assert!(means(pattern, url), "{pattern}, {url}");
            }
            assert_eq!(host(url), "evil.org", "{url}");
        }
        for (pattern, url) in [
            ("https://evil.org/*", "https://evil.org"),
            ("https://evil.org", "https://evil.org"),
            ("http://evil.org:8080/*", "http://evil.org:8080/x?y=%41"),
            ("domain:evil.org", "https://www.evil.org/"),
            ("http://[::1]/*", "http://[::1]:80/x"),
            ("domain:evil.org", "evil.org/x"),
            ("https://evil.org/*", "evil.org/x"),
        ] {
            assert!(means(pattern, url), "{pattern}, {url}");
        }
        for (pattern, url) in [
            ("https://evil.org/*", "https://evil.org.docs.rs/"),
            ("https://evil.org/*", "https://evil.org@docs.rs/"),
            ("https://evil.org/*", "http://evil.org/"),
            ("https://evil.org/*", "https://evil.org:8443/"),
            ("domain:evil.org", "https://notevil.org/"),
            ("https://evil.org/*", "how to evil.org"),
        ] {
            assert!(!means(pattern, url), "{pattern}, {url}");
        }
    }
}
