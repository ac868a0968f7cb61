//! The body of a plain submission: `{"score":120,"operator":"set"}`. One that has more, or anything unusual, is left to `Elah::JSON`.

use std::fmt;

use elah_core::ranked_set::{Component, Operator, Order, Scores, number};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::words::OPERATORS;

/// What is submitted.
pub(super) struct Submitted {
    pub(super) scores: Scores,
    /// What to do with it, if the body says so.
    pub(super) operator: Option<Operator>,
}

/// Reads a body. `None` when it is not plain, or has no score of the order's.
pub(super) fn read(body: &[u8], order: &Order) -> Option<Submitted> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let submitted = Body { order }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(submitted)
}

struct Body<'o> {
    order: &'o Order,
}

impl<'de> DeserializeSeed<'de> for Body<'_> {
    type Value = Submitted;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Submitted, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = Submitted;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Submitted, A::Error> {
        let (mut scores, mut operator) = (None, None);
        while let Some(name) = members.next_key_seed(Name)? {
            match name {
                "score" if scores.is_none() => {
                    scores = Some(members.next_value_seed(Score { components: self.order.components() })?)
                }
                "operator" if operator.is_none() => operator = Some(members.next_value_seed(Named)?),
                _ => return Err(A::Error::custom("it has another member, or one twice")),
            }
        }
        let scores = scores.ok_or_else(|| A::Error::custom("it has no score"))?;
        Ok(Submitted { scores, operator })
    }
}

/// The name of a member, as one of those that are known.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = &'static str;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<&'static str, E> {
        Ok(match name {
            "score" => "score",
            "operator" => "operator",
            _ => "",
        })
    }
}

/// The name of an operator that does nothing more when it comes twice.
struct Named;

impl<'de> DeserializeSeed<'de> for Named {
    type Value = Operator;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Operator, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named {
    type Value = Operator;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an operator")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Operator, E> {
        let operator = OPERATORS.named(name).filter(|operator| *operator != Operator::Increment);
        operator.ok_or_else(|| E::custom("it is none"))
    }
}

/// A score as `scores::read` takes it, but for numbers with a point or an exponent.
struct Score<'c> {
    components: &'c [Component],
}

impl<'de> DeserializeSeed<'de> for Score<'_> {
    type Value = Scores;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scores, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Score<'_> {
    type Value = Scores;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a score")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scores, E> {
        self.only()?.visit_i64(number).map(|number| Scores::from_slice(&[number]))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scores, E> {
        self.only()?.visit_u64(number).map(|number| Scores::from_slice(&[number]))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scores, E> {
        self.only()?.visit_str(text).map(|number| Scores::from_slice(&[number]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Scores, A::Error> {
        let mut scores = Scores::new();
        for component in self.components {
            let number = numbers.next_element_seed(Number { component })?;
            scores.push(number.ok_or_else(|| A::Error::custom("it has too few components"))?);
        }
        match numbers.next_element::<IgnoredAny>()? {
            None => Ok(scores),
            Some(_) => Err(A::Error::custom("it has too many components")),
        }
    }
}

impl<'c> Score<'c> {
    fn only<E: Error>(&self) -> Result<Number<'c>, E> {
        match self.components {
            [component] => Ok(Number { component }),
            _ => Err(E::custom("it has several components")),
        }
    }
}

/// A number of one component.
struct Number<'c> {
    component: &'c Component,
}

impl<'de> DeserializeSeed<'de> for Number<'_> {
    type Value = i64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<i64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Number<'_> {
    type Value = i64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number or a text")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        let scaled = number.checked_mul(10_i64.pow(u32::from(self.component.decimals)));
        scaled.ok_or_else(|| E::custom("it is too large"))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        self.visit_i64(i64::try_from(number).map_err(E::custom)?)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
        number::parse(text, self.component.decimals).map_err(E::custom)
    }
}
