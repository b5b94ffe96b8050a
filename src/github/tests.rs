//! Requests as they are sent and answers as they are read, against a server on the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use serde_json::json;

use super::*;

/// Answers each connection with the next reply; the requests as they came.
struct Server {
    base: Base,
    asked: JoinHandle<Vec<String>>,
}

impl Server {
    /// `HERE` in a reply stands for the server's own address.
    fn new(replies: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = format!("http://{}", listener.local_addr().unwrap());
        let replies: Vec<_> = replies.iter().map(|reply| reply.replace("HERE", &here)).collect();
        let asked = thread::spawn(move || {
            replies.iter().map(|reply| answer(listener.accept().unwrap().0, reply)).collect::<Vec<_>>()
        });
        Self { base: Base::parse(&here).unwrap(), asked }
    }

    fn client(&self) -> Client {
        Client::new(self.base.clone(), Token::parse("ghp_secret").unwrap())
    }

    fn asked(self) -> Vec<String> {
        self.asked.join().unwrap()
    }
}

/// Reads one request and writes `STATUS|HEADER: VALUE|BODY`.
fn answer(mut stream: TcpStream, reply: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut parts = reply.splitn(3, '|');
    let (status, header, text) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let header = if header.is_empty() { "x-none: 0" } else { header };
    let length = text.len();
    // A client that does not read to the end may be gone.
    write!(stream, "HTTP/1.1 {status} X\r\n{header}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")
        .ok();
    format!("{head}\n{}", String::from_utf8(body).unwrap())
}

fn slug() -> Slug {
    Slug::parse("git@github.com:ada/engine.git").unwrap()
}

fn branch(name: &str) -> Reference {
    Reference::Branch { owner: None, name: name.to_owned() }
}

/// The first line of a request.
fn line(request: &str) -> &str {
    request.lines().next().unwrap()
}

#[test]
fn the_pull_request_of_a_branch_is_one_request() {
    let pulls = json!([
        { "number": 3, "state": "closed", "merged_at": "2026-01-01", "title": "old" },
        { "number": 2, "state": "open", "title": "open", "user": null, "head": { "ref": "fix/it", "sha": "abc" } },
    ]);
    let server = Server::new(&[&format!("200||{pulls}")]);
    let pull = server.client().pull(&slug(), &branch("fix/it")).unwrap();
    assert_eq!((pull.number, pull.author.as_str(), pull.head_commit.as_str()), (2, "ghost", "abc"));
    let asked = server.asked();
    assert_eq!(line(&asked[0]), "GET /repos/ada/engine/pulls?head=ada%3Afix%2Fit&state=all&per_page=30 HTTP/1.1");
    let head = asked[0].to_ascii_lowercase();
    assert!(head.contains("authorization: bearer ghp_secret"), "{head}");
    assert!(head.contains("accept: application/vnd.github+json"), "{head}");
}

#[test]
fn a_branch_without_a_pull_request_is_not_found() {
    let server = Server::new(&["200||[]"]);
    assert!(matches!(server.client().pull(&slug(), &branch("x")), Err(GitHubError::NotFound)));
    server.asked();
}

#[test]
fn what_changes_something_is_sent_once_with_its_body() {
    let server = Server::new(&[
        r#"201||{"number": 5, "html_url": "u"}"#,
        r#"200||{"number": 5}"#,
        r#"201||{"html_url": "c"}"#,
        "307|location: HERE/elsewhere|",
    ]);
    let client = server.client();
    let text = |text: &str| text.to_owned();
    let new = NewPull { base: text("main"), head: text("fix"), title: text("t"), body: text("b"), stage: Stage::Draft };
    assert_eq!(client.create_pull(&slug(), &new).unwrap().url, "u");
    let fields = Fields { title: Some(text("t2")), body: None };
    client.update_pull(&slug(), 5, &fields).unwrap();
    assert_eq!(client.add_comment(&slug(), 5, "hi").unwrap(), "c");
    assert!(matches!(client.create_pull(&slug(), &new), Err(GitHubError::Moved)));
    let asked = server.asked();
    let body = |at: usize| asked[at].rsplit('\n').next().unwrap().parse::<serde_json::Value>().unwrap();
    assert_eq!(line(&asked[0]), "POST /repos/ada/engine/pulls HTTP/1.1");
    assert_eq!(body(0), json!({ "title": "t", "body": "b", "head": "fix", "base": "main", "draft": true }));
    assert_eq!((line(&asked[1]), body(1)), ("PATCH /repos/ada/engine/pulls/5 HTTP/1.1", json!({ "title": "t2" })));
    assert_eq!(line(&asked[2]), "POST /repos/ada/engine/issues/5/comments HTTP/1.1");
}

