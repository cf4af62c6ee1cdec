//! Parquet through polars, eager, one file a thread.

use std::collections::HashMap;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use polars::prelude::*;

use super::{Column, Fault, Table, Torn, pages};
use crate::base::expr::NULL_CODE;

/// The largest table known has 3.3 million cells; what claims far more is refused before it is
/// decoded, since a few bytes can claim any number.
pub(super) const MOST_CELLS: usize = 12_000_000;

/// Bytes of a name; a longer text is none, and would be told in full.
const LONGEST_TEXT: usize = 1 << 16;

pub(super) fn decode(bytes: &[u8]) -> Result<Table, Fault> {
    // The decoder panics on some damaged files instead of returning an error.
    guarded(|| read(bytes)).map_err(Fault::Unreadable)
}

fn guarded<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    crate::base::panics::quiet_panics(|| catch_unwind(AssertUnwindSafe(f)))
        .unwrap_or_else(|_| Err("the decoder gave up on damaged bytes".into()))
}

fn one_line(error: &PolarsError) -> String {
    let text = error.to_string();
    let text: Vec<&str> = text.split_whitespace().take(40).collect();
    text.join(" ")
}

fn read(bytes: &[u8]) -> Result<Table, String> {
    if bytes.len() < 12 || !bytes.starts_with(b"PAR1") {
        return Err("it does not begin as a parquet file does".into());
    }
    if !bytes.ends_with(b"PAR1") {
        return Err("it does not end as a parquet file does; it is cut off or damaged".into());
    }
    pages::footer(bytes)?;
    // Called from our own pool: a second level of threads inside would only contend.
    let mut reader = ParquetReader::new(Cursor::new(bytes)).read_parallel(ParallelStrategy::None);
    let rows = reader.num_rows().map_err(|e| one_line(&e))?;
    let schema = reader.schema().map_err(|e| one_line(&e))?;
    if rows.saturating_mul(schema.len().max(1)) > MOST_CELLS {
        let width = schema.len();
        return Err(format!(
            "it claims {rows} rows of {width} columns, more than a table has (at most {} M cells)",
            MOST_CELLS / 1_000_000
        ));
    }
    let metadata = reader.get_metadata().map_err(|e| one_line(&e))?.clone();
    let chunks = metadata.row_groups.iter().flat_map(|g| g.parquet_columns());
    pages::check(bytes, chunks.map(|c| c.byte_range()))?;
    // A column of a type that no table has is named, not decoded; the others are judged.
    let (known, others): (Vec<_>, Vec<_>) = schema.iter_values().partition(|f| decodes(&f.dtype));
    let others: Vec<(String, Column)> = others
        .into_iter()
        .map(|f| (f.name.to_string(), Column::Other(type_name(&f.dtype))))
        .collect();
    let reader = reader.with_columns(Some(known.into_iter().map(|f| f.name.to_string()).collect()));
    let frame = reader.finish().map_err(|e| one_line(&e))?;
    if frame.height() != rows {
        return Err(format!("its footer states {rows} rows, its pages hold {}", frame.height()));
    }
    let mut columns: Vec<(String, Column)> = frame
        .columns()
        .iter()
        .map(|c| Ok((c.name().to_string(), column(c.as_materialized_series())?)))
        .collect::<Result<_, String>>()?;
    columns.extend(others);
    Ok(Table { rows, columns, torn: Torn::default() })
}

/// Whether a column of this type is decoded: the types that tables have, in whatever width.
fn decodes(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as T;
    match dtype {
        T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 => true,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Float32 | T::Float64 => true,
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => true,
        T::Dictionary(_, values, _) => matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View),
        _ => false,
    }
}

/// A type's name, for people.
fn type_name(dtype: &ArrowDataType) -> String {
    let name = format!("{dtype:?}").to_lowercase();
    name.split(['(', ' ']).next().unwrap_or("unknown").to_owned()
}

