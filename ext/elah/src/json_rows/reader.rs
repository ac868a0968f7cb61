//! Reads the rows out of a JSON text. The rest of the text is passed over, with a look at its form alone.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::column::Column;
use super::plain;

/// Which list of a document, and which members of its objects. Of a repeated name the last value counts.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'w> {
    /// Names of the list, the preferred one first.
    pub(super) lists: &'w [String],
    /// Is read, if it is a text.
    pub(super) member: &'w str,
    /// Is kept as it was written, unless it is null.
    pub(super) echo: &'w str,
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) texts: Column,
    pub(super) echoes: Column,
}

impl Found {
    pub(super) fn with_capacity(rows: usize, bytes: usize) -> Self {
        Found { texts: Column::with_capacity(rows, bytes), echoes: Column::with_capacity(rows, bytes / 4) }
    }
}

/// The rows; `None` when the text is no object with such a list.
pub(super) fn read(text: &str, wanted: Wanted<'_>) -> Result<Option<Found>, serde_json::Error> {
    if let Some(found) = plain::read(text, wanted) {
        return Ok(Some(found));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = Place::new(Document(wanted)).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

/// What is looked for at one place of the text. Any other value than those that it takes is its default.
trait Part<'de>: Sized {
    type Value: Default;

    fn text(self, _: Cow<'de, str>) -> Self::Value {
        Self::Value::default()
    }

    fn list<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::Value::default())
    }

    fn object<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::Value::default())
    }
}

/// The document: the list in its object.
struct Document<'w>(Wanted<'w>);

impl<'de> Part<'de> for Document<'_> {
    type Value = Option<Found>;

    fn object<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<Found>, A::Error> {
        let mut best = None;
        while let Some(name) = members.next_key_seed(Place::new(Text))? {
            let rank = self.0.lists.iter().position(|list| Some(list.as_str()) == name.as_deref());
            let Some(rank) = rank else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            if let Some(found) = members.next_value_seed(Place::new(List(self.0)))?
                && best.as_ref().is_none_or(|(best, _)| rank <= *best)
            {
                best = Some((rank, found));
            }
        }
        Ok(best.map(|(_, found)| found))
    }
}

/// The list: its rows.
struct List<'w>(Wanted<'w>);

impl<'de> Part<'de> for List<'_> {
    type Value = Option<Found>;

    fn list<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Option<Found>, A::Error> {
        let mut found = Found::default();
        while let Some((text, echo)) = elements.next_element_seed(Place::new(Row(self.0)))? {
            found.texts.push(text.as_deref());
            found.echoes.push(echo);
        }
        Ok(Some(found))
    }
}

/// A row: what is read and what is kept of its object.
struct Row<'w>(Wanted<'w>);

impl<'de> Part<'de> for Row<'_> {
    type Value = (Option<Cow<'de, str>>, Option<&'de str>);

    fn object<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut text, mut echo) = (None, None);
        while let Some(name) = members.next_key_seed(Place::new(Text))? {
            match name.as_deref() {
                Some(name) if name == self.0.member => text = members.next_value_seed(Place::new(Text))?,
                Some(name) if name == self.0.echo => echo = kept(members.next_value()?)?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok((text, echo))
    }
}

/// A value as it was written. One with escapes is read whole, since a half of a surrogate pair is no text.
fn kept<E: Error>(value: &RawValue) -> Result<Option<&str>, E> {
    let written = value.get();
    if written.contains('\\') {
        serde_json::from_str::<serde_json::Value>(written).map_err(E::custom)?;
    }
    Ok((written != "null").then_some(written))
}

/// A text.
struct Text;

impl<'de> Part<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn text(self, text: Cow<'de, str>) -> Self::Value {
        Some(text)
    }
}

/// Asks serde for whatever stands at the place of a part.
struct Place<'de, P>(P, PhantomData<&'de ()>);

impl<P> Place<'_, P> {
    fn new(part: P) -> Self {
        Place(part, PhantomData)
    }
}

impl<'de, P: Part<'de>> DeserializeSeed<'de> for Place<'de, P> {
    type Value = P::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<P::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Part<'de>> Visitor<'de> for Place<'de, P> {
    type Value = P::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<P::Value, E> {
        Ok(P::Value::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<P::Value, E> {
        Ok(P::Value::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<P::Value, E> {
        Ok(P::Value::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<P::Value, E> {
        Ok(P::Value::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<P::Value, E> {
        Ok(P::Value::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<P::Value, E> {
        Ok(self.0.text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<P::Value, E> {
        Ok(self.0.text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<P::Value, A::Error> {
        self.0.list(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<P::Value, A::Error> {
        self.0.object(members)
    }
}
