//! Bulk writes: many writes of several kinds in few commands. The driver's own bulk write requires a newer server than most.

use mongodb::Database;
use mongodb::bson::{Bson, Document, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf, cstr, serialize_to_raw_document_buf};

use super::client::Client;
use super::error::{Error, WriteError};
use crate::Work;

/// Limits of one command, well below those of the protocol (100,000 writes, 48 MB).
const COMMAND_WRITES_MAX: usize = 1000;
const COMMAND_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkKind {
    Insert,
    Update,
    Replace,
    Delete,
}

/// One write: a document to insert, a statement of an update or a replacement (`q`, `u`, `multi`, `upsert`), or one of a deletion
/// (`q`, `limit`).
#[derive(Debug)]
pub struct Bulk {
    pub kind: BulkKind,
    pub statement: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct BulkOutcome {
    pub inserted: u64,
    pub matched: u64,
    pub modified: u64,
    pub deleted: u64,
    pub upserted: u64,
}

impl BulkKind {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            BulkKind::Insert => ("insert", "documents"),
            BulkKind::Update | BulkKind::Replace => ("update", "updates"),
            BulkKind::Delete => ("delete", "deletes"),
        }
    }
}

impl Bulk {
    /// Why the write cannot be sent. To the server an update without operators is a replacement: it would drop all other fields.
    fn fault(&self) -> Option<&'static str> {
        let reason = match self.kind {
            BulkKind::Update => "an update has operators such as $set, or is an array of stages",
            BulkKind::Replace => "a replacement is a document without operators such as $set",
            BulkKind::Insert | BulkKind::Delete => return None,
        };
        let statement = RawDocument::from_bytes(&self.statement).ok()?;
        let is_update = match statement.get("u").ok()? {
            Some(RawBsonRef::Document(change)) => begins_with_operator(change),
            change => matches!(change, Some(RawBsonRef::Array(_))),
        };
        (is_update != (self.kind == BulkKind::Update)).then_some(reason)
    }
}

fn begins_with_operator(change: &RawDocument) -> bool {
    change.iter().next().is_some_and(|first| first.is_ok_and(|(name, _)| name.as_str().starts_with('$')))
}

/// How many of the first writes fit into one command.
fn command_length(writes: &[Bulk]) -> usize {
    let mut bytes = 0;
    let fitting = writes.iter().take(COMMAND_WRITES_MAX).take_while(|write| {
        bytes += write.statement.len();
        write.kind.names() == writes[0].kind.names() && bytes <= COMMAND_BYTES_MAX
    });
    fitting.count().max(1)
}

fn command(collection: &str, writes: &[Bulk], is_ordered: bool, database: &Database) -> mongodb::error::Result<RawDocumentBuf> {
    let (name, list) = writes[0].kind.names();
    let mut statements = RawArrayBuf::new();
    for write in writes {
        statements.push(RawDocumentBuf::from_bytes(write.statement.clone())?);
    }
    let mut command = RawDocumentBuf::new();
    command.append(mongodb::bson::raw::CString::try_from(name)?, collection);
    command.append(cstr!("ordered"), is_ordered);
    if let Some(concern) = database.write_concern() {
        command.append(cstr!("writeConcern"), serialize_to_raw_document_buf(concern)?);
    }
    command.append(mongodb::bson::raw::CString::try_from(list)?, statements);
    Ok(command)
}

fn number(reply: &Document, name: &str) -> u64 {
    match reply.get(name) {
        Some(Bson::Int32(number)) => u64::try_from(*number).unwrap_or_default(),
        Some(Bson::Int64(number)) => u64::try_from(*number).unwrap_or_default(),
        Some(Bson::Double(number)) => *number as u64,
        _ => 0,
    }
}

impl BulkOutcome {
    fn add(&mut self, kind: BulkKind, reply: &Document) {
        let count = number(reply, "n");
        match kind {
            BulkKind::Insert => self.inserted += count,
            BulkKind::Delete => self.deleted += count,
            BulkKind::Update | BulkKind::Replace => {
                let upserted = reply.get_array("upserted").map_or(0, |upserted| upserted.len() as u64);
                self.upserted += upserted;
                self.matched += count - upserted.min(count);
                self.modified += number(reply, "nModified");
            }
        }
    }
}

impl Client {
    /// Performs `writes` in order. If `is_ordered`, the first failure ends it; otherwise all are tried. Errors contain the
    /// positions of the failed writes.
    pub fn bulk_write(&self, collection: String, writes: Vec<Bulk>, is_ordered: bool) -> Work<'_, Result<BulkOutcome, Error>> {
        Box::pin(async move {
            let doing = format!("bulk write on {}.{collection}", self.database_name());
            if let Some((place, fault)) = writes.iter().enumerate().find_map(|(place, write)| Some((place, write.fault()?))) {
                return Err(Error::Unusable { doing, reason: format!("in write {place}, counted from 0, {fault}") });
            }
            let mut outcome = BulkOutcome::default();
            let mut write_errors = Vec::new();
            let mut unmet = None;
            let mut done = 0;
            while done < writes.len() && (write_errors.is_empty() || !is_ordered) {
                let part = &writes[done..done + command_length(&writes[done..])];
                let reply = self.run(&doing, |database| {
                    let command = command(&collection, part, is_ordered, &database);
                    async move { database.run_raw_command(command?).await }
                });
                let reply = reply.await?;
                outcome.add(part[0].kind, &reply);
                let errors = reply.get_array("writeErrors").into_iter().flatten();
                write_errors.extend(errors.filter_map(|error| WriteError::read(error.as_document()?, done)));
                unmet = unmet.or_else(|| reply.get_document("writeConcernError").ok().cloned());
                done += part.len();
            }
            match (unmet, write_errors.first().cloned()) {
                (Some(unmet), _) => {
                    let text = |name| unmet.get_str(name).unwrap_or_default();
                    let code = unmet.get_i32("code").unwrap_or_default();
                    Err(self.asked(&doing).unmet(code, text("codeName"), text("errmsg"), write_errors))
                }
                (None, Some(first)) => Err(self.asked(&doing).write(first.code, "", &first.message, write_errors)),
                (None, None) => Ok(outcome),
            }
        })
    }
}