#[test]
fn pages_are_followed_to_the_end_and_only_below_the_base() {
    let comment = |author: &str| json!([{ "user": { "login": author }, "body": "x" }]);
    let first = format!("200|link: <HERE/repositories/1/comments?page=2>; rel=\"next\"|{}", comment("a"));
    let second = format!("200|link: <https://evil.example/x?page=3>; rel=\"next\"|{}", comment("b"));
    let server = Server::new(&[&first, &second]);
    let found = server.client().comments(&slug(), 7, 150).unwrap();
    assert_eq!(found.iter().map(|comment| comment.author.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let asked = server.asked();
    assert_eq!(line(&asked[0]), "GET /repos/ada/engine/issues/7/comments?per_page=100 HTTP/1.1");
    assert_eq!(line(&asked[1]), "GET /repositories/1/comments?page=2 HTTP/1.1");
}

#[test]
fn a_redirect_is_followed_below_the_base_and_nowhere_else() {
    let server = Server::new(&["301|location: HERE/repositories/1/pulls/2|", r#"200||{"number": 2}"#]);
    assert_eq!(server.client().pull(&slug(), &Reference::Number(2)).unwrap().number, 2);
    assert_eq!(line(&server.asked()[1]), "GET /repositories/1/pulls/2 HTTP/1.1");

    let thief = TcpListener::bind("127.0.0.1:0").unwrap();
    thief.set_nonblocking(true).unwrap();
    let away = format!("302|location: http://{}/x|", thief.local_addr().unwrap());
    let server = Server::new(&[&away]);
    assert!(matches!(server.client().pull(&slug(), &Reference::Number(2)), Err(GitHubError::Moved)));
    server.asked();
    assert!(thief.accept().is_err(), "nobody may ask there");
}

#[test]
fn a_review_has_both_kinds_of_checks_and_a_bounded_diff() {
    let runs = json!({ "check_runs": [{ "name": "test", "status": "completed", "conclusion": "failure" },
        { "name": "lint", "status": "in_progress", "conclusion": null }] });
    let statuses = json!({ "statuses": [{ "context": "ci", "state": "error" }] });
    let server = Server::new(&[
        r#"200||{"number": 2, "head": {"ref": "x", "sha": "abc"}}"#,
        &format!("200||{runs}"),
        &format!("200||{statuses}"),
        &format!("200||{}", "d".repeat(DIFF_LIMIT + 10)),
    ]);
    let review = server.client().review(&slug(), &Reference::Number(2)).unwrap();
    let words: Vec<_> = review.checks.unwrap().iter().map(|check| (check.name.clone(), check.outcome())).collect();
    let expected = [("test", Outcome::Failing), ("lint", Outcome::Pending), ("ci", Outcome::Failing)];
    assert_eq!(words, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    let diff = review.diff.unwrap();
    assert_eq!((diff.text.len(), diff.is_cut), (DIFF_LIMIT, true));
    let asked = server.asked();
    assert!(asked[3].to_ascii_lowercase().contains("accept: application/vnd.github.diff"), "{}", asked[3]);
}

#[test]
fn issues_are_filtered_by_all_and_without_pull_requests() {
    let issues = json!([{ "number": 1 }, { "number": 2, "pull_request": {} }]);
    let server = Server::new(&[r#"200||[{"number": 4, "title": "1.0"}]"#, &format!("200||{issues}")]);
    let text = |text: &str| text.to_owned();
    let labels = vec![text("bug"), text("help wanted")];
    let filter = Filter { labels, assignee: Some(text("ada")), milestone: Some(text("1.0")) };
    let (found, has_more) = server.client().issues(&slug(), &filter).unwrap();
    assert_eq!((found.len(), found[0].number, has_more), (1, 1, false));
    let expected = "GET /repos/ada/engine/issues?state=open&labels=bug%2Chelp%20wanted&assignee=ada&milestone=4&per_page=100 HTTP/1.1";
    assert_eq!(line(&server.asked()[1]), expected);
}

#[test]
fn no_error_holds_the_token() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base = Base::parse(&format!("http://{gone}")).unwrap();
    let client = Client::new(base, Token::parse("ghp_secret").unwrap());
    let server = Server::new(&["401||{}", "200||no json", "422||{\"message\": \"no\"}"]);
    let here = server.client();
    let number = Reference::Number(1);
    let errors = [
        client.pull(&slug(), &number).unwrap_err(),
        here.pull(&slug(), &number).unwrap_err(),
        here.pull(&slug(), &number).unwrap_err(),
        here.pull(&slug(), &number).unwrap_err(),
    ];
    server.asked();
    for error in errors {
        let shown = format!("{error} {error:?} {:?}", error.hint());
        assert!(!shown.contains("ghp_"), "{shown}");
    }
}
