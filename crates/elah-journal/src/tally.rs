//! Counts of events by stream and minute, cheap if the next event has the stream and minute of the last one.

use hashbrown::HashMap;

const MINUTE_MS: u64 = 60_000;

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
}

impl Tally {
    pub(super) fn add(&mut self, stream: &[u8], accepted_ms: u64) {
        let minute = accepted_ms / MINUTE_MS;
        match &mut self.last {
            Some(last) if last.minute == minute && last.stream == stream => last.events += 1,
            _ => {
                let new = Tallied { stream: stream.to_vec(), minute, events: 1 };
                self.put_aside();
                self.last = Some(new);
            }
        }
    }

    fn put_aside(&mut self) {
        if let Some(Tallied { stream, minute, events }) = self.last.take() {
            *self.others.entry((stream, minute)).or_default() += events;
        }
    }

    pub(super) fn take(&mut self) -> Vec<Tallied> {
        self.put_aside();
        self.others.drain().map(|((stream, minute), events)| Tallied { stream, minute, events }).collect()
    }
}
