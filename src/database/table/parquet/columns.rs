//! Decodes columns from the checked pages of all row groups.

use std::io::Cursor;
use std::ops::Range;

use polars_arrow::array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use polars_arrow::datatypes::{ArrowDataType, DTYPE_CATEGORICAL_NEW, Field, IntegerType, Metadata};
use polars_arrow::types::NativeType;
use polars_parquet::parquet::compression::Compression;
use polars_parquet::parquet::encoding::hybrid_rle::HybridRleDecoder;
use polars_parquet::parquet::metadata::Descriptor;
use polars_parquet::parquet::read::PageMetaData;
use polars_parquet::read::{
    BasicDecompressor, Filter, PageReader, PhysicalType, column_iter_to_arrays,
};

use super::footer::Footer;
use super::pages::{BoundedPages, Pages};
use super::text::{self, owned};
use super::{ChunkGroup, ColumnError, ColumnResult, one_line};
use crate::database::table::{CodedColumn, Column};

/// Decodes a column whose Arrow type is `dtype`. `leaves` are the indices of the column's leaves in the Parquet schema.
pub(super) fn read(
    pages: &mut BoundedPages<'_>,
    footer: &Footer,
    leaves: Range<usize>,
    dtype: &ArrowDataType,
) -> ColumnResult<Column> {
    // A flat column is a single leaf that is neither repeated nor nested.
    let leaf = match &footer.schema.schema().columns()[leaves.clone()] {
        [leaf] if leaf.path_in_schema.len() == 1 => &leaf.descriptor,
        _ => return Err(ColumnError::Nested),
    };
    if leaf.max_rep_level > 0 || leaf.max_def_level > 1 {
        return Err(ColumnError::Nested);
    }
    let dtype = match dtype {
        ArrowDataType::Dictionary(..) | ArrowDataType::Utf8 | ArrowDataType::LargeUtf8 => {
            ArrowDataType::Utf8View
        }
        other => other.clone(),
    };
    let groups = footer.groups.iter();
    let groups: Vec<Pages> = groups
        .map(|group| pages.pages(&group.chunks[leaves.start], leaf, group.rows))
        .collect::<Result<_, _>>()?;
    if dtype == ArrowDataType::Int64
        && leaf.primitive_type.physical_type == PhysicalType::Int64
        && let Some(coded) = indexed(&groups)?
    {
        return Ok(Column::Int { values: coded.into(), nulls: None });
    }
    let mut arrays = Vec::new();
    for (group, pages) in footer.groups.iter().zip(groups) {
        arrays.extend(decode(pages, group, leaf, &dtype)?);
    }
    cells(&dtype, arrays)
}

/// Reads a column of 64-bit integers as dictionary indices, without decoding each cell. `None` if a value is null or is
/// stored without a dictionary.
fn indexed(groups: &[Pages]) -> ColumnResult<Option<CodedColumn>> {
    let Some(dictionaries) = groups.iter().map(Pages::dictionary).collect::<Option<Vec<_>>>()
    else {
        return Ok(None);
    };
    let mut coded = Vec::with_capacity(groups.len());
    for (pages, (dictionary, entries)) in groups.iter().zip(dictionaries) {
        let (numbers, _) = dictionary.as_chunks();
        let numbers = numbers.iter().take(entries).map(|bytes| i64::from_le_bytes(*bytes));
        coded.push((indices_of(pages)?, numbers.collect()));
    }
    CodedColumn::of_groups(coded).map(Some).ok_or(ColumnError::Values)
}

/// Returns the dictionary indices in all pages of a column in a row group.
fn indices_of(pages: &Pages) -> ColumnResult<Vec<u32>> {
    let mut all = Vec::new();
    for (bytes, count) in pages.values() {
        let (width, bytes) = bytes.split_first().ok_or(ColumnError::Values)?;
        let decoder = HybridRleDecoder::new(bytes, u32::from(*width), count);
        let mut own = decoder.collect().map_err(|e| ColumnError::Decoder(one_line(e)))?;
        if own.len() != count {
            return Err(ColumnError::Values);
        }
        if all.is_empty() {
            all = own;
            // Room for the other rows of the row group.
            all.reserve_exact(pages.rows.saturating_sub(count));
        } else {
            all.append(&mut own);
        }
    }
    Ok(all)
}

/// Decodes the arrays of a column in a row group.
fn decode(
    pages: Pages,
    group: &ChunkGroup,
    leaf: &Descriptor,
    dtype: &ArrowDataType,
) -> ColumnResult<Vec<ArrayRef>> {
    let texts = leaf.primitive_type.physical_type == PhysicalType::ByteArray;
    let field = if texts && pages.indices && *dtype == ArrowDataType::Utf8View {
        indices()
    } else {
        Field::new("".into(), dtype.clone(), true)
    };
    let claims = PageMetaData::new(0, group.rows as i64, Compression::Uncompressed, leaf.clone());
    let bytes = Cursor::new(pages.bytes.into());
    let reader = PageReader::new_with_page_meta(bytes, claims, Vec::new(), usize::MAX);
    let reader = BasicDecompressor::new(reader, Vec::new());
    let rows = Filter::new_ranged(0, group.rows);
    let (arrays, _) =
        column_iter_to_arrays(vec![reader], vec![&leaf.primitive_type], field, Some(rows))
            .map_err(|e| ColumnError::Decoder(one_line(e)))?;
    let held = arrays.iter().map(|array| array.len()).sum();
    if held != group.rows {
        return Err(ColumnError::Rows { stated: group.rows, held });
    }
    Ok(arrays)
}