fn column(series: &Series) -> Result<Column, String> {
    let nulls = (series.null_count() > 0)
        .then(|| series.is_null().iter().map(|n| n.unwrap_or(true)).collect());
    let cast = |to: DataType| series.cast(&to).map_err(|e| one_line(&e));
    Ok(match series.dtype() {
        DataType::UInt64
            if series
                .cast(&DataType::Int64)
                .is_ok_and(|s| s.null_count() != series.null_count()) =>
        {
            Column::Other("a 64-bit number beyond range".into())
        }
        d if d.is_integer() => {
            let ints = cast(DataType::Int64)?;
            let ints = ints.i64().map_err(|e| one_line(&e))?;
            Column::Int { values: flat(ints, 0), nulls }
        }
        d if d.is_float() => {
            let floats = cast(DataType::Float64)?;
            let floats = floats.f64().map_err(|e| one_line(&e))?;
            Column::Float { values: flat(floats, f64::NAN), nulls }
        }
        DataType::Boolean => {
            let bools = series.bool().map_err(|e| one_line(&e))?;
            Column::Bool { values: bools.iter().map(|b| b.unwrap_or(false)).collect(), nulls }
        }
        DataType::String => encode(series.str().map_err(|e| one_line(&e))?)?,
        DataType::Categorical(..) | DataType::Enum(..) => {
            let text = cast(DataType::String)?;
            encode(text.str().map_err(|e| one_line(&e))?)?
        }
        other => Column::Other(other.to_string()),
    })
}

fn flat<T: PolarsNumericType>(column: &ChunkedArray<T>, null: T::Native) -> Vec<T::Native> {
    match column.cont_slice() {
        Ok(slice) => slice.to_vec(),
        Err(_) => column.iter().map(|v| v.unwrap_or(null)).collect(),
    }
}

/// Dictionary-encodes text: columns repeat a handful of names, mostly in runs.
fn encode(column: &StringChunked) -> Result<Column, String> {
    let mut codes = Vec::with_capacity(column.len());
    let mut dict: Vec<Arc<str>> = Vec::new();
    let mut by_text: HashMap<Arc<str>, u32> = HashMap::new();
    let nulls: Option<Vec<bool>> = (column.null_count() > 0)
        .then(|| column.is_null().iter().map(|n| n.unwrap_or(true)).collect());
    for chunk in column.downcast_iter() {
        // Cells of one parquet dictionary entry share their view, so equal views are equal text
        // (within a chunk); only a view not seen before is looked up by its text.
        let views = chunk.views();
        let mut recent = Recent::default();
        let mut by_view: HashMap<u128, u32> = HashMap::new();
        for (i, view) in views.iter().enumerate() {
            if nulls.as_ref().is_some_and(|n| n[codes.len()]) {
                codes.push(NULL_CODE);
                continue;
            }
            let bits = view.as_u128();
            let code = recent.get(bits).unwrap_or_else(|| {
                let code = *by_view.entry(bits).or_insert_with(|| {
                    let text = chunk.value(i);
                    if let Some(code) = by_text.get(text) {
                        return *code;
                    }
                    let (text, code): (Arc<str>, _) = (text.into(), dict.len() as u32);
                    dict.push(text.clone());
                    by_text.insert(text, code);
                    code
                });
                recent.put(bits, code);
                code
            });
            codes.push(code);
        }
    }
    if let Some(long) = dict.iter().find(|text| text.len() > LONGEST_TEXT) {
        let (name, len) = (column.name(), long.len());
        return Err(format!("a cell of {name} holds {len} bytes of text, no name is as long"));
    }
    Ok(Column::Text { codes, dict, nulls: column.null_count() })
}

/// The last few views and their codes: most columns alternate between two or three names, and
/// looking through these is cheaper than hashing.
#[derive(Default)]
struct Recent {
    views: [u128; 4],
    codes: [u32; 4],
    used: usize,
    next: usize,
}

impl Recent {
    #[inline]
    fn get(&self, view: u128) -> Option<u32> {
        self.views[..self.used].iter().position(|v| *v == view).map(|at| self.codes[at])
    }

    fn put(&mut self, view: u128, code: u32) {
        (self.views[self.next], self.codes[self.next]) = (view, code);
        self.next = (self.next + 1) % self.views.len();
        self.used = (self.used + 1).min(self.views.len());
    }
}
