//! `Elah::RankedSet::Responder`: answers plain requests about the members of a set, from the request to the response without a Ruby object
//! in between. What is not plain it leaves alone.

use std::cell::RefCell;

use bytes::Bytes;
use elah_core::ranked_set::{Operator, RankedSet, Rows, Style};
use elah_core::request::{BodyPlace, RequestView};
use elah_core::response::{Headers, Response};
use magnus::value::{Opaque, ReprValue};
use magnus::{DataTypeFunctions, Error, Module, Object, RArray, RClass, RString, Ruby, TypedData, Value, function, gc, method};

use super::json::{USUAL_ROW_BYTES, gathers_row};
use super::words::OPERATORS;
use super::{CLASS, RubyRankedSet, submitted, to_bytes};
use crate::event_loop::worker;
use crate::header_set::headers;
use crate::native_class;
use crate::receiver::Receiver;
use crate::request::{self, Request};
use crate::shards::index::{self, RubyIndex};
use crate::utf8;

/// Most answers that are no list are no longer.
const USUAL_ANSWER_BYTES: usize = 128;
const JSON: &[u8] = b"application/json";

#[derive(TypedData)]
#[magnus(class = "Elah::RankedSet::Responder", mark, free_immediately)]
pub(super) struct Responder {
    /// A `RubyRankedSet`.
    set: Opaque<Value>,
    headers: Headers,
    /// The parameter of the route that names the member, and the longest name that is plain.
    member: String,
    member_bytes_max: usize,
    /// What stands before the size, between size and rows, and behind the rows of a list.
    list: [String; 3],
    top: RefCell<Option<Top>>,
    writes: Option<Writes>,
}

/// The list of the first members as it was written last.
struct Top {
    count: usize,
    version: u64,
    text: Bytes,
}

/// How scores are submitted: the row of a member is gathered in the index of an entity before the set changes.
struct Writes {
    index: RubyIndex,
    prefix: Vec<u8>,
    /// Of a body that names none.
    operator: Option<Operator>,
    /// A set that has as many takes no other.
    members_max: usize,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Responder {}

impl DataTypeFunctions for Responder {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.set);
    }
}

impl Responder {
    /// `writes` is nil or `[index, prefix, operator or nil, members_max]`.
    fn new(
        ruby: &Ruby,
        set: Value,
        header: Value,
        member: String,
        member_bytes_max: usize,
        list: RArray,
        writes: Option<RArray>,
    ) -> Result<Self, Error> {
        if CLASS.native::<RubyRankedSet>(&set).is_none() {
            let message = format!("A responder is for an Elah::RankedSet, not for {}.", set.class());
            return Err(Error::new(ruby.exception_type_error(), message));
        }
        Ok(Responder {
            set: set.into(),
            headers: headers(ruby, header)?,
            member,
            member_bytes_max,
            list: [list.entry(0)?, list.entry(1)?, list.entry(2)?],
            top: RefCell::default(),
            writes: writes.map(|writes| Writes::new(ruby, writes)).transpose()?,
        })
    }

    /// Answers with the member that a request names.
    fn row(ruby: &Ruby, responder: Receiver<Self>, request: Value) -> Result<bool, Error> {
        responder.answer(ruby, request, |set, request| {
            let member = responder.member(request)?;
            let mut out = Vec::with_capacity(USUAL_ANSWER_BYTES);
            set.write_row(&mut out, &set.set.borrow().row_of(member.as_bytes(), Style::Ordinal)?).ok()?;
            out.push(b'}');
            Some(out.into())
        })
    }

    /// Answers with the first members.
    fn top(ruby: &Ruby, responder: Receiver<Self>, request: Value, count: usize) -> Result<bool, Error> {
        responder.answer(ruby, request, |set, _| {
            let version = set.set.borrow().version();
            let mut kept = responder.top.borrow_mut();
            if let Some(top) = kept.as_ref().filter(|top| top.count == count && top.version == version) {
                return Some(top.text.clone());
            }
            let text = responder.list(set, |inner| Some(inner.rows(0..count, Style::Ordinal)))?;
            *kept = Some(Top { count, version, text: text.clone() });
            Some(text)
        })
    }

    /// Answers with the member that a request names, between its neighbours.
    fn around(ruby: &Ruby, responder: Receiver<Self>, request: Value, distance: usize) -> Result<bool, Error> {
        responder.answer(ruby, request, |set, request| {
            let member = responder.member(request)?;
            responder.list(set, |inner| inner.rows_around(member.as_bytes(), distance, Style::Ordinal))
        })
    }

