//! Converts the types in a Parquet schema to the names in `rules/loader.yaml`.

use polars_parquet::parquet::schema::Repetition;
use polars_parquet::parquet::schema::types::{GroupConvertedType, IntegerType};
use polars_parquet::read::{
    GroupLogicalType, ParquetType, PhysicalType, PrimitiveConvertedType, PrimitiveLogicalType,
};

use super::footer::Footer;
use crate::database::table::StoredAs;
use crate::specs::StoredType;

/// Returns the codecs and types of a file's columns.
pub(super) fn stored_as(footer: &Footer) -> StoredAs {
    let fields = footer.schema.schema().fields().iter();
    let chunks = footer.groups.iter().flat_map(|group| &group.chunks);
    StoredAs {
        codecs: chunks.map(|chunk| chunk.codec).collect(),
        types: fields.map(|field| (field.name().to_string(), stored_type(field))).collect(),
    }
}

fn stored_type(field: &ParquetType) -> StoredType {
    match field {
        ParquetType::GroupType { logical_type, converted_type, .. } => {
            match (logical_type, converted_type) {
                (Some(GroupLogicalType::List), _) | (None, Some(GroupConvertedType::List)) => {
                    StoredType::List
                }
                (Some(GroupLogicalType::Map), _) | (None, Some(_)) => StoredType::Map,
                (None, None) => StoredType::Struct,
            }
        }
        ParquetType::PrimitiveType(leaf) if leaf.field_info.repetition == Repetition::Repeated => {
            StoredType::Repeated
        }
        ParquetType::PrimitiveType(leaf) => {
            let logical = leaf.logical_type.map(logical);
            match (logical, leaf.converted_type.map(converted)) {
                (Some(logical), Some(converted)) if logical != converted => {
                    StoredType::Contradictory
                }
                (Some(stated), _) | (None, Some(stated)) => stated,
                (None, None) => physical(leaf.physical_type),
            }
        }
    }
}

fn physical(stated: PhysicalType) -> StoredType {
    match stated {
        PhysicalType::Boolean => StoredType::Boolean,
        PhysicalType::Int32 => StoredType::Int32,
        PhysicalType::Int64 => StoredType::Int64,
        PhysicalType::Int96 => StoredType::Int96,
        PhysicalType::Float => StoredType::Float32,
        PhysicalType::Double => StoredType::Float64,
        PhysicalType::ByteArray | PhysicalType::FixedLenByteArray(_) => StoredType::Binary,
    }
}

fn logical(stated: PrimitiveLogicalType) -> StoredType {
    use PrimitiveLogicalType as T;
    match stated {
        T::String => StoredType::String,
        T::Enum => StoredType::Enum,
        T::Decimal(..) => StoredType::Decimal,
        T::Date => StoredType::Date,
        T::Time { .. } => StoredType::Time,
        T::Timestamp { .. } => StoredType::Timestamp,
        T::Integer(IntegerType::Int8) => StoredType::Int8,
        T::Integer(IntegerType::Int16) => StoredType::Int16,
        T::Integer(IntegerType::Int32) => StoredType::Int32,
        T::Integer(IntegerType::Int64) => StoredType::Int64,
        T::Integer(IntegerType::UInt8) => StoredType::Uint8,
        T::Integer(IntegerType::UInt16) => StoredType::Uint16,
        T::Integer(IntegerType::UInt32) => StoredType::Uint32,
        T::Integer(IntegerType::UInt64) => StoredType::Uint64,
        T::Unknown => StoredType::Null,
        T::Json => StoredType::Json,
        T::Bson => StoredType::Bson,
        T::Uuid => StoredType::Uuid,
        T::Float16 => StoredType::Float16,
    }
}

fn converted(stated: PrimitiveConvertedType) -> StoredType {
    use PrimitiveConvertedType as T;
    match stated {
        T::Utf8 => StoredType::String,
        T::Enum => StoredType::Enum,
        T::Decimal(..) => StoredType::Decimal,
        T::Date => StoredType::Date,
        T::TimeMillis | T::TimeMicros => StoredType::Time,
        T::TimestampMillis | T::TimestampMicros => StoredType::Timestamp,
        T::Uint8 => StoredType::Uint8,
        T::Uint16 => StoredType::Uint16,
        T::Uint32 => StoredType::Uint32,
        T::Uint64 => StoredType::Uint64,
        T::Int8 => StoredType::Int8,
        T::Int16 => StoredType::Int16,
        T::Int32 => StoredType::Int32,
        T::Int64 => StoredType::Int64,
        T::Json => StoredType::Json,
        T::Bson => StoredType::Bson,
        T::Interval => StoredType::Interval,
    }
}
