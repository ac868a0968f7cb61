//! Answers that wait until what their requests wrote is settled. What one turn, or several, have gathered is handed to the writer at
//! once; see `put_off`.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::Worker;
use crate::admission::RequestId;
use crate::response::Response;
use crate::store::{Claim, GroupCommits};

/// What was gathered for one owner's batches and not handed over.
pub(super) struct Gathering {
    commits: Arc<GroupCommits>,
    answers: Vec<Waiting>,
}

struct Waiting {
    request: RequestId,
    response: Response,
    claim: Arc<Claim>,
    batch: u64,
}

impl Worker {
    /// Answers when the batch `batch` of `commits` is settled; the handler may end before. When nothing of it was stored under `claim`, the
    /// handler begins anew. False when the request has an answer already, or is finished.
    pub fn respond_when_settled(
        &self,
        commits: &Arc<GroupCommits>,
        claim: &Arc<Claim>,
        batch: u64,
        request: RequestId,
        response: Response,
    ) -> bool {
        let is_kept = self.shared.admission.keep_back(request);
        if is_kept {
            let waiting = Waiting { request, response, claim: Arc::clone(claim), batch };
            self.with_gathering(commits, |gathering| gathering.answers.push(waiting));
        }
        is_kept
    }

    /// Hands over the open batch of `commits` when no request is at hand, soon after this turn.
    pub fn submit_after_turn(&self, commits: &Arc<GroupCommits>) {
        self.with_gathering(commits, |_| ());
    }

    fn with_gathering(&self, commits: &Arc<GroupCommits>, add: impl FnOnce(&mut Gathering)) {
        let mut gatherings = self.gatherings.borrow_mut();
        match gatherings.iter_mut().find(|gathering| Arc::ptr_eq(&gathering.commits, commits)) {
            Some(gathering) => add(gathering),
            None => {
                let mut gathering = Gathering { commits: Arc::clone(commits), answers: Vec::new() };
                add(&mut gathering);
                gatherings.push(gathering);
            }
        }
    }

    /// Hands over what turns have gathered.
    pub(super) fn submit_gathered(&self) {
        if self.gatherings.borrow().is_empty() {
            return;
        }
        for Gathering { commits, answers } in self.gatherings.take() {
            commits.submit();
            let Some(last) = answers.iter().map(|answer| answer.batch).max() else { continue };
            let (told, settled) = oneshot::channel();
            commits.when_settled(last, || {
                let _ = told.send(());
            });
            let shared = Rc::clone(&self.shared);
            self.tasks.spawn_local(async move {
                let is_settled = settled.await.is_ok();
                for Waiting { request, response, claim, batch } in answers {
                    let is_stored = is_settled && claim.failure(batch).is_none();
                    shared.settle(request, is_stored.then_some(response).ok_or(None));
                }
            });
        }
    }
}
