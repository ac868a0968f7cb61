//! A lease pool that anyone can see is right: it looks at every item whenever it is asked.

use elah_lease_pool::{Policy, Terms};

#[derive(Clone, Debug, PartialEq)]
pub enum Use {
    Free { since: i64 },
    Held { begun: i64, due: i64, serial: u64 },
    Quarantined { until: i64 },
}

#[derive(Clone, Debug)]
pub struct Place {
    pub item: i64,
    pub is_leaving: bool,
    pub used: Use,
    pub session: Option<Vec<u8>>,
}

pub struct Model {
    pub terms: Terms,
    pub places: Vec<Option<Place>>,
    pub now: i64,
    pub serial: u64,
    next: usize,
}

impl Model {
    pub fn new(terms: Terms) -> Self {
        Model { terms, places: Vec::new(), now: 0, serial: 0, next: 0 }
    }

    pub fn step(&mut self, now: i64) {
        self.advance(now.max(self.now + 1));
    }

    pub fn advance(&mut self, now: i64) {
        self.now = self.now.max(now);
        for place in &mut self.places {
            let Some(found) = place else { continue };
            if let Use::Held { due, .. } = found.used
                && due <= self.now
            {
                found.end(due, self.terms);
            }
            if let Use::Quarantined { until } = found.used
                && until <= self.now
            {
                found.used = Use::Free { since: until };
            }
            if found.is_leaving && matches!(found.used, Use::Free { .. }) {
                *place = None;
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter_map(|(at, place)| place.as_ref().map(|place| (at, place)))
    }

    fn free(&self) -> impl Iterator<Item = (usize, i64, &Place)> {
        self.all().filter_map(|(at, place)| if let Use::Free { since } = place.used { Some((at, since, place)) } else { None })
    }

    /// The place of the session's lease, if it holds one.
    pub fn held_by(&self, session: Option<&[u8]>) -> Option<&Place> {
        let mut held = self.all().filter(|(_, place)| matches!(place.used, Use::Held { .. }));
        held.find(|(_, place)| session.is_some() && place.session.as_deref() == session).map(|(_, place)| place)
    }

    /// The items of which one has to be lent; several only for a random choice.
    pub fn candidates(&self, session: Option<&[u8]>, item: Option<i64>) -> Vec<i64> {
        if self.terms.is_draining {
            return Vec::new();
        }
        if let Some(item) = item {
            return self.free().filter(|(.., place)| place.item == item).map(|(.., place)| place.item).collect();
        }
        let last = self.free().find(|(.., place)| session.is_some() && place.session.as_deref() == session);
        let chosen = match self.terms.policy {
            Policy::Random => return self.free().map(|(.., place)| place.item).collect(),
            Policy::RoundRobin => self.free().min_by_key(|(at, ..)| (*at < self.next, *at)),
            Policy::LongestIdle | Policy::Sticky => last.or_else(|| self.free().min_by_key(|(at, since, _)| (*since, *at))),
        };
        chosen.into_iter().map(|(.., place)| place.item).collect()
    }

    pub fn lend(&mut self, item: i64, session: Option<&[u8]>) {
        self.serial += 1;
        let lent = Use::Held { begun: self.now, due: self.now + self.terms.hold, serial: self.serial };
        for (at, place) in self.places.iter_mut().enumerate() {
            let Some(place) = place else { continue };
            if place.item == item {
                self.next = at + 1;
                (place.used, place.session) = (lent.clone(), session.map(<[u8]>::to_vec));
            } else if session.is_some() && place.session.as_deref() == session {
                place.session = None;
            }
        }
    }

    pub fn lease(&mut self, item: i64, serial: u64) -> Option<&mut Place> {
        let is_it =
            |place: &&mut Place| place.item == item && matches!(place.used, Use::Held { serial: held, .. } if held == serial);
        self.places.iter_mut().flatten().find(is_it)
    }

    pub fn change(&mut self, terms: Terms) {
        if terms.policy != self.terms.policy {
            self.next = 0;
        }
        self.terms = terms;
        for place in self.places.iter_mut().flatten() {
            if terms.policy != Policy::Sticky && !matches!(place.used, Use::Held { .. }) {
                place.session = None;
            }
        }
    }

    /// The items that leave, and when.
    pub fn resize(&mut self, items: &[i64]) -> Vec<(i64, i64)> {
        let mut left = Vec::new();
        for place in &mut self.places {
            let Some(found) = place.as_mut().filter(|place| !items.contains(&place.item)) else { continue };
            match found.used {
                Use::Free { .. } => {
                    left.push((found.item, self.now));
                    *place = None;
                    continue;
                }
                Use::Held { due, .. } => left.push((found.item, due + self.terms.quarantine)),
                Use::Quarantined { until } => left.push((found.item, until)),
            }
            found.is_leaving = true;
        }
        for item in items {
            if let Some(place) = self.places.iter_mut().flatten().find(|place| place.item == *item) {
                place.is_leaving = false;
                continue;
            }
            let made = Place { item: *item, is_leaving: false, used: Use::Free { since: self.now }, session: None };
            match self.places.iter_mut().find(|place| place.is_none()) {
                Some(place) => *place = Some(made),
                None => self.places.push(Some(made)),
            }
        }
        left
    }

    /// How many items are free, held, in quarantine, and leave.
    pub fn counts(&self) -> (usize, usize, usize, usize) {
        let count = |wanted: fn(&Place) -> bool| self.all().filter(|(_, place)| wanted(place)).count();
        (
            count(|place| matches!(place.used, Use::Free { .. })),
            count(|place| matches!(place.used, Use::Held { .. })),
            count(|place| matches!(place.used, Use::Quarantined { .. })),
            count(|place| place.is_leaving),
        )
    }

    pub fn next_free_at(&self) -> Option<i64> {
        let stays = self.all().filter(|(_, place)| !place.is_leaving);
        stays
            .map(|(_, place)| match place.used {
                Use::Free { .. } => self.now,
                Use::Held { due, .. } => due + self.terms.quarantine,
                Use::Quarantined { until } => until,
            })
            .min()
    }
}

impl Place {
    pub fn end(&mut self, at: i64, terms: Terms) {
        if terms.policy != Policy::Sticky {
            self.session = None;
        }
        self.used =
            if terms.quarantine > 0 { Use::Quarantined { until: at + terms.quarantine } } else { Use::Free { since: at } };
    }
}
