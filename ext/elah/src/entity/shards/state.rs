//! `Elah::Shards::State`: the stored state of one entity, with the writes of its running call.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use elah_store::{Claim, Entry, Gathered, GroupCommits, Range};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, Value, function, method};

use super::RubyClaim;
use super::commits::{RubyCommits, wait};
use super::copies;
use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};
use crate::store::errors::raised;
use crate::store::table::{entries, range};
use crate::store::{read_string, with_bytes};

pub(super) static CLASS: ExactClass = ExactClass::new();

/// The number of the table in which entities have their own keys.
const OWN_TABLE: u8 = 0;

#[magnus::wrap(class = "Elah::Shards::State", size)]
pub(crate) struct RubyState {
    pub(super) entity: Arc<EntityState>,
}

/// Shared by the state of an entity and its indexes.
pub(crate) struct EntityState {
    pub(super) commits: Arc<GroupCommits>,
    claim: Arc<Claim>,
    /// Whether calls without writes are part of a batch, too.
    checks_reads: bool,
    /// The prefix of every key of the entity.
    prefix: Vec<u8>,
    gathered: Mutex<Gathered>,
    /// The number of the last batch with writes of this entity.
    last_batch: AtomicU64,
    /// Whether a call has ended since the last query.
    is_used: AtomicBool,
}

impl Deref for RubyState {
    type Target = EntityState;

    fn deref(&self) -> &EntityState {
        &self.entity
    }
}

impl EntityState {
    pub(super) fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a key of a table, including the writes of the running call.
    pub(super) fn read(&self, ruby: &Ruby, table: u8, key: &[u8]) -> Result<Value, Error> {
        self.catch_up(ruby)?;
        self.read_at_once(ruby, table, key)
    }

    /// As `read`, but the writes of earlier calls may be missing, if they are not in the store yet.
    pub(super) fn read_at_once(&self, ruby: &Ruby, table: u8, key: &[u8]) -> Result<Value, Error> {
        let mut is_at_once = true;
        let now = read_string(ruby, |buffer| {
            self.commits.get_now(table, key, &self.gathered(), buffer).unwrap_or_else(|| {
                is_at_once = false;
                Ok(false)
            })
        });
        if is_at_once {
            return now.map_err(|error| raised(ruby, &error));
        }
        let only = Range { from: Some(key.to_vec()), to: Some([key, &[0]].concat()), limit: 1, ..Range::default() };
        let found = self.fetch(ruby, table, only, &Gathered::default())?.pop();
        Ok(found.map_or_else(|| ruby.qnil().as_value(), |(_, value)| ruby.str_from_slice(&value).as_value()))
    }

    /// A range of a table, including the writes of the running call.
    pub(super) fn range(&self, ruby: &Ruby, table: u8, range: Range) -> Result<Vec<Entry>, Error> {
        self.catch_up(ruby)?;
        let gathered = self.gathered().clone();
        self.rows(ruby, table, range, &gathered)
    }

    /// A range of a table, as stored and changed by `gathered`.
    pub(super) fn rows(&self, ruby: &Ruby, table: u8, range: Range, gathered: &Gathered) -> Result<Vec<Entry>, Error> {
        match self.commits.range_now(table, &range, gathered) {
            Some(rows) => rows.map_err(|error| raised(ruby, &error)),
            None => self.fetch(ruby, table, range, gathered),
        }
    }

    /// Suspends until the store has sent the rows.
    fn fetch(&self, ruby: &Ruby, table: u8, range: Range, gathered: &Gathered) -> Result<Vec<Entry>, Error> {
        let rows = suspend(ruby, |completer| {
            self.commits.range_later(&self.claim, table, range, gathered, |rows| completer.complete(rows));
        })?;
        rows.map_err(|error| raised(ruby, &error))
    }

    /// Waits until the writes of earlier calls are in the store, before reading it.
    fn catch_up(&self, ruby: &Ruby) -> Result<(), Error> {
        let last = self.last_batch.load(Ordering::Relaxed);
        if last > self.commits.settled() {
            self.commits.submit();
            wait(ruby, &self.commits, last)?;
        }
        self.failure(last).map_or(Ok(()), |error| Err(raised(ruby, &error)))
    }

    fn failure(&self, number: u64) -> Option<elah_store::Error> {
        self.claim.failure(number)
    }

    /// Whether nothing may build on it any more, because a batch was lost or another process has claimed the shard.
    pub(super) fn is_lost(&self) -> bool {
        self.claim.has_failed() || !self.commits.still_owns(&self.claim)
    }

    /// Adds the writes of a call to the open batch; the number of the last batch with calls of this entity, 0 for none.
    pub(super) fn gather_batch(&self) -> u64 {
        self.is_used.store(true, Ordering::Relaxed);
        let mut gathered = self.gathered();
        if gathered.is_empty() && !self.checks_reads {
            return self.last_batch.load(Ordering::Relaxed);
        }
        let number = self.commits.gather(&self.claim, &mut gathered);
        self.last_batch.store(number, Ordering::Relaxed);
        number
    }
}

