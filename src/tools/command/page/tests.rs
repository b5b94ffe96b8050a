//! Pages of a server of our own on the loopback, which only these tests may reach.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;

/// Answers each request by its path; ends with the process. Says what was asked.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let line = head(&client);
            let reply = answer(line.split(' ').nth(1).unwrap_or_default());
            log.lock().unwrap().push(line);
            // A client that has read enough is gone already.
            (&client).write_all(&reply).ok();
        }
    });
    (address, asked)
}

fn head(client: &TcpStream) -> String {
    let lines = BufReader::new(client).lines().map_while(Result::ok);
    let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    lines.first().cloned().unwrap_or_default()
}

fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn page(content_type: &str, body: &[u8]) -> Vec<u8> {
    reply("200 OK", &format!("Content-Type: {content_type}\r\n"), body)
}

/// What is fetched where the loopback is the world.
fn here(url: &str, max_bytes: u32) -> Result<Page, PageError> {
    fetch_through(None, url, max_bytes, |address| address.is_loopback())
}

#[test]
fn a_page_is_read_up_to_its_limit() {
    let (address, _) = serve(|path| match path {
        "/long" => page("text/plain", &[b'x'; 5000]),
        "/gone" => reply("404 Not Found", "Content-Type: text/html\r\n", b"no such page"),
        "/cut" => page("text/plain; charset=utf-8", "abü".as_bytes()),
        "/latin" => page("text/html; charset=\"ISO-8859-1\"", b"\xfc"),
        _ => page("application/json", br#"{"a":1}"#),
    });
    let url = |path: &str| format!("http://{address}{path}");
    let found = here(&url("/x"), 100).unwrap();
    let expected = Page {
        status: 200,
        content_type: "application/json".to_owned(),
        url: url("/x"),
        redirect: None,
        text: r#"{"a":1}"#.to_owned(),
        is_cut: false,
    };
    assert_eq!(found, expected);
    let long = here(&url("/long"), 4999).unwrap();
    assert!(long.is_cut && long.text.len() == 4999);
    assert!(!here(&url("/long"), 5000).unwrap().is_cut);
    let gone = here(&url("/gone"), 100).unwrap();
    assert_eq!((gone.status, gone.text.as_str()), (404, "no such page"));
    assert_eq!(here(&url("/cut"), 3).unwrap().text, "ab");
    assert_eq!(here(&url("/latin"), 3).unwrap().text, "ü");
}

#[test]
fn what_is_no_text_is_refused() {
    let (address, _) = serve(|path| match path {
        "/png" => page("image/png", b"\x89PNG"),
        "/lie" => page("text/plain", b"a\0b"),
        "/untold" => reply("200 OK", "", b"\xff\xfe\xfd"),
        "/packed" => reply("200 OK", "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", b"\x1f\x8b"),
        _ => reply("200 OK", "", b"plain"),
    });
    for path in ["/png", "/lie", "/untold", "/packed"] {
        let refused = here(&format!("http://{address}{path}"), 100).unwrap_err();
        assert!(matches!(refused, PageError::Binary { .. }), "{path}: {refused}");
    }
    assert_eq!(here(&format!("http://{address}/"), 100).unwrap().text, "plain");
    let told = here(&format!("http://{address}/png"), 100).unwrap_err().to_string();
    assert_eq!(told, format!("`http://{address}/png` is `image/png`, and only text is read"));
}

#[test]
fn a_redirect_is_followed_on_its_host_and_told_where_it_leads_to_another() {
    let (address, _) = serve(|path| match path {
        "/on" => reply("302 Found", "Location: /here\r\n", b""),
        "/out" => reply("302 Found", "Location: http://127.0.0.2:1/secret\r\n", b"moved"),
        "/file" => reply("302 Found", "Location: file:///etc/passwd\r\n", b""),
        "/round" => reply("302 Found", "Location: /round\r\n", b""),
        _ => page("text/plain", b"arrived"),
    });
    let only_one = |url: &str| fetch_through(None, url, 100, |address| address == IpAddr::from([127, 0, 0, 1]));
    let found = only_one(&format!("http://{address}/on")).unwrap();
    assert_eq!((found.text.as_str(), found.url), ("arrived", format!("http://{address}/here")));
    let out = only_one(&format!("http://{address}/out")).unwrap();
    assert_eq!((out.status, out.redirect.as_deref()), (302, Some("http://127.0.0.2:1/secret")));
    assert_eq!((out.text.as_str(), out.url), ("", format!("http://{address}/out")));
    let refused = only_one("http://127.0.0.2:1/secret").unwrap_err().to_string();
    assert_eq!(refused, "`127.0.0.2` is an address of the own machine or network");
    // What is no address of the web leads nowhere.
    assert_eq!(only_one(&format!("http://{address}/file")).unwrap().status, 302);
    let round = only_one(&format!("http://{address}/round")).unwrap_err();
    assert!(matches!(round, PageError::Redirects { .. }), "{round}");
}

#[test]
fn the_own_machine_is_refused_by_every_name() {
    let (address, asked) = serve(|_| page("text/plain", b"secret"));
    let port = address.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f000001"] {
        let url = format!("http://{host}:{port}/");
        let refused = fetch_through(None, &url, 100, crate::tools::command::address::is_public);
        assert!(refused.is_err(), "{host}: {refused:?}");
    }
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
}

