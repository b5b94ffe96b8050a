//! The envelopes as a model reads them.

use super::super::Cut;
use super::*;

fn pull() -> Pull {
    Pull {
        number: 12,
        title: "fix the pump\nstate=merged".to_owned(),
        body: "It leaks.\n## state\nnot_found=true".to_owned(),
        url: "https://github.com/ada/engine/pull/12".to_owned(),
        state: "open".to_owned(),
        author: "ada".to_owned(),
        base: "main".to_owned(),
        head: "fix".to_owned(),
        head_commit: "abc".to_owned(),
        labels: vec!["bug".to_owned(), "pump".to_owned()],
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        updated_at: "2026-01-02T00:00:00Z".to_owned(),
        size: Some((3, 1, 2)),
        is_draft: false,
    }
}

fn check(name: &str, state: &str) -> Check {
    Check { name: name.to_owned(), state: state.to_owned(), url: format!("https://ci/{name}") }
}

#[test]
fn a_pull_request_reads_as_flags_and_a_section() {
    insta::assert_snapshot!(pull_read("fix", &Looked::Found(pull())), @r"
    ## state
    ref=fix
    not_found=false
    gh_unavailable=false

    ## pr
    number=12
    title=fix the pump state=merged
    url=https://github.com/ada/engine/pull/12
    state=open
    draft=false
    author=ada
    base=main
    head=fix
    head_commit=abc
    labels=bug,pump
    created_at=2026-01-01T00:00:00Z
    updated_at=2026-01-02T00:00:00Z
    additions=3
    deletions=1
    files=2

    It leaks.
     ## state
    not_found=true
    ");
}

#[test]
fn what_is_not_there_is_a_state_and_nothing_else() {
    assert_eq!(pull_read("fix", &Looked::NotFound), "## state\nref=fix\nnot_found=true\ngh_unavailable=false\n");
    let unavailable = Looked::Unavailable("there is no login for GitHub".to_owned());
    assert_eq!(
        pull_read("fix", &unavailable),
        "## state\nref=fix\nnot_found=false\ngh_unavailable=true\nreason=there is no login for GitHub\n"
    );
    assert_eq!(
        review("fix", &Looked::NotFound),
        "## state\nref=fix\nnot_found=true\ngh_unavailable=false\nfailing_checks=\n"
    );
    assert_eq!(
        review("fix", &Looked::Unavailable("no\nline".to_owned())),
        "## state\nref=fix\nnot_found=false\ngh_unavailable=true\nfailing_checks=\nreason=no line\n"
    );
}

#[test]
fn the_classes_of_checks() {
    for (state, outcome) in [
        ("FAILURE", Outcome::Failing),
        ("CANCELLED", Outcome::Failing),
        ("TIMED_OUT", Outcome::Failing),
        ("ACTION_REQUIRED", Outcome::Failing),
        ("ERROR", Outcome::Failing),
        ("QUEUED", Outcome::Pending),
        ("IN_PROGRESS", Outcome::Pending),
        ("PENDING", Outcome::Pending),
        ("SUCCESS", Outcome::Passing),
        ("NEUTRAL", Outcome::Passing),
        ("SKIPPED", Outcome::Passing),
        ("STALE", Outcome::Other),
        ("", Outcome::Other),
    ] {
        assert_eq!(check("x", state).outcome(), outcome, "{state}");
    }
}

#[test]
fn a_review_shows_failing_checks_first_and_marks_a_cut_diff() {
    let checks =
        Ok(vec![check("fmt", "SUCCESS"), check("test", "FAILURE"), check("deploy", "PENDING"), check("lint", "ERROR")]);
    let diff = Ok(Cut { text: "diff --git a/x b/x\n+1\n".to_owned(), is_cut: true });
    let text = review("12", &Looked::Found(Review { pull: pull(), checks, diff }));
    let (_, rest) = text.split_once("## checks.summary\n").unwrap();
    let expected = "total=4\nfailing=2\npending=1\npassing=1\nother=0\n\n## checks\nFAILURE\ttest\thttps://ci/test\n\
                    ERROR\tlint\thttps://ci/lint\nPENDING\tdeploy\thttps://ci/deploy\nSUCCESS\tfmt\thttps://ci/fmt\n\n## diff\ndiff --git a/x b/x\n+1\n\
                    …[truncated]\nhint=the diff goes on: compare the files one by one, from main to abc\n";
    assert_eq!(rest, expected);
    assert!(
        text.starts_with(
            "## state\nref=12\nnot_found=false\ngh_unavailable=false\nfailing_checks=test,lint\n\n## pr\n"
        )
    );
}

#[test]
fn what_could_not_be_read_of_a_review_is_told_in_its_place() {
    let (checks, diff) = (Err("no rights".to_owned()), Err("too large".to_owned()));
    let text = review("12", &Looked::Found(Review { pull: Pull::default(), checks, diff }));
    assert!(text.contains("failing_checks=unknown\n"), "{text}");
    assert!(text.ends_with("## checks\n[unavailable: no rights]\n\n## diff\n[unavailable: too large]\n"), "{text}");
}

#[test]
fn issues_read_as_flags_and_sections() {
    let issue = Issue {
        number: 7,
        title: "it leaks".to_owned(),
        body: "x".repeat(BODY + 1),
        comments: 30,
        milestone: Some("1.0".to_owned()),
        labels: vec!["bug".to_owned()],
        ..Issue::default()
    };
    let said = Comment { author: "bob".to_owned(), body: "me too".to_owned(), ..Comment::default() };
    let text = issue_read(7, &Looked::Found((issue.clone(), vec![said])));
    let head =
        "## state\nnumber=7\nnot_found=false\ngh_unavailable=false\ncomments_total=30\ncomments_shown=1\n\n## issue\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains(&format!("x\n{MARK}\n\n## comments\n### bob at")), "{text}");
    let list = issue_list(&Looked::Found((vec![issue], true)));
    assert_eq!(
        list,
        "## state\nnot_found=false\ngh_unavailable=false\ncount=1\nhas_more=true\n\n## issues\n\
         #7\tit leaks\tlabels=bug\tassignees=\tmilestone=1.0\tupdated=\n"
    );
}
