//! JSON of members, written directly from the set. An integer is a number. A score with decimals is a string with all its digits,
//! because most programs read decimal numbers inexactly. A score of several components is a list.

use super::error::Error;
use super::order::{Component, Order};
use super::{Rank, Row, Submission, number};
use elah_json::text::{write_float, write_string};

impl Row<'_> {
    /// Appends `"rank":1,"member":"ann","score":120`, without braces.
    ///
    /// # Errors
    /// `NotText` if the member's name is not UTF-8; the caller must then truncate the output.
    pub fn write_json(&self, out: &mut Vec<u8>, order: &Order) -> Result<(), Error> {
        out.extend_from_slice(b"\"rank\":");
        write_rank(out, self.rank);
        out.extend_from_slice(b",\"member\":");
        write_string(out, name_text(self.name)?);
        out.extend_from_slice(b",\"score\":");
        write_score(out, &self.scores, order);
        Ok(())
    }
}

impl Submission {
    /// Appends `{"rank":1,"member":"ann","score":120,"previous_rank":null,"previous_score":null,"changed":true}`.
    pub fn write_json(&self, out: &mut Vec<u8>, name: &str, order: &Order) {
        out.extend_from_slice(b"{\"rank\":");
        write_rank(out, self.rank);
        out.extend_from_slice(b",\"member\":");
        write_string(out, name);
        out.extend_from_slice(b",\"score\":");
        write_score(out, &self.standing.scores, order);
        out.extend_from_slice(b",\"previous_rank\":");
        match self.previous_rank {
            Some(rank) => write_rank(out, rank),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"previous_score\":");
        match &self.previous {
            Some(previous) => write_score(out, &previous.scores, order),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(if self.is_changed { b",\"changed\":true}" } else { b",\"changed\":false}" });
    }
}

/// The name of a member as text.
///
/// # Errors
/// `NotText`.
pub fn name_text(name: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(name).map_err(|_| Error::NotText { name: String::from_utf8_lossy(name).chars().take(40).collect() })
}

fn write_rank(out: &mut Vec<u8>, rank: Rank) {
    match rank {
        Rank::Whole(rank) => out.extend_from_slice(itoa::Buffer::new().format(rank).as_bytes()),
        Rank::Mean(rank) => write_float(out, rank),
    }
}

fn write_score(out: &mut Vec<u8>, scores: &[i64], order: &Order) {
    if let ([score], [component]) = (scores, order.components()) {
        return write_number(out, *score, component);
    }
    for (place, (score, component)) in scores.iter().zip(order.components()).enumerate() {
        out.push(if place == 0 { b'[' } else { b',' });
        write_number(out, *score, component);
    }
    out.push(b']');
}

fn write_number(out: &mut Vec<u8>, score: i64, component: &Component) {
    if component.decimals == 0 {
        return out.extend_from_slice(itoa::Buffer::new().format(score).as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(number::text_of(score, component.decimals).as_bytes());
    out.push(b'"');
}
