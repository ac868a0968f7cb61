//! Results of a set, as instances of the Structs declared in `lib/elah/collections/ranked_set/results.rb`.

use std::sync::OnceLock;

use elah_ranked_set::{Order, Rank, Rows, Scores, Standing, Submission};
use magnus::encoding::EncodingCapable;
use magnus::rb_sys::AsRawValue;
use magnus::value::{Opaque, ReprValue};
use magnus::{Error, RArray, RClass, RString, Ruby, Value};

use super::scores;
use crate::ruby::raw_objects::filled_struct;
use crate::ruby::utf8::{self, Text};
use crate::store::with_bytes;

struct Structs {
    row: Opaque<RClass>,
    submission: Opaque<RClass>,
    decision: Opaque<RClass>,
}

static STRUCTS: OnceLock<Structs> = OnceLock::new();

/// Set once by the Ruby half, whose constants keep the classes alive.
pub(super) fn set(ruby: &Ruby, row: RClass, submission: RClass, decision: RClass) {
    [row, submission, decision].into_iter().for_each(|class| ruby.gc_register_mark_object(class));
    let _ = STRUCTS.set(Structs { row: row.into(), submission: submission.into(), decision: decision.into() });
}

fn structs(ruby: &Ruby) -> Result<&'static Structs, Error> {
    let missing =
        || Error::new(crate::ruby::errors::class(ruby, "InternalError"), "The Structs of ranked sets are not declared.");
    STRUCTS.get().ok_or_else(missing)
}

pub(super) fn rank(ruby: &Ruby, rank: Rank) -> Value {
    match rank {
        Rank::Whole(rank) => ruby.integer_from_u64(rank as u64).as_value(),
        Rank::Mean(rank) => ruby.float_from_f64(rank).as_value(),
    }
}

/// A name as a frozen String: text if it is UTF-8, else bytes.
pub(super) fn name(ruby: &Ruby, name: &[u8]) -> Result<Value, Error> {
    let string = match std::str::from_utf8(name) {
        Ok(text) => utf8::new_string(name, text.is_ascii())?,
        Err(_) => ruby.str_from_slice(name),
    };
    string.freeze();
    Ok(string.as_value())
}

/// A name passed by a caller, in the form of `name`.
pub(super) fn member(ruby: &Ruby, member: RString) -> Result<Value, Error> {
    // SAFETY: the String is an argument of the method, and no Ruby code runs meanwhile.
    let is_valid = matches!(unsafe { utf8::text(member.as_raw()) }, Text::Utf8 { .. });
    match is_valid && member.enc_get() == ruby.utf8_encindex() {
        true => Ok(RString::new_frozen(member).as_value()),
        false => name(ruby, &with_bytes(member, <[u8]>::to_vec)),
    }
}

pub(super) fn row(ruby: &Ruby, order: &Order, name: Value, place: Rank, scores: &Scores) -> Result<Value, Error> {
    let values = [name, rank(ruby, place), scores::written(ruby, order, scores)?];
    filled_struct(ruby, structs(ruby)?.row, values)
}

/// Rows that have been read, and no longer borrow the set.
pub(super) struct Taken {
    /// The rows, or their names when their scores are to follow.
    array: RArray,
    standings: Vec<(Rank, Scores)>,
}

impl Taken {
    /// Makes the rows of an order of whole numbers, which needs no methods of Ruby.
    pub(super) fn new(ruby: &Ruby, order: &Order, rows: Rows<'_>) -> Result<Self, Error> {
        let is_whole = order.components().iter().all(|component| component.decimals == 0);
        let mut taken = Taken { array: ruby.ary_new_capa(rows.len()), standings: Vec::new() };
        for entry in rows {
            let name = name(ruby, entry.name)?;
            if is_whole {
                taken.array.push(row(ruby, order, name, entry.rank, &entry.scores)?)?;
            } else {
                taken.array.push(name)?;
                taken.standings.push((entry.rank, entry.scores));
            }
        }
        Ok(taken)
    }

    pub(super) fn rows(self, ruby: &Ruby, order: &Order) -> Result<RArray, Error> {
        for (at, (place, scores)) in self.standings.into_iter().enumerate() {
            let name = self.array.entry(at as isize)?;
            self.array.store(at as isize, row(ruby, order, name, place, &scores)?)?;
        }
        Ok(self.array)
    }
}

pub(super) fn submission(ruby: &Ruby, order: &Order, member: Value, done: &Submission) -> Result<Value, Error> {
    let (previous_score, previous_sequence) = standing(ruby, order, done.previous.as_ref())?;
    let (score, sequence) = standing(ruby, order, Some(&done.standing))?;
    let previous_rank = done.previous_rank.map_or(ruby.qnil().as_value(), |previous| rank(ruby, previous));
    let is_changed = if done.is_changed { ruby.qtrue().as_value() } else { ruby.qfalse().as_value() };
    let rank = rank(ruby, done.rank);
    let values = [member, score, rank, previous_score, previous_rank, is_changed, sequence, previous_sequence];
    filled_struct(ruby, structs(ruby)?.submission, values)
}

pub(super) fn decision(ruby: &Ruby, order: &Order, member: Value, decided: &Standing) -> Result<Value, Error> {
    let (score, sequence) = standing(ruby, order, Some(decided))?;
    filled_struct(ruby, structs(ruby)?.decision, [member, score, sequence])
}

/// Score and sequence, or two nils.
fn standing(ruby: &Ruby, order: &Order, standing: Option<&Standing>) -> Result<(Value, Value), Error> {
    match standing {
        None => Ok((ruby.qnil().as_value(), ruby.qnil().as_value())),
        Some(standing) => {
            let score = scores::written(ruby, order, &standing.scores)?;
            Ok((score, ruby.integer_from_u64(standing.sequence).as_value()))
        }
    }
}
