//! The responders of a loop's routes: native objects that answer what is plain before a handler begins.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use elah_core::request::RequestView;
use elah_core::worker::{Reason, RequestId, Worker};
use magnus::error::ErrorType;
use magnus::value::{BoxValue, ReprValue};
use magnus::{Class, Error, RArray, Ruby, Value};

use crate::ranked_set::entity_responder::{self, EntityResponder};
#[cfg(feature = "redis")]
use crate::redis::{errors::raised, responder as redis_responder};
use crate::sink_responder::{self, SinkResponder};

thread_local! {
    /// Of the loop of this thread. Dropped by `set` alone, as the loop is.
    static RESPONDERS: ManuallyDrop<RefCell<Option<Rc<Responders>>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// By the ids of the routes.
pub(crate) struct Responders(Vec<Option<Responder>>);

struct Responder {
    object: BoxValue<Value>,
    kind: Kind,
}

/// What the object is.
#[derive(Clone, Copy)]
enum Kind {
    Sink,
    Entity,
    #[cfg(feature = "redis")]
    Redis,
}

impl Kind {
    fn of(object: &Value) -> Option<Kind> {
        if sink_responder::CLASS.native::<SinkResponder>(object).is_some() {
            return Some(Kind::Sink);
        }
        #[cfg(feature = "redis")]
        if redis_responder::CLASS.native::<redis_responder::Responder>(object).is_some() {
            return Some(Kind::Redis);
        }
        entity_responder::CLASS.native::<EntityResponder>(object).map(|_| Kind::Entity)
    }
}

/// A request that a responder may answer.
pub(crate) struct Candidate<'l> {
    pub(crate) ruby: &'l Ruby,
    pub(crate) worker: &'l Worker,
    pub(crate) id: RequestId,
    event_loop: Value,
}

impl Candidate<'_> {
    pub(crate) fn read<R>(&self, read: impl FnOnce(&RequestView<'_>) -> Option<R>) -> Option<R> {
        self.worker.request(self.id, |request| read(&request)).flatten()
    }

    /// Tells the loop of an exception that nobody else will tell of.
    pub(crate) fn report(&self, error: Error) -> Result<(), Error> {
        let exception = exception(error)?;
        self.event_loop.funcall::<_, _, Value>("report", (exception,)).map(|_| ())
    }
}

/// What an error raises.
fn exception(error: Error) -> Result<Value, Error> {
    match error.error_type() {
        ErrorType::Exception(exception) => Ok(exception.as_value()),
        ErrorType::Error(class, message) => Ok(class.new_instance((message.as_ref(),))?.as_value()),
        ErrorType::Jump(_) => Err(error),
    }
}

/// The exception that a request's handler would have met in the place of its responder; nil when there is none to tell of.
pub(crate) fn met(ruby: &Ruby, reason: Reason) -> Result<Value, Error> {
    match reason {
        #[cfg(feature = "redis")]
        Some(reason) => match reason.downcast_ref() {
            Some(error) => exception(raised(ruby, error)),
            None => Ok(ruby.qnil().as_value()),
        },
        _ => Ok(ruby.qnil().as_value()),
    }
}

impl Responders {
    /// `pairs` are of a route's id and its responder.
    pub(crate) fn new(ruby: &Ruby, pairs: RArray) -> Result<Option<Self>, Error> {
        let mut by_route = Vec::new();
        for index in 0..pairs.len() {
            let (route, object) = pairs.entry::<(usize, Value)>(index as isize)?;
            let Some(kind) = Kind::of(&object) else {
                let message =
                    format!("The responder of a route comes from a sink, a ranked set or a Redis; {} is none.", object.class());
                return Err(Error::new(ruby.exception_type_error(), message));
            };
            by_route.resize_with(by_route.len().max(route + 1), || None);
            by_route[route] = Some(Responder { object: BoxValue::new(object), kind });
        }
        Ok((!by_route.is_empty()).then_some(Responders(by_route)))
    }

    /// Whether a request is answered. One whose responder failed is left to the handler, and the failure is told.
    pub(crate) fn answer(&self, ruby: &Ruby, worker: &Worker, id: RequestId, event_loop: Value) -> Result<bool, Error> {
        let Some(route) = worker.request(id, |request| request.route()).flatten() else { return Ok(false) };
        let Some(Responder { object, kind }) = self.0.get(route as usize).and_then(Option::as_ref) else { return Ok(false) };
        let candidate = Candidate { ruby, worker, id, event_loop };
        let answered = match kind {
            Kind::Sink => sink_responder::CLASS.native::<SinkResponder>(object).map(|sink| sink.answer(&candidate)),
            Kind::Entity => entity_responder::CLASS.native::<EntityResponder>(object).map(|entity| entity.answer(&candidate)),
            #[cfg(feature = "redis")]
            Kind::Redis => {
                redis_responder::CLASS.native::<redis_responder::Responder>(object).map(|redis| redis.answer(&candidate))
            }
        };
        answered.unwrap_or(Ok(false)).or_else(|error| candidate.report(error).map(|()| false))
    }
}

/// Of the loop of this thread, from now on.
pub(crate) fn set(responders: Option<Responders>) {
    let before = RESPONDERS.with(|cell| std::mem::replace(&mut *cell.borrow_mut(), responders.map(Rc::new)));
    drop(before);
}

pub(crate) fn of_this_loop() -> Option<Rc<Responders>> {
    RESPONDERS.with(|cell| cell.borrow().clone())
}
