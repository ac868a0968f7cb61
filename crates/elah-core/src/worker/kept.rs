//! Requests whose answers are kept back: they come when something else is done, and the handler may end before.

use super::Worker;
use crate::admission::{Reason, RequestId};
use crate::response::Response;
use crate::shared::Shared;

impl Worker {
    /// Keeps the answer of a request back until `settle`; the handler may end before. False when the request has an answer already, or is
    /// finished.
    pub fn keep_back(&self, id: RequestId) -> bool {
        self.shared.admission.keep_back(id)
    }

    /// Gives an answer that was kept back, or has the handler begin anew when there is none.
    pub fn settle(&self, id: RequestId, answer: Result<Response, Reason>) {
        self.shared.settle(id, answer);
    }

    /// Why the handler of a request from `next_request` begins anew, told once; `None` when it does not.
    pub fn take_reason(&self, id: RequestId) -> Option<Reason> {
        self.shared.admission.take_reason(id)
    }
}

impl Shared {
    pub(super) fn settle(&self, id: RequestId, answer: Result<Response, Reason>) {
        let Some(exchange) = self.admission.get(id) else { return };
        let has_ended = self.admission.let_go(id);
        match answer {
            Ok(response) => {
                exchange.answer(response);
            }
            Err(reason) if has_ended && exchange.reply.is_waiting() => {
                self.admission.run_again(id, reason);
                self.local_waker.wake_turn();
                return;
            }
            Err(_) => {}
        }
        if has_ended {
            self.admission.finish(id, &self.limits, self.clock.now_ms());
            if self.is_draining() || self.admission.has_ready() {
                self.local_waker.wake_turn();
            }
        }
    }
}
