//! What a call was allowed by, and the way to whoever decides where it turns out to reach more than it named.

use tokio::sync::{mpsc, oneshot};

use crate::permission::Reach;

use super::super::delegate::{News, What};

/// Who allowed a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Allowed {
    /// Nobody looked at it.
    ByRule,
    ByPerson,
}

/// The consent to one call.
pub(in crate::engine) struct Consent {
    pub(in crate::engine) allowed: Allowed,
    pub(in crate::engine) request: String,
    /// The call as a person sees it.
    pub(in crate::engine) title: String,
    pub(in crate::engine) news: mpsc::Sender<News>,
}

/// A call as it turns out to be.
pub(in crate::engine) struct Wider {
    pub(in crate::engine) tool: String,
    pub(in crate::engine) reach: Reach,
    pub(in crate::engine) title: String,
    /// All that it would do.
    pub(in crate::engine) preview: String,
    /// Takes the decision; a refusal is a text for the model.
    pub(in crate::engine) answer: oneshot::Sender<Result<(), String>>,
}

impl Consent {
    /// Has the call decided about as it is, and waits as long as a person needs for that.
    pub(super) async fn widen(&self, tool: &str, reach: Reach, preview: String) -> Result<(), String> {
        let (answer, decided) = oneshot::channel();
        let wider = Wider { tool: tool.to_owned(), reach, title: self.title.clone(), preview, answer };
        let news = News { request: self.request.clone(), what: What::Wider(Box::new(wider)) };
        // A turn that is over has dropped the other end, and nobody decides.
        self.news.send(news).await.ok();
        decided.await.unwrap_or_else(|_| Err("the call was given up".to_owned()))
    }
}
