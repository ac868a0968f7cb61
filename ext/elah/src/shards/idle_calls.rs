//! `Elah::Shards::IdleCalls`: the native half of `Elah::Entity::ManyCalls`. It runs calls of entities that are in memory and idle one
//! after the other; what it does for each is what `Activation#run` does, with no frame of Ruby but the method's own, or with none at all
//! where a native object of the entity stands for the method.

use std::cell::Cell;
use std::sync::OnceLock;

use magnus::error::ErrorType;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::ReprValue;
use magnus::{Error, Module, RModule, Value, method};
use rb_sys::{ID, VALUE, ruby_value_type as Type};

use super::call_columns::{CLASS as COLUMNS, CallColumns};
use super::copies::{of_answer_or_raise, plain_copy};
use super::state::{CLASS, RubyState};
use crate::raw_objects::{call, entry, lookup, names, set_variable, store, symbol_name, variable};

/// Calls with more arguments take the way of the others.
const ARGUMENTS_MAX: usize = 8;
const NIL: VALUE = rb_sys::Qnil as VALUE;

static NAMES: OnceLock<Names> = OnceLock::new();

names! {
    calls: c"@calls", method: c"@name", here: c"@here", answers: c"@answers", commits: c"@commits", is_durable: c"@is_durable",
    states: c"@states", batches: c"@batches", settled: c"@settled", last: c"@last",
    runner: c"@runner", outer: c"@outer", line: c"@line", entity: c"@entity", state: c"@state",
    activation: c"@activation", expect: c"expect", leave: c"leave",
}

/// One call that can be made: its entity is in memory, and nobody calls it.
struct Turn {
    activation: VALUE,
    entity: VALUE,
    state: Value,
    arguments: [VALUE; ARGUMENTS_MAX],
    count: usize,
}

/// A run of a `ManyCalls`. It lives on the stack, which Ruby's collector searches.
struct Run {
    names: &'static Names,
    many: VALUE,
    task: VALUE,
    /// An Array or a `CallColumns`.
    calls: Value,
    /// A Symbol, of which `method_id` is the number.
    method: VALUE,
    method_id: ID,
    here: VALUE,
    answers: VALUE,
    commits: VALUE,
    /// The entity whose method makes these calls, or nil.
    outer: VALUE,
    is_durable: bool,
    settled: u64,
    index: Cell<usize>,
    /// Whose method runs, or nil.
    running: Cell<VALUE>,
    /// The last batch with writes of these calls that will leave.
    last: Cell<u64>,
}

