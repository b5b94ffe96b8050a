//! The envelope of `gh_pr_context`: what a pull request is written from. Pure.

/// More of a list or a template than this is cut.
const SECTION: usize = 32 * 1024;

/// What is known before a pull request is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub base: BaseFound,
    pub branch: String,
    /// Commits of the branch that the base has not; unknown without a base.
    pub ahead: Option<usize>,
    /// Whether `origin` has the branch; unknown when it cannot be asked.
    pub is_pushed: Option<bool>,
    /// Why GitHub cannot be asked, if it cannot.
    pub unavailable: Option<String>,
    pub stat: String,
    pub commits: String,
    pub template: String,
}

/// How the branch was found that the work is to be merged into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BaseFound {
    /// The call names it.
    Explicit(String),
    /// It is what `origin` calls its head.
    OriginHead(String),
    /// It is the first of the usual names that exists.
    Fallback(String),
    #[default]
    Unresolved,
}

impl BaseFound {
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Explicit(name) | Self::OriginHead(name) | Self::Fallback(name) => Some(name),
            Self::Unresolved => None,
        }
    }

    fn resolution(&self) -> String {
        match self {
            Self::Explicit(_) => "explicit".to_owned(),
            Self::OriginHead(_) => "origin-head".to_owned(),
            Self::Fallback(name) => format!("fallback:{name}"),
            Self::Unresolved => "unresolved".to_owned(),
        }
    }
}

impl Context {
    /// The whole text. Without a base there is nothing to compare with, and only the template follows the state.
    pub fn text(&self) -> String {
        let base = self.base.name().unwrap_or_default();
        let ahead = self.ahead.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        let is_pushed = self.is_pushed.map_or("unknown", |is_pushed| if is_pushed { "true" } else { "false" });
        let reason = self.unavailable.as_ref().map(|reason| format!("gh_reason={}\n", one_line(reason)));
        let state = format!(
            "## state\nresolved_base={base}\nbase_resolution={}\ncurrent_branch={}\nbase_equals_current={}\n\
             ahead_count={ahead}\npushed_to_origin={is_pushed}\ngh_available={}\n{}",
            self.base.resolution(),
            self.branch,
            self.base.name() == Some(&self.branch),
            self.unavailable.is_none(),
            reason.unwrap_or_default(),
        );
        let compared = match &self.base {
            BaseFound::Unresolved => String::new(),
            BaseFound::Explicit(_) | BaseFound::OriginHead(_) | BaseFound::Fallback(_) => {
                format!("{}{}", section("diff.stat", &self.stat), section("commits.log", &self.commits))
            }
        };
        format!("{state}{compared}{}", section("pr.template", &self.template))
    }
}

fn section(name: &str, text: &str) -> String {
    let text = text.trim_matches('\n');
    let end =
        text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= SECTION).last().unwrap_or(0);
    match (text.is_empty(), end < text.len()) {
        (true, _) => format!("\n## {name}\n(none)\n"),
        (false, false) => format!("\n## {name}\n{text}\n"),
        (false, true) => format!("\n## {name}\n{}\n…[truncated]\n", &text[..end]),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