/// Returns the Arrow field with which the decoder reads a text column as dictionary indices. This takes a third of the
/// time of reading each cell as a text.
fn indices() -> Field {
    let dtype =
        ArrowDataType::Dictionary(IntegerType::UInt32, Box::new(ArrowDataType::Utf8View), false);
    let category = Metadata::from([(DTYPE_CATEGORICAL_NEW.into(), "".into())]);
    Field { metadata: Some(category.into()), ..Field::new("".into(), dtype, true) }
}

/// Converts the decoded arrays of a column to a [`Column`].
fn cells(dtype: &ArrowDataType, mut arrays: Vec<ArrayRef>) -> ColumnResult<Column> {
    use ArrowDataType as T;
    // Fast path for nearly all columns of numbers, which are taken over without conversion.
    if *dtype == T::Int64
        && let Some(values) = whole(&mut arrays)
    {
        return Ok(Column::Int { values: values.into(), nulls: None });
    }
    if *dtype == T::Float64
        && let Some(values) = whole(&mut arrays)
    {
        return Ok(Column::Float { values, nulls: None });
    }
    if *dtype == T::Utf8View {
        return text::column(arrays);
    }
    let arrays = &arrays[..];
    match dtype {
        T::Boolean => {
            let bits = cast::<BooleanArray>(arrays)?.into_iter().flatten();
            let values = bits.map(|bit| bit.unwrap_or(false)).collect();
            Ok(Column::Bool { values, nulls: nulls(arrays) })
        }
        T::Float32 => floats::<f32>(arrays),
        T::Float64 => floats::<f64>(arrays),
        T::Int8 => ints::<i8>(arrays),
        T::Int16 => ints::<i16>(arrays),
        T::Int32 => ints::<i32>(arrays),
        T::Int64 => ints::<i64>(arrays),
        T::UInt8 => ints::<u8>(arrays),
        T::UInt16 => ints::<u16>(arrays),
        T::UInt32 => ints::<u32>(arrays),
        T::UInt64 => ints::<u64>(arrays),
        _ => Err(ColumnError::Arrays),
    }
}

/// Casts all arrays of a column to the type `T`.
fn cast<T: Array>(arrays: &[ArrayRef]) -> ColumnResult<Vec<&T>> {
    let arrays = arrays.iter().map(|array| array.as_any().downcast_ref::<T>());
    arrays.collect::<Option<_>>().ok_or(ColumnError::Arrays)
}

/// Takes the numbers out of a column that consists of a single array without nulls; `None` for any other column.
fn whole<T: NativeType>(arrays: &mut [ArrayRef]) -> Option<Vec<T>> {
    let [array] = arrays else { return None };
    let array: &mut PrimitiveArray<T> = array.as_any_mut().downcast_mut()?;
    if array.null_count() > 0 {
        return None;
    }
    let empty = PrimitiveArray::new_empty(array.dtype().clone());
    Some(owned(std::mem::replace(array, empty)))
}

fn ints<T: NativeType + TryInto<i64>>(arrays: &[ArrayRef]) -> ColumnResult<Column> {
    let mut is_beyond = false;
    let number = |n: T| {
        n.try_into().unwrap_or_else(|_| {
            is_beyond = true;
            0
        })
    };
    let values = numbers(arrays, number, 0)?;
    Ok(if is_beyond {
        Column::Other("a 64-bit number beyond range".into())
    } else {
        Column::Int { values: values.into(), nulls: nulls(arrays) }
    })
}

fn floats<T: NativeType + Into<f64>>(arrays: &[ArrayRef]) -> ColumnResult<Column> {
    let values = numbers(arrays, |n: T| n.into(), f64::NAN)?;
    Ok(Column::Float { values, nulls: nulls(arrays) })
}

/// Converts arrays of numbers, with `null` for null cells.
fn numbers<T: NativeType, N: Copy>(
    arrays: &[ArrayRef],
    mut number: impl FnMut(T) -> N,
    null: N,
) -> ColumnResult<Vec<N>> {
    let mut all = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for array in cast::<PrimitiveArray<T>>(arrays)? {
        if array.null_count() == 0 {
            all.extend(array.values().iter().map(|n| number(*n)));
        } else {
            all.extend(array.iter().map(|n| n.map_or(null, |n| number(*n))));
        }
    }
    Ok(all)
}

/// Returns the null flag of each row; `None` if no row is null.
fn nulls(arrays: &[ArrayRef]) -> Option<Vec<bool>> {
    let any = arrays.iter().any(|array| array.null_count() > 0);
    any.then(|| arrays.iter().flat_map(|a| (0..a.len()).map(|row| a.is_null(row))).collect())
}
