//! Where a page that moved is. Pure.

use ureq::http::Uri;

/// What an answer says about where its page is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// It is the page.
    Nowhere,
    /// On the host that was asked, by a connection that is as safe or safer.
    On(String),
    /// At an address that nobody has judged.
    Elsewhere(String),
}

/// Where an answer to `url` leads.
pub(super) fn of(url: &str, status: u16, location: Option<&str>) -> Leads {
    let moved = matches!(status, 301 | 302 | 303 | 307 | 308);
    let (Ok(base), Some(location)) = (url.parse::<Uri>(), location.filter(|_| moved)) else { return Leads::Nowhere };
    match joined(&base, location) {
        Some(to) if is_same_host(&base, &to) => Leads::On(to.to_string()),
        Some(to) => Leads::Elsewhere(to.to_string()),
        None => Leads::Nowhere,
    }
}

/// An address as it is meant on a page; none that is not one of the web.
fn joined(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default().trim();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    let spelled = match location {
        "" => return None,
        whole if whole.split(['/', '?']).next().is_some_and(|start| start.contains(':')) => whole.to_owned(),
        host if host.starts_with("//") => format!("{scheme}:{host}"),
        path if path.starts_with('/') => format!("{scheme}://{authority}{path}"),
        query if query.starts_with('?') => format!("{scheme}://{authority}{}{query}", base.path()),
        beside => {
            let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
            format!("{scheme}://{authority}{directory}/{beside}")
        }
    };
    let uri: Uri = spelled.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_plain = uri.authority().is_some_and(|named| !named.host().is_empty() && !named.as_str().contains('@'));
    (is_web && is_plain).then_some(uri)
}

fn is_same_host(one: &Uri, other: &Uri) -> bool {
    let usual = |uri: &Uri| if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let port = |uri: &Uri| uri.port_u16().unwrap_or_else(|| usual(uri));
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    let is_safer = (port(one), port(other)) == (80, 443) && other.scheme_str() == Some("https");
    let is_same = port(one) == port(other) && one.scheme_str() == other.scheme_str();
    host(one) == host(other) && (is_same || is_safer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_judged_by_its_host() {
        let on = |url: &str| Leads::On(url.to_owned());
        let elsewhere = |url: &str| Leads::Elsewhere(url.to_owned());
        for (location, expected) in [
            ("/x", on("http://a.example/x")),
            ("y?z=http://b/", on("http://a.example/dir/y?z=http://b/")),
            ("?q", on("http://a.example/dir/page?q")),
            ("http://A.EXAMPLE/x#part", on("http://A.EXAMPLE/x")),
            ("https://a.example/x", on("https://a.example/x")),
            ("http://a.example:80/x", on("http://a.example:80/x")),
            ("//b.example/x", elsewhere("http://b.example/x")),
            ("https://b.example", elsewhere("https://b.example/")),
            ("http://a.example:8080/", elsewhere("http://a.example:8080/")),
            ("http://a.example.evil.example/", elsewhere("http://a.example.evil.example/")),
            ("http://a.example@evil.example/", Leads::Nowhere),
            ("file:///etc/passwd", Leads::Nowhere),
            ("javascript:alert(1)", Leads::Nowhere),
            ("#part", Leads::Nowhere),
            ("", Leads::Nowhere),
        ] {
            assert_eq!(of("http://a.example/dir/page", 302, Some(location)), expected, "{location}");
        }
        assert_eq!(of("https://a.example/", 302, Some("http://a.example/")), elsewhere("http://a.example/"));
        assert_eq!(of("http://a.example/", 200, Some("/x")), Leads::Nowhere);
        assert_eq!(of("http://a.example/", 302, None), Leads::Nowhere);
    }
}