impl Run {
    /// # Safety
    /// `many` is a `ManyCalls`, `task` the task that runs it; under `protect`.
    unsafe fn begin(many: VALUE, task: VALUE, index: usize) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe {
            let names = NAMES.get_or_init(|| Names::intern());
            let own = |name: ID| variable(many, name);
            let method = own(names.method);
            if !rb_sys::RB_SYMBOL_P(method) {
                return None;
            }
            Some(Run {
                names,
                many,
                task,
                calls: Value::from_raw(own(names.calls)),
                method,
                method_id: symbol_name(method),
                here: own(names.here),
                answers: own(names.answers),
                commits: own(names.commits),
                outer: variable(task, names.activation),
                is_durable: own(names.is_durable) == rb_sys::Qtrue as VALUE,
                settled: number(own(names.settled)),
                index: Cell::new(index),
                running: Cell::new(NIL),
                last: Cell::new(number(own(names.last))),
            })
        }
    }

    /// Makes calls until one has to take another way, or there are no more.
    ///
    /// # Safety
    /// Under `protect`: methods of entities are called, which may raise and may suspend the fiber. Nothing here has to be dropped.
    unsafe fn go_on(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            match COLUMNS.native::<CallColumns>(&self.calls) {
                Some(columns) if columns.method == self.method => {
                    while self.lend(columns) || self.take_next(self.turn_of_columns(columns)) {
                        self.index.set(self.index.get() + 1);
                    }
                }
                Some(_) => {}
                None => {
                    while self.take_next(self.turn_of_array()) {
                        self.index.set(self.index.get() + 1);
                    }
                }
            }
            set_variable(self.task, self.names.activation, self.outer);
            set_variable(self.many, self.names.last, rb_sys::LONG2FIX(self.last.get() as _));
        }
    }

    /// # Safety
    /// As for `go_on`.
    unsafe fn take_next(&self, turn: Option<Turn>) -> bool {
        // SAFETY: the caller's promise.
        turn.map(|turn| unsafe { self.take(&turn) }).is_some()
    }

    /// # Safety
    /// As for `go_on`.
    unsafe fn turn_of_array(&self) -> Option<Turn> {
        // SAFETY: types are looked at first; a call's Array and what is in it are held by `calls`.
        unsafe {
            let call = entry(self.calls.as_raw(), self.index.get()); // nil after the last
            if !rb_sys::RB_TYPE_P(call, Type::RUBY_T_ARRAY) {
                return None;
            }
            let count = usize::try_from(rb_sys::RARRAY_LEN(call)).ok()?.checked_sub(2)?;
            let key = entry(call, 0);
            let is_plain = count <= ARGUMENTS_MAX && rb_sys::RB_TYPE_P(key, Type::RUBY_T_STRING);
            if !is_plain || entry(call, 1) != self.method {
                return None;
            }
            let mut arguments = [NIL; ARGUMENTS_MAX];
            for (index, argument) in arguments.iter_mut().enumerate().take(count) {
                *argument = entry(call, index + 2);
            }
            self.turn(key, arguments, count, 0)
        }
    }

    /// # Safety
    /// As for `go_on`.
    unsafe fn turn_of_columns(&self, columns: &CallColumns) -> Option<Turn> {
        // SAFETY: the caller's promise; the columns hold key and shared arguments, and the Strings are on this stack.
        unsafe {
            let key = columns.key(self.index.get())?;
            let shared = rb_sys::RARRAY_LEN(columns.shared) as usize;
            let count = columns.width + shared;
            if count > ARGUMENTS_MAX {
                return None;
            }
            let mut arguments = [NIL; ARGUMENTS_MAX];
            for (column, argument) in arguments.iter_mut().enumerate().take(count) {
                *argument = match column.checked_sub(columns.width) {
                    None => columns.string(self.index.get(), column),
                    Some(place) => entry(columns.shared, place),
                };
            }
            self.turn(key, arguments, count, columns.width)
        }
    }

    /// The turn for a call whose first arguments, `own` of them, nobody else has; the others are copied.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn turn(&self, key: VALUE, mut arguments: [VALUE; ARGUMENTS_MAX], count: usize, own: usize) -> Option<Turn> {
        // SAFETY: the caller's promise.
        unsafe {
            // A Hash may stand for keywords, which Ruby's own splat knows.
            if count > 0 && rb_sys::RB_TYPE_P(arguments[count - 1], Type::RUBY_T_HASH) {
                return None;
            }
            let (activation, entity, state) = self.idle(key)?;
            for argument in &mut arguments[own..count] {
                *argument = plain_copy(*argument)?;
            }
            Some(Turn { activation, entity, state, arguments, count })
        }
    }

    /// Has a call made by the native object that stands for the method of its entity. False when there is none, or the method itself has
    /// to be called.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn lend(&self, columns: &CallColumns) -> bool {
        let index = self.index.get();
        let lent = || {
            // SAFETY: the caller's promise.
            unsafe {
                let now = entry(columns.shared, 0);
                if rb_sys::RARRAY_LEN(columns.shared) != 1 || !rb_sys::FIXNUM_P(now) {
                    return None;
                }
                let state = self.idle_state(lookup(self.here, columns.key(index)?))?;
                let loans = CLASS.native::<RubyState>(&state)?.loans().filter(|loans| loans.stands_for(self.method))?;
                let (answer, batch) = columns.with_plain(index, |text| loans.lend(rb_sys::FIX2LONG(now), text))??;
                Some((answer, state, batch))
            }
        };
        let Some((answer, state, batch)) = lent() else { return false };
        // SAFETY: the caller's promise; the entity's own object holds the answer.
        unsafe {
            self.note(&state, batch);
            store(self.answers, index, answer);
        }
        true
    }

    /// The activation of a key with its entity and state, if they are in memory and idle.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn idle(&self, key: VALUE) -> Option<(VALUE, VALUE, Value)> {
        // SAFETY: the caller's promise; `here` has activations, by which entity and state are held.
        unsafe {
            let activation = lookup(self.here, key);
            let state = self.idle_state(activation)?;
            let entity = variable(activation, self.names.entity);
            (entity != NIL).then_some((activation, entity, state))
        }
    }

    /// The state of an activation that is idle, and of which nothing was lost.
    ///
    /// # Safety
    /// As for `go_on`; `activation` is one, or nil.
    unsafe fn idle_state(&self, activation: VALUE) -> Option<Value> {
        // SAFETY: the caller's promise.
        unsafe {
            if activation == NIL || variable(activation, self.names.runner) != NIL {
                return None;
            }
            let state = Value::from_raw(variable(activation, self.names.state));
            CLASS.native::<RubyState>(&state).is_some_and(|state| !state.is_lost()).then_some(state)
        }
    }

    /// Makes one call with the turn of its entity, and gives the turn to whoever has come to wait for it meanwhile.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn take(&self, turn: &Turn) {
        let names = self.names;
        // SAFETY: the caller's promise; `turn` holds all that is used.
        unsafe {
            set_variable(turn.activation, names.runner, self.task);
            set_variable(turn.activation, names.outer, self.outer);
            set_variable(self.task, names.activation, turn.activation);
            self.running.set(turn.activation);
            let answer = of_answer_or_raise(call(turn.entity, self.method_id, &turn.arguments[..turn.count]));
            self.gather(&turn.state);
            self.running.set(NIL);
            if variable(turn.activation, names.line) == NIL {
                set_variable(turn.activation, names.runner, NIL);
            } else {
                call(turn.activation, names.leave, &[]);
            }
            store(self.answers, self.index.get(), answer);
        }
    }

    /// Adds what a call has written to the open batch.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn gather(&self, state: &Value) {
        let batch = CLASS.native::<RubyState>(state).map_or(0, |state| state.gather_batch());
        // SAFETY: the caller's promise.
        unsafe { self.note(state, batch) };
    }

    /// Notes the last batch with writes of a call's entity.
    ///
    /// # Safety
    /// As for `go_on`.
    unsafe fn note(&self, state: &Value, batch: u64) {
        // SAFETY: the caller's promise; what is noted are Arrays of the `ManyCalls`.
        unsafe {
            if batch > self.last.get() {
                call(self.commits, self.names.expect, &[rb_sys::LONG2FIX(batch as _)]);
                self.last.set(batch);
            }
            // Answers that do not wait for the disk are not looked at again.
            if self.is_durable && batch > self.settled {
                store(variable(self.many, self.names.states), self.index.get(), state.as_raw());
                store(variable(self.many, self.names.batches), self.index.get(), rb_sys::LONG2FIX(batch as _));
            }
        }
    }

    /// A call has ended with an exception: what that means is decided in Ruby.
    fn fail(&self, error: Error) -> Result<(), Error> {
        let activation = self.running.replace(NIL);
        if activation == NIL {
            return Err(error);
        }
        // SAFETY: this object is on the stack and holds them.
        let [many, task, activation] = [self.many, self.task, activation].map(|value| unsafe { Value::from_raw(value) });
        let ErrorType::Exception(exception) = error.error_type() else {
            let _: Value = activation.funcall("abort", (task, ()))?;
            return Err(error);
        };
        let _: Value = many.funcall("call_failed", (task, self.index.get(), activation, *exception))?;
        self.index.set(self.index.get() + 1);
        Ok(())
    }
}

/// # Safety
/// `value` is live.
unsafe fn number(value: VALUE) -> u64 {
    // SAFETY: its type is looked at first.
    if rb_sys::FIXNUM_P(value) { unsafe { rb_sys::FIX2LONG(value) as u64 } } else { 0 }
}

/// Makes the calls from the one at `index` on, as long as they are for idle entities in memory and of the method `@name`, which was
/// checked. Gives the index of the first that it has not made.
fn run_idle(many: Value, task: Value, index: usize) -> Result<usize, Error> {
    let mut begun = None;
    protect(|| {
        // SAFETY: protected; `IdleCalls` is for `ManyCalls` alone.
        begun = unsafe { Run::begin(many.as_raw(), task.as_raw(), index) };
        NIL
    })?;
    let Some(run) = begun else { return Ok(index) };
    loop {
        let done = protect(|| {
            // SAFETY: protected.
            unsafe { run.go_on() };
            NIL
        });
        match done {
            Ok(_) => return Ok(run.index.get()),
            Err(error) => run.fail(error)?,
        }
    }
}

pub(super) fn init(shards: RModule) -> Result<(), Error> {
    let module = shards.define_module("IdleCalls")?;
    module.define_private_method("run_idle", method!(run_idle, 2))
}
