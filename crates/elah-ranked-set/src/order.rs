//! The order of a set: the components of a score, their directions, and the decision between equal scores.

use smallvec::SmallVec;

use super::bounds::{COMPONENTS_MAX, DECIMALS_MAX};
use super::error::Error;
use super::key::Key;

/// The components of a score as whole multiples of their last digit; see [`super::number`].
pub type Scores = SmallVec<[i64; 2]>;

/// Which of two numbers ranks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smaller: times, distances.
    Ascending,
    /// The larger: points.
    Descending,
}

/// One number of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Which number ranks first.
    pub direction: Direction,
    /// Digits behind the decimal point, up to `DECIMALS_MAX`.
    pub decimals: u8,
}

/// The decision between members of equal score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The member that has had the score for longer ranks first.
    Earliest,
    /// The bytes of the names, in their order.
    Member,
}

/// The order of a set. Components are compared one after the other; the first that differs decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    components: Vec<Component>,
    ties: Ties,
}

impl Order {
    /// # Errors
    /// `InvalidOrder` when there are no components, more than `COMPONENTS_MAX`, or more than `DECIMALS_MAX` decimals.
    pub fn new(components: Vec<Component>, ties: Ties) -> Result<Self, Error> {
        let decimals = components.iter().map(|component| component.decimals).max().unwrap_or(0);
        if components.is_empty() || components.len() > COMPONENTS_MAX || decimals > DECIMALS_MAX {
            return Err(Error::InvalidOrder { components: components.len(), decimals });
        }
        Ok(Order { components, ties })
    }

    /// The components, the most significant first.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// What decides between equal scores.
    pub fn ties(&self) -> Ties {
        self.ties
    }

    pub(super) fn check(&self, scores: &[i64]) -> Result<(), Error> {
        match scores.len() == self.components.len() {
            true => Ok(()),
            false => Err(Error::WrongComponents { given: scores.len(), expected: self.components.len() }),
        }
    }

    /// Words that compare as the scores rank; fewer scores than components make fewer words.
    pub(super) fn words(&self, scores: &[i64]) -> impl Iterator<Item = u64> {
        scores.iter().zip(&self.components).map(|(score, component)| word(*score, component.direction))
    }

    /// A whole key. `sequence` decides ties when the earliest wins, the first bytes of the name when the name decides.
    pub(super) fn key(&self, scores: &[i64], sequence: u64, name: &[u8]) -> Key {
        let tie = match self.ties {
            Ties::Earliest => sequence,
            Ties::Member => {
                let mut first = [0; 8];
                first.iter_mut().zip(name).for_each(|(place, byte)| *place = *byte);
                u64::from_be_bytes(first)
            }
        };
        Key::new(self.words(scores).chain([tie]))
    }

    /// The scores in the words of a key.
    pub(super) fn scores(&self, words: impl IntoIterator<Item = u64>) -> Scores {
        words.into_iter().zip(&self.components).map(|(word, component)| number(word, component.direction)).collect()
    }

    /// The sequence in a key; 0 when names decide ties.
    pub(super) fn sequence(&self, key: &[u64]) -> u64 {
        match self.ties {
            Ties::Earliest => key.last().copied().unwrap_or(0),
            Ties::Member => 0,
        }
    }

    /// Bytes that are equal only for equal orders.
    pub(super) fn signature(&self) -> Vec<u8> {
        let ties = match self.ties {
            Ties::Earliest => b'e',
            Ties::Member => b'm',
        };
        let components = self.components.iter().map(|component| match component.direction {
            Direction::Ascending => component.decimals,
            Direction::Descending => component.decimals | 0x80,
        });
        [self.components.len() as u8, ties].into_iter().chain(components).collect()
    }
}

const SIGN: u64 = 1 << 63;

fn word(score: i64, direction: Direction) -> u64 {
    match direction {
        Direction::Ascending => score as u64 ^ SIGN,
        Direction::Descending => !(score as u64 ^ SIGN),
    }
}

fn number(word: u64, direction: Direction) -> i64 {
    match direction {
        Direction::Ascending => (word ^ SIGN) as i64,
        Direction::Descending => (!word ^ SIGN) as i64,
    }
}
