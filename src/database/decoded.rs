//! Tables that a job decodes once, though several of its stages look at them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::database::catalog::TableFile;
use crate::database::source::Source;
use crate::database::table::{Table, TableFault};
use crate::specs::Specs;

/// Decoded tables of one state of a database, kept for a later stage.
///
/// A table that does not fit is decoded again when it is needed again. So what is kept, which depends on
/// the order in which threads come by, changes no result.
#[derive(Debug)]
pub struct Decoded {
    /// Bytes of tables that are kept at most.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By path.
    tables: HashMap<String, Arc<Table>>,
    bytes: usize,
}

impl Decoded {
    /// Keeps tables of at most a number of bytes in total.
    pub fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A thread that panicked left either all of a change or none.
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A table that was kept.
    pub fn get(&self, file: &TableFile) -> Option<Arc<Table>> {
        self.kept().tables.get(&file.entry.path).cloned()
    }

    /// The table that was kept, or that is read from `source`, and kept where there is room.
    ///
    /// # Errors
    ///
    /// When it cannot be read; a [`TableFault`] is not kept.
    pub fn table(
        &self,
        source: &dyn Source,
        file: &TableFile,
        specs: &Specs,
    ) -> Result<Arc<Table>, TableFault> {
        if let Some(table) = self.get(file) {
            return Ok(table);
        }
        let table = Arc::new(file.decode(specs, &source.read(&file.entry)?)?);
        let bytes = table.bytes();
        let mut kept = self.kept();
        if kept.bytes + bytes <= self.most {
            kept.bytes += bytes;
            kept.tables.insert(file.entry.path.clone(), table.clone());
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::source::{Entry, EntryKind, WorkTree};

    #[test]
    fn a_table_is_kept_where_there_is_room_and_read_again_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gemm_perf.csv");
        std::fs::write(&path, "m,latency\n1,0.5\n2,0.75\n").unwrap();
        let source = WorkTree::open(folder.path()).unwrap();
        let kind = EntryKind::Path(path.clone());
        let [system, backend, version] = ["h200_sxm", "vllm", "0.24.0"].map(str::to_owned);
        let place = Place { system, family: None, backend, version };
        let file = TableFile {
            entry: Entry { path: "gemm_perf.csv".into(), kind, size: 0 },
            place,
            table: "gemm_perf".into(),
            format: Format::Csv,
        };
        let specs = Specs::embedded().unwrap();
        let read = |decoded: &Decoded| decoded.table(&source, &file, &specs);
        let (roomy, full) = (Decoded::new(1 << 20), Decoded::new(1));
        let first = read(&roomy).unwrap();
        assert!(Arc::ptr_eq(&first, &read(&roomy).unwrap()));
        assert_eq!(read(&full).unwrap().rows, 2);
        assert!(full.get(&file).is_none());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&roomy).unwrap().rows, 2);
        assert!(read(&full).is_err());
    }
}
