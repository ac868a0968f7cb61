//! `Elah::RankedSet::EntityResponder`: the responder of a route whose path names an entity. It finds the entity, asks it for the responder
//! of its set, and has that one answer.

use std::hint::black_box;
use std::sync::OnceLock;

use elah_core::api_key::ApiKey;
use elah_core::request::RequestView;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::{Opaque, ReprValue};
use magnus::{DataTypeFunctions, Error, Object, RClass, RString, Ruby, TypedData, Value, function, gc};

use super::responder::{CLASS as RESPONDER, Responder};
use super::to_bytes;
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
    /// What a request must bring, if anything.
    api_key: Option<ApiKey>,
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
    /// `answer` is `row`, `top`, `around` or `submission`; `count` is of rows, for a top, or of neighbours on each side; `key_digest` that of
    /// the API key which a request must bring.
    fn new(
        ruby: &Ruby,
        region: Value,
        key: String,
        answer: String,
        count: usize,
        key_digest: Option<RString>,
    ) -> Result<Self, Error> {
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
        let digest = key_digest.map(|digest| to_bytes(digest).try_into().map(ApiKey::of_digest)).transpose();
        let api_key = digest.map_err(|_| Error::new(ruby.exception_arg_error(), "The digest of an API key has 32 bytes."))?;
        Ok(EntityResponder { region: region.into(), key, answer, api_key })
    }

    pub(crate) fn answer(&self, candidate: &Candidate<'_>) -> Result<bool, Error> {
        let Some(found) = self.responder(candidate)? else { return Ok(false) };
        let Some(responder) = RESPONDER.native::<Responder>(&found) else { return Ok(false) };
        let answered = match self.answer {
            Answer::Row => Ok(responder.row(candidate)),
            Answer::Top { count } => Ok(responder.top(candidate, count)),
            Answer::Around { distance } => Ok(responder.around(candidate, distance)),
            Answer::Submission => responder.submit(candidate),
        };
        // It stays on the stack, where the GC sees it, until here.
        black_box(found);
        answered
    }

    /// What the entity that a request names gives for such requests.
    fn responder(&self, candidate: &Candidate<'_>) -> Result<Option<Value>, Error> {
        let named = |request: &RequestView<'_>| {
            let (_, key) = request.route_params().find(|(name, _)| *name == self.key)?;
            let is_admitted = self.api_key.as_ref().is_none_or(|api_key| api_key.admits(request));
            // SAFETY: nothing that has to be dropped is between the two.
            is_admitted.then(|| protect(|| unsafe { text(key) }))
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
        // One that has waited may be in the middle of another call now.
        let is_idle = !is_submission || find(region, key, false)?.as_raw() == entity.as_raw();
        // SAFETY: it is on this stack from here on.
        Ok(is_idle.then(|| unsafe { Value::from_raw(found) }))
    }
}

pub(super) fn init(ruby: &Ruby, set: RClass) -> Result<(), Error> {
    let class = native_class::define::<EntityResponder>(ruby, set, "EntityResponder")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new_native", function!(EntityResponder::new, 5))
}
