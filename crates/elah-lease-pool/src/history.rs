//! The holder of an item at some time, from the last snapshot before it and the steps since.

use crate::pool::State;
use crate::{Action, Error, LeasePool, Step};

/// Who held an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub serial: u64,
    /// When the hold began, which is the time of the step that has the data.
    pub begun: i64,
    /// The planned end, as known then.
    pub due: i64,
    pub session: Option<Vec<u8>>,
}

/// Who held `item` at the time `at`. `snapshot` is the last one that is not later, `steps` are those after it up to `at`.
///
/// # Errors
/// [`Error::InvalidRow`]
pub fn holder<'r>(
    snapshot: &[u8],
    steps: impl Iterator<Item = Result<Step<'r>, Error>>,
    item: i64,
    at: i64,
) -> Result<Option<Holder>, Error> {
    let pool = LeasePool::restore(snapshot, 0)?;
    let held = pool.slots.iter().find(|slot| slot.state == State::Held && slot.item == item);
    let mut holder = held.map(|slot| Holder {
        serial: slot.serial,
        begun: slot.begun,
        due: slot.due,
        session: slot.session.as_deref().map(<[u8]>::to_vec),
    });
    for step in steps {
        let step = step?;
        if step.item != item {
            continue;
        }
        match (step.action, &mut holder) {
            (Action::Lease, _) => {
                let session = step.session.map(<[u8]>::to_vec);
                holder = Some(Holder { serial: step.serial, begun: step.at, due: step.due, session });
            }
            (Action::Renewal | Action::Release, Some(held)) if held.serial == step.serial => held.due = step.due,
            _ => {}
        }
    }
    Ok(holder.filter(|holder| holder.due > at))
}
