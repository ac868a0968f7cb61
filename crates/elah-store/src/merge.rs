//! The uncommitted writes of a transaction, merged into its ranges.

use std::collections::BTreeMap;
use std::iter::Peekable;

use super::range::{Bounds, Entry, Range};

pub(super) type Keys<T> = BTreeMap<Vec<u8>, T>;

/// The value that a transaction will store under a key, or `None` for a removal.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) value: Option<Vec<u8>>,
    pub(super) expires_at_ms: Option<u64>,
}

type OwnEntries<'a> = Box<dyn Iterator<Item = (&'a Vec<u8>, &'a Pending)> + 'a>;

/// Merges a walk over the snapshot with the transaction's own writes, in the order of the walk.
pub(super) struct Merge<'a> {
    own: Peekable<OwnEntries<'a>>,
    is_reverse: bool,
    limit: usize,
    entries: Vec<Entry>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(own: Option<&'a Keys<Pending>>, bounds: &Bounds, range: &Range) -> Self {
        let own: OwnEntries<'a> = match own.map(|own| own.range(bounds.clone())) {
            None => Box::new(std::iter::empty()),
            Some(own) if range.is_reverse => Box::new(own.rev()),
            Some(own) => Box::new(own),
        };
        Merge { own: own.peekable(), is_reverse: range.is_reverse, limit: range.limit, entries: Vec::new() }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    fn push_own(&mut self) {
        if let Some((key, Pending { value: Some(value), .. })) = self.own.next() {
            self.entries.push((key.clone(), value.clone()));
        }
    }

    /// Adds the transaction's entries before `key`; `false` when the limit is reached.
    pub(super) fn own_before(&mut self, key: &[u8]) -> bool {
        while !self.is_full() {
            match self.own.peek() {
                Some((own, _)) if if self.is_reverse { own.as_slice() > key } else { own.as_slice() < key } => self.push_own(),
                _ => return true,
            }
        }
        false
    }

    /// Adds an entry of the snapshot, unless this transaction has changed it; `false` when the limit is reached.
    pub(super) fn stored(&mut self, key: &[u8], value: &[u8]) -> bool {
        match self.own.peek() {
            Some((own, _)) if own.as_slice() == key => self.push_own(),
            _ => self.entries.push((key.to_vec(), value.to_vec())),
        }
        !self.is_full()
    }

    pub(super) fn finish(mut self) -> Vec<Entry> {
        while !self.is_full() && self.own.peek().is_some() {
            self.push_own();
        }
        self.entries
    }
}