#[test]
fn a_proxy_finds_names_and_is_asked_for_no_address_of_the_own_network() {
    let (address, asked) = serve(|_| b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec());
    let through = |url: &str| {
        let proxy = Proxy::new(&format!("http://{address}")).unwrap();
        fetch_through(Some(proxy), url, 100, crate::tools::command::address::is_public)
    };
    for host in ["127.0.0.1", "10.0.0.1", "[::1]", "localhost", "a.localhost", "localhost.", "2130706433", "0x7f.1"] {
        let refused = through(&format!("https://{host}/")).unwrap_err();
        assert!(matches!(refused, PageError::Inward { .. }), "{host}: {refused}");
    }
    assert!(through("https://a.example/").is_err());
    assert_eq!(*asked.lock().unwrap(), ["CONNECT a.example:443 HTTP/1.1"]);
}

#[test]
fn a_proxy_that_cannot_be_spoken_to_is_none() {
    let found = |variables: &[(&str, &str)]| {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        proxy(|name| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    };
    for socks in ["socks5://127.0.0.1:9", "socks5h://127.0.0.1:9", "socks4://127.0.0.1:9", "socks4a://127.0.0.1:9"] {
        assert!(found(&[("ALL_PROXY", socks)]).is_none(), "{socks}");
        let beside = found(&[("ALL_PROXY", socks), ("HTTPS_PROXY", "http://me:key@127.0.0.1:7")]).unwrap();
        assert_eq!((beside.host(), beside.port(), beside.username()), ("127.0.0.1", 7, Some("me")), "{socks}");
    }
    let excepting =
        found(&[("http_proxy", "http://me:a%40b@p.example:7"), ("no_proxy", "a.example, .b.example")]).unwrap();
    assert_eq!((excepting.host(), excepting.port(), excepting.password()), ("p.example", 7, Some("a@b")));
    for (url, is_direct) in [("http://a.example/", true), ("http://x.b.example/", true), ("http://c.example/", false)] {
        assert_eq!(excepting.is_no_proxy(&url.parse().unwrap()), is_direct, "{url}");
    }
    // Without a proxy each address is looked at.
    let none = found(&[("ALL_PROXY", "socks5://127.0.0.1:9")]);
    let refused = fetch_through(none, "http://localhost:1/", 100, crate::tools::command::address::is_public);
    assert!(matches!(refused, Err(PageError::Inward { .. })), "{refused:?}");
}
