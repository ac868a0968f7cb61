//! Whether a store takes writes: known from writes that were refused, and from looks that the writer takes when it is asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Engine;
use crate::env;
use crate::error::Error;
use crate::layout::PROBE;
use crate::room::Room;

/// After a look this long nobody has to look again.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// A full store has no room for as many values as these.
const PROBE_VALUES: u8 = 32;
/// A page holds one of them.
const PROBE_VALUE_BYTES: usize = 2000;

/// What is known of one opening.
#[derive(Default)]
pub(super) struct Health(Mutex<Known>);

#[derive(Default)]
struct Known {
    full: Option<Error>,
    looked_at: Option<Instant>,
}

impl Health {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Why the store takes no writes, as far as that is known.
    pub(crate) fn trouble(&self) -> Option<Error> {
        self.queue.check().and_then(|()| self.place.check()).err().or_else(|| self.health.lock().full.clone())
    }

    /// Looks whether there is room, unless it did so a moment ago. For the writer's thread, which has no transaction open.
    pub(crate) fn look(&self) {
        if self.queue.check().is_err() || self.health.lock().looked_at.is_some_and(|at| at.elapsed() < KNOWN_FOR) {
            return;
        }
        let full = self.probe().err().filter(|error| matches!(error, Error::Full { .. }));
        *self.health.lock() = Known { full, looked_at: Some(Instant::now()) };
    }

    /// A write was refused for lack of room: the next look is to be taken now.
    pub(crate) fn look_anew(&self) {
        self.health.lock().looked_at = None;
        self.look();
    }

    pub(crate) fn is_full(&self) -> bool {
        self.health.lock().full.is_some()
    }

    /// Writes some values and takes them back: nothing of it is committed.
    fn probe(&self) -> Result<(), Error> {
        if !env::has_room(&self.dir) {
            return Err(Error::Full { what: "the disk has no room".to_owned() });
        }
        let mut txn = self.env.write_txn()?;
        let room = Room::before(self.tree, &txn)?;
        for number in 0..PROBE_VALUES {
            self.tree.put(&mut txn, &[PROBE[0], PROBE[1], number], &[0; PROBE_VALUE_BYTES])?;
        }
        room.check(&self.env, self.tree, &txn)
    }
}