impl RubyState {
    fn new(commits: &RubyCommits, claim: &RubyClaim, key: RString) -> Self {
        let mut prefix = claim.claim.shard().to_be_bytes().to_vec();
        with_bytes(key, |key| {
            prefix.push(key.len() as u8);
            prefix.extend_from_slice(key);
        });
        let entity = EntityState {
            commits: Arc::clone(&commits.commits),
            claim: Arc::clone(&claim.claim),
            checks_reads: commits.checks_reads,
            prefix,
            gathered: Mutex::default(),
            last_batch: AtomicU64::new(0),
            is_used: AtomicBool::new(false),
        };
        RubyState { entity: Arc::new(entity) }
    }

    /// The entity's copy of a call's arguments; nil if the entity must be restored first.
    fn admit(ruby: &Ruby, state: Receiver<Self>, arguments: RArray) -> Result<Value, Error> {
        if state.is_lost() { Ok(ruby.qnil().as_value()) } else { copies::of_arguments(ruby, arguments) }
    }

    /// Ends a call: adds its writes to the open batch, and returns the caller's copy of its result. Of a call that has lost its shard meanwhile
    /// nothing would be stored: it fails, and is made again at the next owner.
    fn finish(ruby: &Ruby, state: Receiver<Self>, result: Value) -> Result<Value, Error> {
        let result = copies::of_result(ruby, result)?;
        if state.is_lost()
            && let Some(loss) = state.claim.loss()
        {
            return Err(raised(ruby, &loss));
        }
        state.gather_batch();
        Ok(result)
    }

    fn last_batch(state: Receiver<Self>) -> u64 {
        state.last_batch.load(Ordering::Relaxed)
    }

    /// Whether a call has ended since the last query.
    fn take_used(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }

    fn put(ruby: &Ruby, state: Receiver<Self>, key: RString, value: RString) -> Result<(), Error> {
        let put =
            with_bytes(key, |key| with_bytes(value, |value| state.gathered().put(OWN_TABLE, &state.prefix, key, value, None)));
        put.map_err(|error| raised(ruby, &error))
    }

    fn delete(ruby: &Ruby, state: &Self, key: RString) -> Result<(), Error> {
        with_bytes(key, |key| state.gathered().delete(OWN_TABLE, &state.prefix, key)).map_err(|error| raised(ruby, &error))
    }

    fn get(ruby: &Ruby, state: &Self, key: RString) -> Result<Value, Error> {
        let full_key = with_bytes(key, |key| [&state.prefix, key].concat());
        state.read(ruby, OWN_TABLE, &full_key)
    }

    /// A range of the entity's own keys.
    fn range(ruby: &Ruby, state: &Self, conditions: RArray, limit: usize, is_reverse: bool) -> Result<RArray, Error> {
        let mut range = range(conditions, limit, is_reverse)?;
        let full = |key: Vec<u8>| [state.prefix.as_slice(), &key].concat();
        range.prefix = Some(full(range.prefix.unwrap_or_default()));
        range.from = range.from.map(full);
        range.to = range.to.map(full);
        range.after = range.after.map(full);
        let found = state.range(ruby, OWN_TABLE, range)?;
        let own = found.into_iter().map(|(key, value)| (key[state.prefix.len()..].to_vec(), value)).collect();
        entries(ruby, own)
    }

    /// Raises the error of the settled batch `number`, or of an earlier one, if it was not stored. Otherwise it ends the claim's trial.
    fn check(ruby: &Ruby, state: &Self, number: u64) -> Result<(), Error> {
        if let Some(error) = state.failure(number) {
            return Err(raised(ruby, &error));
        }
        if number > 0 {
            state.claim.end_trial();
        }
        Ok(())
    }

    /// Whether the last batch of its shard was lost, and nothing was stored since.
    fn is_on_trial(state: Receiver<Self>) -> bool {
        state.claim.is_on_trial()
    }

    fn has_failed(state: Receiver<Self>) -> bool {
        state.is_lost()
    }

    fn has_gathered(&self) -> bool {
        !self.gathered().is_empty()
    }

    /// Discards the writes of a call, because the entity is discarded too.
    fn discard(state: Receiver<Self>) {
        state.gathered().clear();
    }
}

pub(super) fn init(ruby: &Ruby, shards: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyState>(ruby, shards, "State")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("open", function!(RubyState::new, 3))?;
    class.define_method("get", method!(RubyState::get, 1))?;
    class.define_method("put", method!(RubyState::put, 2))?;
    class.define_method("delete", method!(RubyState::delete, 1))?;
    class.define_method("range_native", method!(RubyState::range, 3))?;
    class.define_method("admit", method!(RubyState::admit, 1))?;
    class.define_method("finish", method!(RubyState::finish, 1))?;
    class.define_method("last_batch", method!(RubyState::last_batch, 0))?;
    class.define_method("take_used", method!(RubyState::take_used, 0))?;
    class.define_method("check", method!(RubyState::check, 1))?;
    class.define_method("on_trial?", method!(RubyState::is_on_trial, 0))?;
    class.define_method("failed?", method!(RubyState::has_failed, 0))?;
    class.define_method("gathered?", method!(RubyState::has_gathered, 0))?;
    class.define_method("discard", method!(RubyState::discard, 0))?;
    Ok(())
}
