//! Which action is meant, and files that are written all or none.

use std::fs;

use super::*;

fn offered(title: &str, kind: Option<&str>, is_preferred: bool) -> Offered {
    Offered {
        title: title.to_owned(),
        kind: kind.map(str::to_owned),
        is_preferred,
        edit: None,
        has_command: false,
        raw: Value::Null,
    }
}

#[test]
fn one_action_is_chosen_or_several_are_listed() {
    let all = || {
        vec![
            offered("Sort", Some("source.organizeImports"), false),
            offered("Fix a", Some("quickfix"), true),
            offered("Fix b", Some("quickfix.more"), false),
            offered("Old", None, false),
        ]
    };
    let wanted = |title: Option<&str>, kind: Option<&str>, choice| Action {
        path: PathBuf::from("a"),
        start: (1, 0),
        end: (1, 0),
        title: title.map(str::to_owned),
        kind: kind.map(str::to_owned),
        choice,
    };
    for (wanted, expected) in [
        (wanted(None, None, Choice::Any), Ok(4)),
        (wanted(Some("Sort"), None, Choice::Any), Ok(1)),
        (wanted(None, Some("source"), Choice::Any), Ok(1)),
        (wanted(None, Some("quickfix"), Choice::Any), Ok(2)),
        (wanted(None, Some("quick"), Choice::Any), Err("no action fits; offered are `Sort`, `Fix a`, `Fix b`, `Old`")),
        (wanted(None, None, Choice::Preferred), Ok(1)),
        (
            wanted(Some("Sort"), Some("quickfix"), Choice::Any),
            Err("no action fits; offered are `Sort`, `Fix a`, `Fix b`, `Old`"),
        ),
    ] {
        let count = choose(all(), &wanted).map(|chosen| match chosen {
            Chosen::One(_) => 1,
            Chosen::Several(actions) => actions.len(),
        });
        assert_eq!(count, expected.map_err(str::to_owned), "{wanted:?}");
    }
    let none = choose(Vec::new(), &wanted(None, None, Choice::Any)).err();
    assert_eq!(none.as_deref(), Some("the language server offers no action for this part of the file"));
}

#[test]
fn where_one_file_fails_no_file_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path();
    fs::write(tree.join("a"), "1").unwrap();
    fs::create_dir(tree.join(".git")).unwrap();
    let root = Root::open(tree, None).unwrap();
    let path = |name: &str| PathBuf::from("/t").join(name);
    let names: BTreeMap<_, _> = ["a", "b", ".git/hooks/x"].map(|name| (path(name), name.to_owned())).into();
    let before = BTreeMap::from([(path("a"), Document { text: "1".to_owned(), version: None })]);
    let write = |after: &[(&str, &str)]| {
        let after = after.iter().map(|(name, text)| (path(name), Some((*text).to_owned()))).collect();
        write(&root, &names, &before, &Applied { after, ..Applied::default() })
    };
    // The directory of git sorts first, so that the others are written after it: `b` comes before by its own name.
    let refused = write(&[("a", "2"), ("b", "3"), (".git/hooks/x", "4")]).unwrap_err();
    assert!(refused.starts_with("nothing was changed"), "{refused}");
    assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "1");
    assert!(!tree.join("b").exists());
    write(&[("a", "2"), ("b", "3")]).unwrap();
    assert_eq!(fs::read_to_string(tree.join("b")).unwrap(), "3");
    // A directory in the way of the second file: the first is put back.
    fs::create_dir(tree.join("d")).unwrap();
    let names: BTreeMap<_, _> = ["a", "d"].map(|name| (path(name), name.to_owned())).into();
    let before = BTreeMap::from([(path("a"), Document { text: "2".to_owned(), version: None })]);
    let after = BTreeMap::from([(path("a"), Some("9".to_owned())), (path("d"), Some("9".to_owned()))]);
    let refused = super::write(&root, &names, &before, &Applied { after, ..Applied::default() }).unwrap_err();
    assert!(refused.starts_with("nothing was changed"), "{refused}");
    assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "2");
}

#[test]
fn a_renamed_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path();
    fs::write(tree.join("a"), "1").unwrap();
    fs::set_permissions(tree.join("a"), fs::Permissions::from_mode(0o750)).unwrap();
    let root = Root::open(tree, None).unwrap();
    let path = |name: &str| PathBuf::from("/t").join(name);
    let names: BTreeMap<_, _> = ["a", "b"].map(|name| (path(name), name.to_owned())).into();
    let before = BTreeMap::from([(path("a"), Document { text: "1".to_owned(), version: None })]);
    let applied = Applied {
        after: BTreeMap::from([(path("a"), None), (path("b"), Some("1".to_owned()))]),
        renamed: vec![(path("a"), path("b"))],
        ..Applied::default()
    };
    write(&root, &names, &before, &applied).unwrap();
    assert!(!tree.join("a").exists());
    assert_eq!(fs::metadata(tree.join("b")).unwrap().permissions().mode() & 0o777, 0o750);
}
