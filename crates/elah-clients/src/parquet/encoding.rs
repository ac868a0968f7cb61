//! The encoding of columns into the bytes of a file, and the IDs of an existing file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

/// The 16 bytes of a UUID.
pub type Id = [u8; 16];

const ID_COLUMN: &str = "id";

/// A column beside the IDs: an optional value for each.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub values: Values,
}

#[derive(Debug, Clone)]
pub enum Values {
    /// UTF-8.
    Text(Vec<Option<Bytes>>),
    /// JSON documents, UTF-8.
    Json(Vec<Option<Bytes>>),
    Bytes(Vec<Option<Bytes>>),
    Integers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Booleans(Vec<Option<bool>>),
    /// Microseconds since 1970 in UTC.
    Times(Vec<Option<i64>>),
}

impl Values {
    fn types(&self) -> (Physical, Option<LogicalType>) {
        match self {
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Json(_) => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
            Values::Bytes(_) => (Physical::BYTE_ARRAY, None),
            Values::Integers(_) => (Physical::INT64, None),
            Values::Floats(_) => (Physical::DOUBLE, None),
            Values::Booleans(_) => (Physical::BOOLEAN, None),
            Values::Times(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        }
    }

    fn write(self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Values::Text(values) | Values::Json(values) | Values::Bytes(values) => {
                put::<ByteArrayType>(column, values.into_iter().map(|value| value.map(ByteArray::from)).collect())
            }
            Values::Integers(values) | Values::Times(values) => put::<Int64Type>(column, values),
            Values::Floats(values) => put::<DoubleType>(column, values),
            Values::Booleans(values) => put::<BoolType>(column, values),
        }
    }
}

/// The whole file, with the IDs as its first column.
pub(super) fn encode(ids: &[Id], columns: Vec<Column>) -> Result<Vec<u8>> {
    let mut fields = vec![Arc::new(
        Type::primitive_type_builder(ID_COLUMN, Physical::FIXED_LEN_BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_length(16)
            .with_logical_type(Some(LogicalType::Uuid))
            .build()?,
    )];
    // These values do not repeat, so a dictionary of them would only cost time.
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_dictionary_enabled(ColumnPath::from(ID_COLUMN), false);
    for Column { name, values } in &columns {
        let (physical, logical) = values.types();
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
        fields.push(Arc::new(field.build()?));
        if matches!(values, Values::Json(_) | Values::Bytes(_)) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(name.as_str()), false);
        }
    }
    let schema = Arc::new(Type::group_type_builder("events").with_fields(fields).build()?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let mut rows = file.next_row_group()?;
    let mut column = rows.next_column()?.ok_or_else(missing_column)?;
    let ids: Vec<_> = ids.iter().map(|id| FixedLenByteArray::from(id.to_vec())).collect();
    column.typed::<FixedLenByteArrayType>().write_batch(&ids, None, None)?;
    column.close()?;
    for Column { values, .. } in columns {
        let mut column = rows.next_column()?.ok_or_else(missing_column)?;
        values.write(&mut column)?;
        column.close()?;
    }
    rows.close()?;
    file.into_inner()
}

/// The IDs of a file made by [`encode`].
pub(super) fn read_ids(path: &Path) -> Result<Vec<Id>> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let mut ids = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let ColumnReader::FixedLenByteArrayColumnReader(mut column) = group.get_column_reader(0)? else {
            return Err(ParquetError::General("its first column holds no ids".to_owned()));
        };
        let mut values: Vec<FixedLenByteArray> = Vec::new();
        while column.read_records(usize::MAX, None, None, &mut values)?.0 > 0 {}
        for value in values {
            ids.push(Id::try_from(value.data()).map_err(|_| ParquetError::General("an id has not 16 bytes".to_owned()))?);
        }
    }
    Ok(ids)
}

fn put<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: Vec<Option<T::T>>) -> Result<()> {
    let is_there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&is_there), None)?;
    Ok(())
}

fn missing_column() -> ParquetError {
    ParquetError::General("the schema has fewer columns than were given".to_owned())
}
