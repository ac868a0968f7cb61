//! Answers and fibers that wait for the disk of a journal. All of one turn, or of several, share a sync; see `put_off`.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::Worker;
use crate::admission::RequestId;
use crate::response::Response;
use crate::sink_log::SinkLog;

/// What came for one journal since the last sync was asked for.
pub(super) struct Round {
    log: Arc<SinkLog>,
    answers: Vec<(RequestId, Response)>,
}

impl Worker {
    /// Answers when everything is on the disk that `log` has taken so far; the handler may end before. When the disk fails, the handler
    /// begins anew, and meets the failure with its next append. False when the request has an answer already, or is finished.
    pub fn respond_when_synced(&self, log: &Arc<SinkLog>, id: RequestId, response: Response) -> bool {
        let is_kept = self.shared.admission.keep_back(id);
        if is_kept {
            self.with_round(log, |round| round.answers.push((id, response)));
        }
        is_kept
    }

    /// Asks for a sync of `log` when no request is at hand, soon after this turn.
    pub fn sync_after_turn(&self, log: &Arc<SinkLog>) {
        self.with_round(log, |_| ());
    }

    fn with_round(&self, log: &Arc<SinkLog>, add: impl FnOnce(&mut Round)) {
        let mut rounds = self.rounds.borrow_mut();
        match rounds.iter_mut().find(|round| Arc::ptr_eq(&round.log, log)) {
            Some(round) => add(round),
            None => {
                let mut round = Round { log: Arc::clone(log), answers: Vec::new() };
                add(&mut round);
                rounds.push(round);
            }
        }
    }

    /// Asks for the syncs that something waits for.
    pub(super) fn sync_rounds(&self) {
        for Round { log, answers } in self.rounds.take() {
            if answers.is_empty() {
                log.sync();
                continue;
            }
            let (told, synced) = oneshot::channel();
            log.when_synced(log.end(), |result| drop(told.send(result)));
            let shared = Rc::clone(&self.shared);
            self.tasks.spawn_local(async move {
                let is_synced = matches!(synced.await, Ok(Ok(())));
                for (id, response) in answers {
                    shared.settle(id, is_synced.then_some(response).ok_or(None));
                }
            });
        }
    }
}
