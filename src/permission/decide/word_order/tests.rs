//! Rows of patterns, and of commands that they mean in another order of words.

use super::*;

fn check(expected: bool, rows: &[(&str, &[&str])]) {
    for (pattern, texts) in rows {
        for text in *texts {
            let words: Vec<_> = text.split(' ').collect();
            assert_eq!(means(pattern, &words), expected, "{pattern}: {text}");
        }
    }
}

#[test]
fn options_count_wherever_they_stand() {
    check(
        true,
        &[
            (
                "git push --force*",
                &["git push origin main --force", "git push -f", "git push -uf x", "git push --forc x"],
            ),
            ("git push -f*", &["git push origin --force", "git push --tags -f"]),
            ("git reset --hard*", &["git reset -q --hard", "git reset HEAD~1 --hard"]),
            ("git commit --amend*", &["git commit -a --amend", "git commit -m x --amend"]),
            ("git branch -D *", &["git branch -D x", "git branch -q -D x", "git branch --delete --force x"]),
            (
                "sed -i*",
                &["sed -Ei s/a/b/ f", "sed s/a/b/ -i f", "sed --in-place s/a/b/ f", "sed --in-pl x f", "sed --i=x p f"],
            ),
            ("rm -rf *", &["rm -r -f x", "rm x -fr"]),
            ("docker compose down*", &["docker compose -f x down", "docker --context c compose down -v"]),
            ("gh pr merge*", &["gh pr -R x merge 1"]),
            (
                "npm publish*",
                &["npm -s publish", "npm --registry x -s publish --tag y", "npm --loglevel silent publish"],
            ),
            ("cargo publish *", &["cargo +nightly -q publish", "cargo --color never publish x"]),
            ("aws s3 rm*", &["aws s3 --profile p rm x", "aws --profile p s3 rm x"]),
        ],
    );
    check(
        false,
        &[
            ("git push --force*", &["git push origin main", "git stash push --force", "git push --follow-tags"]),
            ("git reset --hard*", &["git reset --soft", "git log --hard"]),
            ("git branch -D *", &["git branch -d x", "git branch x"]),
            ("sed -i*", &["sed -n 1p f", "sed --null-data p f", "grep -i x"]),
            ("find * -delete*", &["find . -depth -ls"]),
            ("docker compose down*", &["docker compose logs down", "docker compose up"]),
            ("npm run build", &["npm run build x"]),
            ("rm *", &["rm x"]),
            ("npm publish*", &["npm run publish"]),
        ],
    );
}
