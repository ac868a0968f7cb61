//! Texts of many rows in one buffer.

/// A text for each row, or none.
#[derive(Default)]
pub(super) struct Column {
    bytes: Vec<u8>,
    /// Where the text of each row ends, and whether there is one.
    ends: Vec<(usize, bool)>,
}

impl Column {
    pub(super) fn with_capacity(rows: usize, bytes: usize) -> Self {
        Column { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(rows) }
    }

    pub(super) fn push(&mut self, text: Option<&str>) {
        self.bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        self.ends.push((self.bytes.len(), text.is_some()));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a row; `None` when it has none, or there is no such row.
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        let &(end, is_there) = self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before].0);
        is_there.then(|| &self.bytes[start..end])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, is_there)| {
            let text = &self.bytes[start..end];
            start = end;
            is_there.then_some(text)
        })
    }
}
