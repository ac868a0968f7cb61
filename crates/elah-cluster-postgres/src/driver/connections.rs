//! What a writer's thread has on its way: connections, statements, fences and reads. Each is a task that reports what became of it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use elah_clock::Clock;
use elah_cluster::{Seen, Statement};
use elah_store::{Claim, Error as StoreError, Range, TableName};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::Driver;
use crate::error::Error;
use crate::input::Input;
use crate::job::{Pending, Rows};
use crate::sequence::{Sequence, signed};
use crate::statements;

impl Driver {
    pub(super) fn connect(&mut self, pause: Duration) {
        self.connection += 1;
        let (connection, report) = (self.connection, self.report.clone());
        let (settings, patience) = (Arc::clone(&self.options.settings), self.options.lease);
        drop(spawn_local(async move {
            sleep(pause).await;
            let input = match timeout(patience, Sequence::open(&settings, patience)).await {
                Ok(Ok(sequence)) => Input::Connected(connection, Rc::new(sequence)),
                Ok(Err(error)) => Input::Lost(connection, error),
                Err(_) => Input::Lost(connection, Error::silent(&settings.server, patience)),
            };
            let _ = report.send(input);
        }));
    }

    pub(super) fn send(&mut self, serial: u64, statement: Statement) {
        let Some(sequence) = self.sequence.clone() else { return };
        let group = if let Statement::Batch { id, .. } = &statement { self.groups.get_mut(id) } else { None };
        let columns = group.map(|group| {
            group.serial = Some(serial);
            group.columns(&Clock::System)
        });
        let (connection, report, own) = (self.connection, self.report.clone(), self.own.clone());
        let (board, patience) = (Rc::clone(&self.board), self.options.lease);
        let server = Arc::clone(&self.options.settings.server);
        drop(spawn_local(async move {
            let run = async {
                let mut rows = columns;
                if let Some(rows) = &mut rows {
                    sequence.number(rows).await?;
                }
                sequence.run(&own, serial, &statement, rows.as_ref()).await
            };
            let input = match timeout(patience, run).await {
                Ok(Ok(reply)) => Input::Reply(connection, serial, reply),
                Ok(Err(error @ Error::Refused { .. })) => Input::Refused(connection, serial, error),
                Ok(Err(error)) => Input::Lost(connection, error),
                // Nothing is known any more; a new session finds out.
                Err(_) => Input::Lost(connection, Error::silent(&server, patience)),
            };
            // What changes nothing must not be announced: the look that follows could lead to the same statement again.
            let is_change = matches!(&input, Input::Reply(_, _, reply) if statement.changes_board(reply));
            let _ = report.send(input);
            if is_change {
                board.announce().await;
            }
        }));
    }

    pub(super) fn fence(&mut self, writer: u64, seen: Option<Seen>) {
        let (reader, report) = (Rc::clone(&self.board), self.report.clone());
        drop(spawn_local(async move {
            let number = signed(writer);
            let rows = match seen {
                Some(Seen { sequence, session }) => {
                    reader.rows(statements::FENCE_SEEN, &[&number, &signed(sequence), &signed(session)]).await
                }
                None => reader.rows(statements::FENCE, &[&number]).await,
            };
            if let Ok(rows) = rows {
                let is_fenced = rows.first().is_some_and(|row| row.get::<_, i64>(0) == 1);
                let _ = report.send(Input::Fenced(writer, is_fenced));
                if is_fenced {
                    reader.announce().await;
                }
            }
        }));
    }

    pub(super) fn read(&mut self, claim: Arc<Claim>, table: Arc<TableName>, range: Range, done: Rows) {
        let pending = Pending::new(claim, done);
        let Some(witness) = self.machine.witness() else { return };
        let (reader, writer) = (Rc::clone(&self.reader), self.own.writer);
        drop(spawn_local(async move {
            match reader.range(writer, witness, table.name(), &range).await {
                Ok(Some(rows)) => pending.reply(Ok(rows)),
                Ok(None) => drop(pending),
                Err(error) => pending.reply(Err(StoreError::Unavailable { why: error.to_string(), may_have_run: false })),
            }
        }));
    }
}
