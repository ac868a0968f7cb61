//! `Elah::RankedSet::Responder`: answers plain requests about the members of a set, from the request to the response without a Ruby object
//! in between. What is not plain it leaves alone. Which requests are about which set, `entity_responder` knows.

use std::cell::RefCell;

use bytes::Bytes;
use elah_core::ranked_set::{Operator, RankedSet, Rows, Style};
use elah_core::request::{BodyPlace, RequestView};
use elah_core::response::{Headers, Response};
use magnus::value::{Opaque, ReprValue};
use magnus::{DataTypeFunctions, Error, Object, RArray, RClass, RString, Ruby, TypedData, Value, function, gc};

use super::json::{USUAL_ROW_BYTES, gathers_row};
use super::words::OPERATORS;
use super::{RubyRankedSet, submitted, to_bytes};
use crate::header_set::headers;
use crate::native_class;
use crate::receiver::ExactClass;
use crate::responders::Candidate;
use crate::shards::index::{self, RubyIndex};
use crate::utf8;

/// Most answers that are no list are no longer.
const USUAL_ANSWER_BYTES: usize = 128;
const JSON: &[u8] = b"application/json";

/// `Elah::RankedSet::Responder`, to know its instances at a glance.
pub(super) static CLASS: ExactClass = ExactClass::new();

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
    /// Called with the answer of each submission that has changed something.
    changed: Option<Opaque<Value>>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Responder {}

impl DataTypeFunctions for Responder {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.set);
        if let Some(changed) = self.writes.as_ref().and_then(|writes| writes.changed) {
            marker.mark(changed);
        }
    }
}

impl Responder {
    /// `writes` is nil or `[index, prefix, operator or nil, members_max, changed or nil]`.
    fn new(
        ruby: &Ruby,
        set: Value,
        header: Value,
        member: String,
        member_bytes_max: usize,
        list: RArray,
        writes: Option<RArray>,
    ) -> Result<Self, Error> {
        if super::CLASS.native::<RubyRankedSet>(&set).is_none() {
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
    pub(super) fn row(&self, candidate: &Candidate<'_>) -> bool {
        self.answer(candidate, |set, request| {
            let member = self.member(request)?;
            let mut out = Vec::with_capacity(USUAL_ANSWER_BYTES);
            set.write_row(&mut out, &set.set.borrow().row_of(member.as_bytes(), Style::Ordinal)?).ok()?;
            out.push(b'}');
            Some(out.into())
        })
    }

    /// Answers with the first members.
    pub(super) fn top(&self, candidate: &Candidate<'_>, count: usize) -> bool {
        self.answer(candidate, |set, _| {
            let version = set.set.borrow().version();
            let mut kept = self.top.borrow_mut();
            if let Some(top) = kept.as_ref().filter(|top| top.count == count && top.version == version) {
                return Some(top.text.clone());
            }
            let text = self.list(set, |inner| Some(inner.rows(0..count, Style::Ordinal)))?;
            *kept = Some(Top { count, version, text: text.clone() });
            Some(text)
        })
    }

    /// Answers with the member that a request names, between its neighbours.
    pub(super) fn around(&self, candidate: &Candidate<'_>, distance: usize) -> bool {
        self.answer(candidate, |set, request| {
            let member = self.member(request)?;
            self.list(set, |inner| inner.rows_around(member.as_bytes(), distance, Style::Ordinal))
        })
    }

    /// Submits the score in the body of a request for the member that it names, and answers what that did, when the answer may leave.
    pub(super) fn submit(&self, candidate: &Candidate<'_>) -> Result<bool, Error> {
        let ruby = candidate.ruby;
        let set = ruby.get_inner(self.set);
        let Some(set) = super::CLASS.native::<RubyRankedSet>(&set) else { return Ok(false) };
        let Some(writes) = self.writes.as_ref().filter(|writes| writes.index.entity.takes_writes()) else { return Ok(false) };
        let done = candidate.read(|request| self.write(set, writes, request));
        let Some((text, is_changed)) = done else { return Ok(false) };
        set.report(ruby);
        let response = self.response(text.clone());
        writes.index.entity.respond(candidate.worker, candidate.id, response);
        if let Some(changed) = writes.changed.filter(|_| is_changed) {
            let told = utf8::new_string(&text, text.is_ascii())
                .and_then(|text| ruby.get_inner(changed).funcall::<_, _, Value>("call", (text,)));
            told.map(|_| ()).or_else(|error| candidate.report(error))?;
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
    fn answer(&self, candidate: &Candidate<'_>, write: impl FnOnce(&RubyRankedSet, &RequestView<'_>) -> Option<Bytes>) -> bool {
        let set = candidate.ruby.get_inner(self.set);
        let Some(set) = super::CLASS.native::<RubyRankedSet>(&set) else { return false };
        let text = candidate.read(|request| if request.query().is_empty() { write(set, request) } else { None });
        let Some(text) = text else { return false };
        candidate.worker.respond(candidate.id, self.response(text));
        true
    }

    fn response(&self, text: Bytes) -> Response {
        Response::new(200, self.headers.clone(), text).expect("200 is the status of an answer")
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
            changed: writes.entry::<Option<Value>>(4)?.map(Opaque::from),
        })
    }
}

pub(super) fn init(ruby: &Ruby, set: RClass) -> Result<(), Error> {
    let class = native_class::define::<Responder>(ruby, set, "Responder")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new_native", function!(Responder::new, 6))
}
