//! Decodes Parquet files with polars' decoder.
//!
//! The decoder trusts a file. Therefore, the whole file is checked first (`footer`, `pages`), and the decoder
//! gets the checked data with rewritten headers: no length that it reads comes from the file.

mod arrow_schema;
mod chunk;
mod claims;
mod codec;
mod columns;
mod errors;
mod footer;
mod pages;
mod runs;
mod stored;
mod text;
mod values;
mod walk;

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars_arrow::datatypes::{ArrowDataType, ArrowSchema};
use polars_parquet::read::infer_schema;
use polars_parquet::read::schema::parquet_to_arrow_schema;

pub(crate) use self::chunk::{Chunk, ChunkGroup};
pub(super) use self::errors::{ColumnError, ColumnResult, FileError, one_line};
use self::footer::Footer;
use super::{Column, Table, TableFault, Wanted};

pub(super) fn decode(bytes: &[u8], wanted: Wanted<'_>) -> Result<Table, TableFault> {
    // The decoder panics on some damaged files instead of returning an error.
    let read = || catch_unwind(AssertUnwindSafe(|| read(bytes, wanted)));
    let table = crate::base::panics::quiet_panics(read).unwrap_or(Err(FileError::Panic));
    table.map_err(|refused| TableFault::Unreadable(refused.to_string()))
}

fn read(bytes: &[u8], wanted: Wanted<'_>) -> Result<Table, FileError> {
    let footer = footer::read(bytes)?;
    if let Some(schema) = &footer.arrow {
        arrow_schema::check(schema)?;
    }
    let schema = infer_schema(&footer.schema).map_err(|e| FileError::Decoder(one_line(e)))?;
    let leaves = leaves(&footer, &schema)?;
    let stated = parquet_to_arrow_schema(footer.schema.schema().fields());
    let mut pages = pages::BoundedPages::new(bytes);
    // A column of an unsupported type is listed but not decoded, and the other columns are judged. The pages
    // of all columns are checked.
    let (mut known, mut others) = (Vec::new(), Vec::new());
    for (field, leaves) in schema.iter_values().zip(leaves) {
        let name = field.name.to_string();
        // The Arrow schema may state other number types than those that readers without it see.
        let stated = stated.get(&field.name).map(|field| &field.dtype);
        let dtype = stated.filter(|_| is_number(&field.dtype)).unwrap_or(&field.dtype);
        let (is_wanted, is_known) = (wanted.has(&name), is_number(dtype) || is_text(dtype));
        if is_wanted && is_known {
            let column = columns::read(&mut pages, &footer, leaves, dtype);
            known.push((name, column.map_err(|fault| fault.of(&field.name))?));
        } else {
            let mut chunks = footer.groups.iter().flat_map(|group| &group.chunks[leaves.clone()]);
            chunks.try_for_each(|chunk| pages.skip(chunk)).map_err(|f| f.of(&field.name))?;
            if is_wanted {
                others.push((name, Column::Other(type_name(dtype))));
            }
        }
    }
    known.append(&mut others);
    let stored = Some(stored::stored_as(&footer));
    Ok(Table { stored, ..Table::of(footer.rows, known) })
}

/// Returns, for each Arrow field, the range of indices of its leaves in the Parquet schema.
fn leaves(footer: &Footer, schema: &ArrowSchema) -> Result<Vec<std::ops::Range<usize>>, FileError> {
    let columns = footer.schema.schema();
    let names = columns.fields().iter().map(polars_parquet::read::ParquetType::name);
    // The Arrow schema may come from the file, and readers differ in which of the two schemas they use.
    if !schema.iter_names().map(|name| &**name).eq(names) {
        return Err(FileError::Schemas);
    }
    let mut start = 0;
    let mut leaves = Vec::with_capacity(schema.len());
    for name in schema.iter_names() {
        let rest = columns.columns().iter().skip(start);
        let count = rest.take_while(|leaf| leaf.path_in_schema.first() == Some(name)).count();
        leaves.push(start..start + count);
        start += count;
    }
    Ok(leaves)
}

/// Returns true if a column of this type contains numbers or flags of any width. Such columns are decoded.
fn is_number(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as T;
    let is_signed = matches!(dtype, T::Int8 | T::Int16 | T::Int32 | T::Int64);
    let is_unsigned = matches!(dtype, T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64);
    is_signed || is_unsigned || matches!(dtype, T::Boolean | T::Float32 | T::Float64)
}

/// Returns true if a column of this type contains text. Such columns are decoded.
fn is_text(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as T;
    match dtype {
        T::Utf8 | T::LargeUtf8 | T::Utf8View => true,
        T::Dictionary(_, values, _) => matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View),
        _ => false,
    }
}

/// Returns a type's name for people.
fn type_name(dtype: &ArrowDataType) -> String {
    let name = format!("{dtype:?}").to_lowercase();
    name.split(['(', ' ']).next().unwrap_or("unknown").to_owned()
}