    /// Submits the score in the body of a request for the member that it names, and answers what that did, when the answer may leave. Yields
    /// the answer's text if the member's standing has changed.
    fn submit(ruby: &Ruby, responder: Receiver<Self>, request: Value) -> Result<bool, Error> {
        let set = ruby.get_inner(responder.set);
        let (Some(set), Some(request)) = (CLASS.native::<RubyRankedSet>(&set), request::CLASS.native::<Request>(&request)) else {
            return Ok(false);
        };
        let Some(writes) = responder.writes.as_ref().filter(|writes| writes.index.entity.takes_writes()) else {
            return Ok(false);
        };
        let worker = worker(ruby)?;
        let done = worker.request(request.id(), |request| responder.write(set, writes, &request)).flatten();
        let Some((text, is_changed)) = done else { return Ok(false) };
        set.report(ruby);
        writes.index.entity.respond(&worker, request.id(), responder.response(ruby, text.clone())?);
        if is_changed && ruby.block_given() {
            let _: Value = ruby.yield_value(utf8::new_string(&text, text.is_ascii())?)?;
        }
        Ok(true)
    }

    /// What a submission did, and whether it changed a standing. `None`, and nothing has changed, when it is not plain, or refused.
    fn write(&self, set: &RubyRankedSet, writes: &Writes, request: &RequestView<'_>) -> Option<(Bytes, bool)> {
        let BodyPlace::Memory(body) = request.body() else { return None };
        if !request.query().is_empty() || *request.header("content-type")? != *JSON {
            return None;
        }
        let submitted = submitted::read(&body, &set.order)?;
        let operator = submitted.operator.or(writes.operator)?;
        let member = self.member(request)?;
        let name = member.as_bytes();
        let mut inner = set.set.borrow_mut();
        if inner.len() >= writes.members_max && inner.standing(name).is_none() {
            return None;
        }
        let store = gathers_row(Some(&writes.index), &writes.prefix, name, &set.order);
        let done = inner.submit_stored(name, &submitted.scores, operator, Style::Ordinal, store).ok()?;
        let mut out = Vec::with_capacity(USUAL_ANSWER_BYTES);
        done.write_json(&mut out, member, &set.order);
        Some((out.into(), done.is_changed))
    }

    fn member<'r>(&self, request: &RequestView<'r>) -> Option<&'r str> {
        let (_, member) = request.route_params().find(|(name, _)| *name == self.member)?;
        (!member.is_empty() && member.len() <= self.member_bytes_max).then_some(member)
    }

    fn list(&self, set: &RubyRankedSet, rows: impl FnOnce(&RankedSet) -> Option<Rows<'_>>) -> Option<Bytes> {
        let [before_size, before_rows, after] = &self.list;
        let inner = set.set.borrow();
        let rows = rows(&inner)?;
        let mut out = Vec::with_capacity(USUAL_ANSWER_BYTES + rows.len() * USUAL_ROW_BYTES);
        out.extend_from_slice(before_size.as_bytes());
        out.extend_from_slice(itoa::Buffer::new().format(inner.len()).as_bytes());
        out.extend_from_slice(before_rows.as_bytes());
        set.write_rows(&mut out, rows).ok()?;
        out.extend_from_slice(after.as_bytes());
        Some(out.into())
    }

    /// Answers with what `write` makes of a request. False, and nothing has happened, when it makes nothing of it.
    fn answer(
        &self,
        ruby: &Ruby,
        request: Value,
        write: impl FnOnce(&RubyRankedSet, &RequestView<'_>) -> Option<Bytes>,
    ) -> Result<bool, Error> {
        let set = ruby.get_inner(self.set);
        let (Some(set), Some(request)) = (CLASS.native::<RubyRankedSet>(&set), request::CLASS.native::<Request>(&request)) else {
            return Ok(false);
        };
        let worker = worker(ruby)?;
        let plain = |view: RequestView<'_>| if view.query().is_empty() { write(set, &view) } else { None };
        let Some(text) = worker.request(request.id(), plain).flatten() else { return Ok(false) };
        worker.respond(request.id(), self.response(ruby, text)?);
        Ok(true)
    }

    fn response(&self, ruby: &Ruby, text: Bytes) -> Result<Response, Error> {
        Response::new(200, self.headers.clone(), text).ok_or_else(|| request::invalid_status(ruby, 200))
    }
}

impl Writes {
    fn new(ruby: &Ruby, writes: RArray) -> Result<Self, Error> {
        let (index, operator): (Value, Value) = (writes.entry(0)?, writes.entry(2)?);
        let operator = if operator.is_nil() { None } else { Some(OPERATORS.read(ruby, operator)?) };
        Ok(Writes {
            index: index::native(ruby, &index)?.clone(),
            prefix: to_bytes(writes.entry::<RString>(1)?),
            // What would count twice when it is sent again is not plain.
            operator: operator.filter(|operator| *operator != Operator::Increment),
            members_max: writes.entry(3)?,
        })
    }
}

pub(super) fn init(ruby: &Ruby, set: RClass) -> Result<(), Error> {
    let class = native_class::define::<Responder>(ruby, set, "Responder")?;
    class.define_singleton_method("new_native", function!(Responder::new, 6))?;
    class.define_method("row", method!(Responder::row, 1))?;
    class.define_method("top", method!(Responder::top, 2))?;
    class.define_method("around", method!(Responder::around, 2))?;
    class.define_method("submit", method!(Responder::submit, 1))?;
    Ok(())
}
