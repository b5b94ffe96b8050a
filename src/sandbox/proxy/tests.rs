//! The proxy on real sockets of this machine.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A proxy to `hosts`, and a connection to it.
async fn connected(hosts: &[&str]) -> (Proxy, TcpStream) {
    let proxy = start(hosts.iter().map(ToString::to_string).collect()).await.unwrap();
    let client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).await.unwrap();
    (proxy, client)
}

async fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "{}", String::from_utf8_lossy(&text));
    }
    String::from_utf8(text).unwrap()
}

async fn refused(hosts: &[&str], request: &str) -> String {
    let (_proxy, mut client) = connected(hosts).await;
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_tunnel_carries_both_ways_and_passes_the_end_of_each_on() {
    let (listener, address) = server().await;
    let (_proxy, mut client) = connected(&[&address.to_string()]).await;
    client.write_all(format!("CONNECT {address} HTTP/1.1\r\n\r\nearly").as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    assert_eq!(read_until(&mut client, "\r\n\r\n").await, "HTTP/1.1 200 Connection Established\r\n\r\n");
    client.write_all(b" and late").await.unwrap();
    client.shutdown().await.unwrap();
    let mut text = String::new();
    server.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "early and late");
    // The client has said all, and still listens.
    server.write_all(b"answer").await.unwrap();
    drop(server);
    text.clear();
    client.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "answer");
}

#[tokio::test]
async fn a_plain_request_reaches_a_listed_server_of_this_machine() {
    for listed in ["127.0.0.1", "localhost"] {
        let (listener, address) = server().await;
        let (_proxy, mut client) = connected(&[listed]).await;
        let host = format!("{listed}:{}", address.port());
        let request = format!("POST http://{host}/v1/messages HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let seen = read_until(&mut server, "body").await;
        let head =
            format!("POST /v1/messages HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
        assert_eq!(seen, format!("{head}body"));
        server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "HTTP/1.1 204 No Content\r\n\r\n");
    }
}

#[tokio::test]
async fn what_is_not_listed_is_refused_with_its_name_and_the_setting() {
    let answer = refused(&["example.com"], "CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await;
    insta::assert_snapshot!(answer.replace('\r', ""), @r"
    HTTP/1.1 403 Forbidden
    Content-Type: text/plain; charset=utf-8
    Content-Length: 57
    Connection: close

    host `evil.example:443` is not listed in `sandbox.hosts`
    ");
    // The body that comes along does not cost the client the answer.
    let long = "x".repeat(300_000);
    let answer =
        refused(&[], &format!("POST http://127.0.0.1:9/ HTTP/1.1\r\nContent-Length: 300000\r\n\r\n{long}")).await;
    assert!(answer.ends_with("host `127.0.0.1:9` is not listed in `sandbox.hosts`\n"), "{answer}");
}

#[tokio::test]
async fn what_cannot_be_read_or_reached_says_so() {
    let answer = refused(&[], "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("the request could not be read\n"), "{answer}");
    let endless = format!("GET http://a/ HTTP/1.1\r\nX: {}", "x".repeat(HEAD_LIMIT));
    assert!(refused(&[], &endless).await.starts_with("HTTP/1.1 431 "));
    let (listener, address) = server().await;
    drop(listener);
    let answer = refused(&["127.0.0.1"], &format!("CONNECT {address} HTTP/1.1\r\n\r\n")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains(&format!("failed to reach `{address}`")),
        "{answer}"
    );
}

#[tokio::test]
async fn the_end_of_the_proxy_is_the_end_of_what_it_carries() {
    let (listener, address) = server().await;
    let (proxy, mut client) = connected(&["127.0.0.1"]).await;
    client.write_all(format!("CONNECT {address} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    read_until(&mut client, "\r\n\r\n").await;
    let port = proxy.port();
    drop(proxy);
    for stream in [&mut client, &mut server] {
        assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
    }
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_not_waited_for() {
    let (_proxy, mut client) = connected(&[]).await;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn an_entry_that_is_no_host_stops_the_start() {
    assert_eq!(start(vec!["https://example.com".into()]).await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
}
