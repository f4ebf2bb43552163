//! Explains the fields of a resource that an app declares: its version is rendered again, and each
//! node records its origin.

use setpoint_api::answer::Explained;
use setpoint_api::question::ExplainQuestion;
use setpoint_api::{Problem, ProblemKind};
use setpoint_engine::accept::{NotExplained, NotRendered};

use super::answers::Answers;
use super::bootstrap::Bootstrap;
use super::rights::View;
use crate::complaint::told as told_in_full;
use crate::explaining::told;

impl Answers {
    pub(super) async fn explained(&self, question: ExplainQuestion, view: &View) -> Result<Explained, Problem> {
        let app = &question.app;
        let status = self.status(app, view).await?;
        let impossible = |message: String| Problem::new(ProblemKind::Conflict, message);
        if *app == Bootstrap::root() {
            let message =
                format!("{app} declares control documents, which are not rendered: read them in the bootstrap's store");
            return Err(impossible(message));
        }
        let revision = match (&question.rev, &status.facts.accepted) {
            (Some(rev), _) => self.whole_revision(app, rev, &status).await?,
            (None, Some(accepted)) => accepted.revision.clone(),
            (None, None) => {
                let message =
                    format!("no version of {app} was accepted yet: name one with `--rev`, or see `setpoint why {app}`");
                return Err(impossible(message));
            }
        };
        let explanation = self.provider.explain(&revision, question).await.map_err(|error| problem(&error))?;
        Ok(told(explanation, Some(revision), ToOwned::to_owned))
    }
}

fn problem(error: &NotExplained) -> Problem {
    let kind = match error {
        NotExplained::Unexplained(_) => ProblemKind::Missing,
        NotExplained::NotRendered(NotRendered::Refused { .. })
        | NotExplained::Elsewhere { .. }
        | NotExplained::Untraced { .. } => ProblemKind::Conflict,
        NotExplained::NotRendered(
            NotRendered::Failed { .. } | NotRendered::Unavailable { .. } | NotRendered::Stopped,
        ) => ProblemKind::Unavailable,
    };
    Problem::new(kind, told_in_full(error))
}
