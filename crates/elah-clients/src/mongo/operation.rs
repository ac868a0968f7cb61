//! The operations on a collection. Filters, changes and options arrive as bytes of BSON, options under their names in the
//! protocol (`batchSize`, `upsert`, `arrayFilters`).

use std::sync::Arc;

use mongodb::bson::{Bson, Document, RawDocumentBuf, deserialize_from_slice};
use mongodb::error::{Error as DriverError, Result as DriverResult};
use mongodb::options::{
    AggregateOptions, CountOptions, DeleteOptions, FindOneAndDeleteOptions, FindOneAndReplaceOptions, FindOneAndUpdateOptions,
    FindOptions, IndexOptions, InsertManyOptions, ReplaceOptions, UpdateModifications, UpdateOptions,
};
use mongodb::{Collection, Database, IndexModel};

use super::client::Client;
use super::cursor::{Batch, Cursor};
use super::error::{Error, refusal_without_code};
use crate::Work;

/// The change of matching documents.
#[derive(Debug)]
pub enum Change {
    /// Operators such as `$set`.
    Update(Vec<u8>),
    /// An update by stages of an aggregation, as the bytes of an array.
    Pipeline(Vec<u8>),
    /// A replacement of the document.
    Replace(Vec<u8>),
    Delete,
}

/// The result of an update.
#[derive(Debug, Default)]
pub struct Updated {
    pub matched: u64,
    pub modified: u64,
    /// `{"_id": ...}` of an upserted document, as BSON.
    pub upserted: Option<Vec<u8>>,
}

fn raw(database: &Database, collection: &str) -> Collection<RawDocumentBuf> {
    database.collection(collection)
}

fn document(bytes: &[u8]) -> DriverResult<Document> {
    Ok(Document::from_reader(bytes)?)
}

/// The stages of a pipeline, which is an array.
fn stages(array: &[u8]) -> DriverResult<Vec<Document>> {
    let stage = |(place, value)| match value {
        Bson::Document(stage) => Ok(stage),
        _ => Err(DriverError::custom(format!("stage {place} of the pipeline, counted from 0, is not a document"))),
    };
    document(array)?.into_iter().map(stage).collect()
}

fn modifications(change: Change) -> DriverResult<UpdateModifications> {
    Ok(match change {
        Change::Pipeline(pipeline) => UpdateModifications::Pipeline(stages(&pipeline)?),
        Change::Update(update) | Change::Replace(update) => UpdateModifications::Document(document(&update)?),
        Change::Delete => UpdateModifications::Document(Document::new()),
    })
}

fn to_bytes(document: &Document) -> DriverResult<Vec<u8>> {
    Ok(RawDocumentBuf::try_from(document)?.into_bytes())
}

impl Client {
    fn doing(&self, command: &str, collection: &str) -> String {
        format!("{command} on {}.{collection}", self.database_name())
    }

