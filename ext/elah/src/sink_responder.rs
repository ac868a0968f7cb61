//! `Elah::SinkResponder`: records and answers the plain requests of a route for a sink, before a handler begins.

use std::sync::OnceLock;

use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::Opaque;
use magnus::{DataTypeFunctions, Error, Object, RModule, Ruby, TypedData, Value, function, gc};

use crate::native_class;
use crate::raw_objects::{names, variable};
use crate::receiver::ExactClass;
use crate::responders::Candidate;
use crate::sink_intake::{self, Intake};
use crate::sink_journal::{self, RubyJournal};

const STATUS: u16 = 200;

pub(crate) static CLASS: ExactClass = ExactClass::new();

static NAMES: OnceLock<Names> = OnceLock::new();

names! { journal: c"@journal" }

#[derive(TypedData)]
#[magnus(class = "Elah::SinkResponder", mark, free_immediately)]
pub(crate) struct SinkResponder {
    /// An `Elah::Sink`, which opens and closes its journal as it likes.
    sink: Opaque<Value>,
    /// An `Intake`.
    intake: Opaque<Value>,
    on_disk: bool,
    has_body: bool,
}

impl DataTypeFunctions for SinkResponder {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.sink);
        marker.mark(self.intake);
    }
}

impl SinkResponder {
    fn new(ruby: &Ruby, sink: Value, intake: Value, on_disk: bool, has_body: bool) -> Result<Self, Error> {
        if sink_intake::CLASS.native::<Intake>(&intake).is_none() {
            return Err(Error::new(ruby.exception_type_error(), "A sink's responder needs an Elah::Sink::Intake."));
        }
        Ok(SinkResponder { sink: sink.into(), intake: intake.into(), on_disk, has_body })
    }

    /// Leaves a request alone that is not plain, that the journal does not take, or that the intake does not allow.
    pub(crate) fn answer(&self, candidate: &Candidate<'_>) -> Result<bool, Error> {
        let (sink, intake) = (candidate.ruby.get_inner(self.sink), candidate.ruby.get_inner(self.intake));
        let journal = protect(|| {
            // SAFETY: protected; the sink holds its journal.
            unsafe { variable(sink.as_raw(), NAMES.get_or_init(|| Names::intern()).journal) }
        })?;
        // SAFETY: it is on this stack from here on.
        let journal = unsafe { Value::from_raw(journal) };
        let (Some(journal), Some(intake)) =
            (sink_journal::CLASS.native::<RubyJournal>(&journal), sink_intake::CLASS.native::<Intake>(&intake))
        else {
            return Ok(false);
        };
        let log = journal.log();
        if !intake.is_allowed(log.now_ms()) {
            return Ok(false);
        }
        // The handler meets a failure with its own append, and can say what it is.
        let is_recorded =
            intake.record(candidate.worker, candidate.id, log, STATUS, self.on_disk, self.has_body).unwrap_or(false);
        if is_recorded {
            intake.took();
        }
        Ok(is_recorded)
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<SinkResponder>(ruby, elah, "SinkResponder")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("open", function!(SinkResponder::new, 4))
}
