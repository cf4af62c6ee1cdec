//! Checks the size of a file's Arrow schema before it is decoded. The schema is a tree with shared branches,
//! so a kilobyte can unfold to more fields than fit in memory.

use base64::Engine as _;
use polars_arrow::io::ipc::format::ipc;
use polars_arrow::io::ipc::format::ipc::planus::{self, ReadAsRoot as _};

use super::errors::{FileError, one_line};
use crate::database::limits::MOST_COLUMNS;

/// The maximum size of all names and metadata of a decoded Arrow schema, in bytes. pandas writes about 1000 bytes of
/// metadata for ten columns.
const MOST_BYTES: usize = 4 << 20;

/// The maximal nesting depth of fields.
const DEEPEST: usize = 16;

/// Refuses an Arrow schema that is damaged, or that has more fields or bytes than the schema of a table may have.
pub(super) fn check(encoded: &str) -> Result<(), FileError> {
    let damaged = |e: &dyn std::fmt::Display| FileError::ArrowSchema(one_line(e));
    if encoded.len() > MOST_BYTES {
        return Err(damaged(&"it is too long"));
    }
    let bytes =
        base64::engine::general_purpose::STANDARD.decode(encoded).map_err(|e| damaged(&e))?;
    // Since Arrow 0.15, a marker and a length precede the message.
    let message = match bytes.strip_prefix(&[0xff; 4]) {
        Some(rest) => rest.get(4..).unwrap_or_default(),
        None => &bytes,
    };
    let mut left = SchemaBudget { fields: MOST_COLUMNS, bytes: MOST_BYTES };
    match left.message(message) {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(damaged(&"it holds more than the schema of a table")),
        Err(e) => Err(damaged(&e)),
    }
}

/// The limits on an Arrow schema while it is checked: how many more fields and bytes it may contain. A schema with more
/// is refused.
struct SchemaBudget {
    fields: usize,
    bytes: usize,
}

type WalkStep = Result<Option<()>, planus::Error>;

impl SchemaBudget {
    fn message(&mut self, bytes: &[u8]) -> WalkStep {
        let message = ipc::MessageRef::read_as_root(bytes)?;
        let Some(ipc::MessageHeaderRef::Schema(schema)) = message.header()? else {
            return Ok(None);
        };
        if self.notes(schema.custom_metadata()?)?.is_none() {
            return Ok(None);
        }
        for field in schema.fields()?.into_iter().flatten() {
            if self.field(field?, DEEPEST)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn field(&mut self, field: ipc::FieldRef<'_>, depth: usize) -> WalkStep {
        let (Some(fields), Some(depth)) = (self.fields.checked_sub(1), depth.checked_sub(1)) else {
            return Ok(None);
        };
        self.fields = fields;
        let of_type = match field.type_()? {
            Some(ipc::TypeRef::Timestamp(time)) => time.timezone()?.map_or(0, str::len),
            Some(ipc::TypeRef::Union(union)) => union.type_ids()?.map_or(0, |ids| 4 * ids.len()),
            _ => 0,
        };
        let named = field.name()?.map_or(0, str::len).saturating_add(of_type);
        if self.text(named).is_none() || self.notes(field.custom_metadata()?)?.is_none() {
            return Ok(None);
        }
        for child in field.children()?.into_iter().flatten() {
            if self.field(child?, depth)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn notes(&mut self, notes: Option<Notes<'_>>) -> WalkStep {
        for note in notes.into_iter().flatten() {
            let note = note?;
            let length = note.key()?.map_or(0, str::len) + note.value()?.map_or(0, str::len);
            // Each entry also takes memory in a map.
            if self.text(length + 64).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    fn text(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(())
    }
}

/// The metadata of a field or of a whole schema, as pairs of key and value.
type Notes<'a> = planus::Vector<'a, planus::Result<ipc::KeyValueRef<'a>>>;