    /// The matching documents, starting with the first batch.
    pub fn find(self: Arc<Self>, collection: String, filter: Vec<u8>, options: Vec<u8>) -> Work<'static, Result<Cursor, Error>> {
        Box::pin(async move {
            let (doing, bound) = (self.doing("find", &collection), self.query_bound());
            let batches = self.run(&doing, |database| async move {
                let mut options: FindOptions = deserialize_from_slice(&options)?;
                options.max_time.get_or_insert(bound);
                raw(&database, &collection).find(document(&filter)?).with_options(options).batch().await
            });
            let batches = batches.await?;
            Cursor::open(Arc::clone(&self), doing, batches).await
        })
    }

    /// At most one matching document.
    pub fn find_one(
        self: Arc<Self>,
        collection: String,
        filter: Vec<u8>,
        options: Vec<u8>,
    ) -> Work<'static, Result<Option<Batch>, Error>> {
        Box::pin(async move {
            let (doing, bound) = (self.doing("find", &collection), self.query_bound());
            let batches = self.run(&doing, |database| async move {
                let mut options: FindOptions = deserialize_from_slice(&options)?;
                options.max_time.get_or_insert(bound);
                // The protocol's value for one batch and no cursor.
                options.limit = Some(-1);
                raw(&database, &collection).find(document(&filter)?).with_options(options).batch().await
            });
            let batches = batches.await?;
            Cursor::open(Arc::clone(&self), doing, batches).await?.next_batch().await
        })
    }

    /// The result of the stages of `pipeline` (an array).
    pub fn aggregate(
        self: Arc<Self>,
        collection: String,
        pipeline: Vec<u8>,
        options: Vec<u8>,
    ) -> Work<'static, Result<Cursor, Error>> {
        Box::pin(async move {
            let (doing, bound) = (self.doing("aggregate", &collection), self.query_bound());
            let batches = self.run(&doing, |database| async move {
                let mut options: AggregateOptions = deserialize_from_slice(&options)?;
                options.max_time.get_or_insert(bound);
                raw(&database, &collection).aggregate(stages(&pipeline)?).with_options(options).batch().await
            });
            let batches = batches.await?;
            Cursor::open(Arc::clone(&self), doing, batches).await
        })
    }

    /// The number of matching documents; without a filter, the collection's own count.
    pub fn count(&self, collection: String, filter: Option<Vec<u8>>, options: Vec<u8>) -> Work<'_, Result<u64, Error>> {
        Box::pin(async move {
            let (doing, bound) = (self.doing("count", &collection), self.query_bound());
            self.run(&doing, |database| async move {
                let documents = raw(&database, &collection);
                match filter {
                    Some(filter) => {
                        let mut options: CountOptions = deserialize_from_slice(&options)?;
                        options.max_time.get_or_insert(bound);
                        documents.count_documents(document(&filter)?).with_options(options).await
                    }
                    None => documents.estimated_document_count().max_time(bound).await,
                }
            })
            .await
        })
    }

    /// Inserts documents, each with its `_id`.
    pub fn insert(&self, collection: String, documents: Vec<Vec<u8>>, options: Vec<u8>) -> Work<'_, Result<(), Error>> {
        Box::pin(async move {
            let doing = self.doing("insert", &collection);
            self.run(&doing, |database| async move {
                let options: InsertManyOptions = deserialize_from_slice(&options)?;
                let mut documents = documents.into_iter().map(RawDocumentBuf::from_bytes).collect::<Result<Vec<_>, _>>()?;
                let collection = raw(&database, &collection);
                match documents.len() {
                    // The error of a single write has no position.
                    1 => collection.insert_one(documents.remove(0)).await.map(|_| ()),
                    _ => collection.insert_many(&documents).with_options(options).await.map(|_| ()),
                }
            })
            .await
        })
    }

    /// Changes matching documents: one, or all if `is_many`.
    pub fn update(
        &self,
        collection: String,
        is_many: bool,
        filter: Vec<u8>,
        change: Change,
        options: Vec<u8>,
    ) -> Work<'_, Result<Updated, Error>> {
        Box::pin(async move {
            let doing = self.doing("update", &collection);
            self.run(&doing, |database| async move {
                let documents = raw(&database, &collection);
                let filter = document(&filter)?;
                let result = match change {
                    Change::Replace(replacement) => {
                        let options: ReplaceOptions = deserialize_from_slice(&options)?;
                        let replacement = RawDocumentBuf::from_bytes(replacement)?;
                        documents.replace_one(filter, replacement).with_options(options).await?
                    }
                    change => {
                        let options: UpdateOptions = deserialize_from_slice(&options)?;
                        let change = modifications(change)?;
                        let update =
                            if is_many { documents.update_many(filter, change) } else { documents.update_one(filter, change) };
                        update.with_options(options).await?
                    }
                };
                let mut updated = Updated { matched: result.matched_count, modified: result.modified_count, upserted: None };
                if let Some(id) = result.upserted_id {
                    updated.upserted = Some(to_bytes(&Document::from_iter([("_id".to_owned(), id)]))?);
                }
                Ok(updated)
            })
            .await
        })
    }

    /// Deletes matching documents: one, or all if `is_many`. Returns how many.
    pub fn delete(&self, collection: String, is_many: bool, filter: Vec<u8>, options: Vec<u8>) -> Work<'_, Result<u64, Error>> {
        Box::pin(async move {
            let doing = self.doing("delete", &collection);
            self.run(&doing, |database| async move {
                let options: DeleteOptions = deserialize_from_slice(&options)?;
                let documents = raw(&database, &collection);
                let filter = document(&filter)?;
                let delete = if is_many { documents.delete_many(filter) } else { documents.delete_one(filter) };
                delete.with_options(options).await.map(|result| result.deleted_count)
            })
            .await
        })
    }

    /// Finds and changes one document in one step. Returns it as it was, or as it is if the options say so.
    pub fn find_one_and(
        &self,
        collection: String,
        filter: Vec<u8>,
        change: Change,
        options: Vec<u8>,
    ) -> Work<'_, Result<Option<Vec<u8>>, Error>> {
        Box::pin(async move {
            let doing = self.doing("findAndModify", &collection);
            self.run(&doing, |database| async move {
                let documents = raw(&database, &collection);
                let filter = document(&filter)?;
                let found = match change {
                    Change::Delete => {
                        let options: FindOneAndDeleteOptions = deserialize_from_slice(&options)?;
                        documents.find_one_and_delete(filter).with_options(options).await?
                    }
                    Change::Replace(replacement) => {
                        let options: FindOneAndReplaceOptions = deserialize_from_slice(&options)?;
                        let replacement = RawDocumentBuf::from_bytes(replacement)?;
                        documents.find_one_and_replace(filter, replacement).with_options(options).await?
                    }
                    change => {
                        let options: FindOneAndUpdateOptions = deserialize_from_slice(&options)?;
                        documents.find_one_and_update(filter, modifications(change)?).with_options(options).await?
                    }
                };
                Ok(found.map(RawDocumentBuf::into_bytes))
            })
            .await
        })
    }

    /// Creates missing indexes from pairs of keys and options. Returns their names.
    pub fn create_indexes(&self, collection: String, indexes: Vec<(Vec<u8>, Vec<u8>)>) -> Work<'_, Result<Vec<String>, Error>> {
        Box::pin(async move {
            let doing = self.doing("createIndexes", &collection);
            self.run(&doing, |database| async move {
                let mut models = Vec::with_capacity(indexes.len());
                for (keys, options) in indexes {
                    let options: IndexOptions = deserialize_from_slice(&options)?;
                    models.push(IndexModel::builder().keys(document(&keys)?).options(options).build());
                }
                raw(&database, &collection).create_indexes(models).await.map(|result| result.index_names)
            })
            .await
        })
    }

    /// Drops a collection, if it exists.
    pub fn drop_collection(&self, collection: String) -> Work<'_, Result<(), Error>> {
        Box::pin(async move {
            let doing = self.doing("drop", &collection);
            self.run(&doing, |database| async move {
                match raw(&database, &collection).drop().await {
                    // The driver itself ignores it when it has its code.
                    Err(error) if refusal_without_code(&error) == Some("ns not found") => Ok(()),
                    dropped => dropped,
                }
            })
            .await
        })
    }

    /// Runs any command on the database and returns the reply.
    pub fn run_command(&self, command: Vec<u8>) -> Work<'_, Result<Vec<u8>, Error>> {
        Box::pin(async move {
            let command = RawDocumentBuf::from_bytes(command)
                .map_err(|error| Error::Unusable { doing: "The command".to_owned(), reason: error.to_string() })?;
            let name = command.iter().next().and_then(Result::ok).map(|(name, _)| name.to_string()).unwrap_or_default();
            let doing = format!("{name} on {}", self.database_name());
            self.run(&doing, |database| async move { to_bytes(&database.run_raw_command(command).await?) }).await
        })
    }
}
