//! The prepared statements of one connection: the most recently used ones, limited in number.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::Statement;

/// After this time a statement is prepared again. The server keeps the types of its parameters: after a change of a column's type it
/// converts values to the old type, and may round them.
const AGE_MAX: Duration = Duration::from_secs(60);

/// Dropping a statement closes it on the server.
pub(super) struct Statements {
    kept: HashMap<Arc<str>, Kept>,
    max: usize,
    uses: u64,
}

struct Kept {
    statement: Statement,
    prepared_at: Instant,
    /// The value of `uses` at its last use.
    used: u64,
}

impl Statements {
    pub(super) fn new(max: usize) -> Statements {
        Statements { kept: HashMap::new(), max, uses: 0 }
    }

    pub(super) fn get(&mut self, sql: &str) -> Option<Statement> {
        self.uses += 1;
        let kept = self.kept.get_mut(sql).filter(|kept| kept.prepared_at.elapsed() < AGE_MAX)?;
        kept.used = self.uses;
        Some(kept.statement.clone())
    }

    /// Stores a statement in place of the least recently used one.
    pub(super) fn keep(&mut self, sql: Arc<str>, statement: Statement) {
        if self.max == 0 {
            return;
        }
        if self.kept.len() >= self.max && !self.kept.contains_key(&sql) {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(sql, _)| Arc::clone(sql));
            oldest.and_then(|oldest| self.kept.remove(&oldest));
        }
        self.kept.insert(sql, Kept { statement, prepared_at: Instant::now(), used: self.uses });
    }

    pub(super) fn has(&self, sql: &str) -> bool {
        self.kept.contains_key(sql)
    }

    pub(super) fn forget(&mut self, sql: &str) {
        self.kept.remove(sql);
    }
}
