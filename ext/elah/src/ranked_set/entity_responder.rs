//! `Elah::RankedSet::EntityResponder`: the responder of a route whose path names an entity. It finds the entity, asks it for the responder
//! of its set, and has that one answer.

use std::sync::OnceLock;

use elah_core::request::RequestView;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::{Opaque, ReprValue};
use magnus::{DataTypeFunctions, Error, Object, RClass, Ruby, TypedData, Value, function, gc};

use super::responder::{CLASS as RESPONDER, Responder};
use crate::native_class;
use crate::raw_objects::{call, names, text};
use crate::receiver::ExactClass;
use crate::responders::Candidate;
use crate::shards::resting::find;

pub(crate) static CLASS: ExactClass = ExactClass::new();

static NAMES: OnceLock<Names> = OnceLock::new();

names! { responder: c"responder", submission_responder: c"submission_responder" }

#[derive(TypedData)]
#[magnus(class = "Elah::RankedSet::EntityResponder", mark, free_immediately)]
pub(crate) struct EntityResponder {
    /// An `Elah::Entity::Region`.
    region: Opaque<Value>,
    /// The parameter of the route that names the entity.
    key: String,
    answer: Answer,
}

/// What a request is answered with.
enum Answer {
    Row,
    Top { count: usize },
    Around { distance: usize },
    Submission,
}

impl DataTypeFunctions for EntityResponder {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.region);
    }
}

impl EntityResponder {
    /// `answer` is `row`, `top`, `around` or `submission`; `count` is of rows, for a top, or of neighbours on each side.
    fn new(ruby: &Ruby, region: Value, key: String, answer: String, count: usize) -> Result<Self, Error> {
        let answer = match answer.as_str() {
            "row" => Answer::Row,
            "top" => Answer::Top { count },
            "around" => Answer::Around { distance: count },
            "submission" => Answer::Submission,
            other => {
                let message = format!("A request is answered with a row, a top, around or a submission, not with {other}.");
                return Err(Error::new(ruby.exception_arg_error(), message));
            }
        };
        Ok(EntityResponder { region: region.into(), key, answer })
    }

    pub(crate) fn answer(&self, candidate: &Candidate<'_>) -> Result<bool, Error> {
        let Some(responder) = self.responder(candidate)? else { return Ok(false) };
        let Some(responder) = RESPONDER.native::<Responder>(&responder) else { return Ok(false) };
        match self.answer {
            Answer::Row => Ok(responder.row(candidate)),
            Answer::Top { count } => Ok(responder.top(candidate, count)),
            Answer::Around { distance } => Ok(responder.around(candidate, distance)),
            Answer::Submission => responder.submit(candidate),
        }
    }

    /// What the entity that a request names gives for such requests.
    fn responder(&self, candidate: &Candidate<'_>) -> Result<Option<Value>, Error> {
        let named = |request: &RequestView<'_>| {
            let (_, key) = request.route_params().find(|(name, _)| *name == self.key)?;
            // SAFETY: nothing that has to be dropped is between the two.
            Some(protect(|| unsafe { text(key) }))
        };
        let Some(key) = candidate.read(named) else { return Ok(None) };
        // SAFETY: both are on this stack from here on.
        let (region, key) = (candidate.ruby.get_inner(self.region), unsafe { Value::from_raw(key?) });
        let is_submission = matches!(self.answer, Answer::Submission);
        // The answer to a submission waits by itself for what is on its way to the disk.
        let entity = find(region, key, !is_submission)?;
        if entity.is_nil() {
            return Ok(None);
        }
        let found = protect(|| {
            // SAFETY: protected, with nothing that has to be dropped.
            unsafe {
                let names = NAMES.get_or_init(|| Names::intern());
                call(entity.as_raw(), if is_submission { names.submission_responder } else { names.responder }, &[])
            }
        })?;
        // SAFETY: it is on this stack from here on.
        Ok(Some(unsafe { Value::from_raw(found) }))
    }
}

pub(super) fn init(ruby: &Ruby, set: RClass) -> Result<(), Error> {
    let class = native_class::define::<EntityResponder>(ruby, set, "EntityResponder")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new_native", function!(EntityResponder::new, 4))
}
