//! Counts of events by stream and minute, cheap if the next event has the stream and minute of the last one. They come in parts,
//! one for each stretch of the journal, so that the ledger can store each part in one transaction.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::Position;

const MINUTE_MS: u64 = 60_000;
/// The most rows of a part.
pub(super) const ROWS_MAX: usize = 5000;

/// The number of events of a stream in one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallied {
    /// The stream's name.
    pub stream: Vec<u8>,
    /// Minutes since 1970.
    pub minute: u64,
    /// How many.
    pub events: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    last: Option<Tallied>,
    others: HashMap<(Vec<u8>, u64), u64>,
    /// The full parts, each with the place after its last event.
    full: VecDeque<(Position, Vec<Tallied>)>,
}

impl Tally {
    /// Counts the event that ends at `end`.
    pub(super) fn add(&mut self, end: Position, stream: &[u8], accepted_ms: u64) {
        let minute = accepted_ms / MINUTE_MS;
        match &mut self.last {
            Some(last) if last.minute == minute && last.stream == stream => last.events += 1,
            _ => {
                let new = Tallied { stream: stream.to_vec(), minute, events: 1 };
                self.put_aside();
                self.last = Some(new);
                if self.others.len() + 1 >= ROWS_MAX {
                    let part = self.take_rows();
                    self.full.push_back((end, part));
                }
            }
        }
    }

    fn put_aside(&mut self) {
        if let Some(Tallied { stream, minute, events }) = self.last.take() {
            *self.others.entry((stream, minute)).or_default() += events;
        }
    }

    /// The oldest part and the place after its last event. For the last part, which is not full, that is `end`.
    pub(super) fn take(&mut self, end: Position) -> (Position, Vec<Tallied>) {
        self.full.pop_front().unwrap_or_else(|| (end, self.take_rows()))
    }

    fn take_rows(&mut self) -> Vec<Tallied> {
        self.put_aside();
        self.others.drain().map(|((stream, minute), events)| Tallied { stream, minute, events }).collect()
    }
}
