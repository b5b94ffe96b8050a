//! `coppice trust`: what a repository asks for, and the person's consent to exactly that text.

use super::ask;
use super::diff::patch_line;
use super::line::{Line, Tone, one_line};
use super::transcript::short;
use super::{Context, Exit, Failure, Format};
use crate::api::project::{GrantTrust, Place, Trust, TrustState};

/// Shows what this repository's files would run or grant, and asks for your consent.
///
/// Until you agree, those parts do not count; nor do rules in `.coppice/permissions.local.json` that allow something, unless
/// you decided about them with `approve --always`. A change of the text asks again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice trust
  coppice trust --hash $(coppice trust --json | jq -r .hash)")]
pub(super) struct Args {
    /// Agree to the text with this hash without being asked.
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let cwd = context.cwd()?;
    if let Some(hash) = args.hash {
        let trust = client.grant_trust(&GrantTrust { cwd, hash }).await?;
        return tell(&trust, args.format.choice(), context);
    }
    let trust = client.trust(&Place { cwd: cwd.clone() }).await?;
    if args.format.choice() == Format::Json {
        return tell(&trust, Format::Json, context);
    }
    context.output.lines(&lines(&trust))?;
    match (trust.state, trust.hash, ask::is_possible()) {
        (TrustState::NothingToTrust | TrustState::Trusted, _, _) | (_, None, _) => Ok(Exit::Done),
        (TrustState::Untrusted | TrustState::Changed, Some(hash), ask::Possible::No) => {
            context.output.say(
                &Line::toned(Tone::Accent, "hint:").plain(format!(" `coppice trust --hash {hash}` agrees to it")),
            )?;
            Ok(Exit::WaitsForApproval)
        }
        (TrustState::Untrusted | TrustState::Changed, Some(hash), ask::Possible::Yes) => {
            match ask::line(context, Line::new().strong("trust this? [y/N] ")).await?.as_deref() {
                Some("y" | "Y" | "yes") => {
                    tell(&client.grant_trust(&GrantTrust { cwd, hash }).await?, Format::Human, context)
                }
                Some(_) | None => {
                    context.output.say(&Line::new().dim("nothing was trusted"))?;
                    Ok(Exit::Done)
                }
            }
        }
    }
}

fn tell(trust: &Trust, format: Format, context: &mut Context) -> Result<Exit, Failure> {
    match format {
        Format::Json => context.output.json(trust)?,
        Format::Human => context.output.say(&head(trust))?,
    }
    Ok(Exit::Done)
}

fn head(trust: &Trust) -> Line {
    let at = short(&trust.commit);
    match trust.state {
        TrustState::NothingToTrust => {
            let counts = " (committed files of `.coppice` count, and your `permissions.local.json`)";
            Line::new().plain(format!("nothing to trust at {at}")).dim(counts)
        }
        TrustState::Untrusted => Line::toned(Tone::Warn, "not trusted").plain(format!(": what it asks for at {at}")),
        TrustState::Trusted => {
            let hash = trust.hash.as_ref().map(|hash| format!(" (hash {hash})")).unwrap_or_default();
            Line::toned(Tone::Good, "trusted").plain(format!(" at {at}")).dim(hash)
        }
        TrustState::Changed => Line::toned(Tone::Warn, "changed since you trusted it").plain(format!(", at {at}")),
    }
}

fn lines(trust: &Trust) -> Vec<Line> {
    let mut lines = vec![head(trust)];
    match (&trust.difference, &trust.grants) {
        (Some(difference), _) => lines.extend(difference.lines().map(patch_line)),
        (None, Some(grants)) => lines.extend(grants.lines().map(|line| Line::new().plain(format!("  {line}")))),
        (None, None) => {}
    }
    if trust.state == TrustState::Trusted && !trust.branches.is_empty() {
        let branches = trust.branches.join(", ");
        lines.push(
            Line::new().dim(format!("setup commands run outside of the sandbox on {branches}, and inside elsewhere")),
        );
        if let (Some(branch), Some(hash)) = (&trust.addable_branch, &trust.hash) {
            let hint = format!(" `coppice trust --hash {hash}` trusts the branch `{}` too", one_line(branch));
            lines.push(Line::toned(Tone::Accent, "hint:").plain(hint));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_as_a_difference() {
        let trust = |state, grants: Option<&str>, difference: Option<&str>| Trust {
            project: "/src/app/.git".into(),
            state,
            commit: "0123456789abcdef".into(),
            grants: grants.map(str::to_owned),
            difference: difference.map(str::to_owned),
            hash: Some("0a1b".into()),
            branches: vec!["main".into(), "next".into()],
            addable_branch: Some("topic".into()),
        };
        let text = |trust| lines(&trust).iter().map(Line::text).collect::<Vec<_>>().join("\n");
        let grants = Some("[worktree]\nsetup = \"make\"");
        insta::assert_snapshot!(text(trust(TrustState::Untrusted, grants, None)), @r#"
        not trusted: what it asks for at 0123456789
          [worktree]
          setup = "make"
        "#);
        insta::assert_snapshot!(text(trust(TrustState::Changed, grants, Some("-setup = \"true\"\n+setup = \"make\""))), @r#"
        changed since you trusted it, at 0123456789
        -setup = "true"
        +setup = "make"
        "#);
        insta::assert_snapshot!(text(trust(TrustState::Trusted, grants, None)), @r#"
        trusted at 0123456789 (hash 0a1b)
          [worktree]
          setup = "make"
        setup commands run outside of the sandbox on main, next, and inside elsewhere
        hint: `coppice trust --hash 0a1b` trusts the branch `topic` too
        "#);
        insta::assert_snapshot!(text(trust(TrustState::NothingToTrust, None, None)), @"nothing to trust at 0123456789 (committed files of `.coppice` count, and your `permissions.local.json`)");
    }
}
