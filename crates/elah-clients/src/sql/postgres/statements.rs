//! The prepared statements of one connection: the most recently used ones, limited in number.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Statement;

/// Dropping a statement closes it on the server.
pub(super) struct Statements {
    kept: HashMap<Arc<str>, (Statement, u64)>,
    max: usize,
    uses: u64,
}

impl Statements {
    pub(super) fn new(max: usize) -> Statements {
        Statements { kept: HashMap::new(), max, uses: 0 }
    }

    pub(super) fn get(&mut self, sql: &str) -> Option<Statement> {
        self.uses += 1;
        let (statement, used) = self.kept.get_mut(sql)?;
        *used = self.uses;
        Some(statement.clone())
    }

    /// Stores a statement in place of the least recently used one.
    pub(super) fn keep(&mut self, sql: Arc<str>, statement: Statement) {
        if self.max == 0 {
            return;
        }
        if self.kept.len() >= self.max {
            let oldest = self.kept.iter().min_by_key(|(_, (_, used))| *used).map(|(sql, _)| Arc::clone(sql));
            oldest.and_then(|oldest| self.kept.remove(&oldest));
        }
        self.kept.insert(sql, (statement, self.uses));
    }

    pub(super) fn forget(&mut self, sql: &str) {
        self.kept.remove(sql);
    }
}
