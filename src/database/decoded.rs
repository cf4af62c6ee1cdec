//! Tables that a job decodes once, though several of its stages look at them.

use std::sync::Arc;

use crate::base::kept::Kept;
use crate::database::catalog::TableFile;
use crate::database::source::Source;
use crate::database::table::{Table, TableFault};
use crate::specs::Specs;

/// Decoded tables of one state of a database by path, kept for a later stage.
#[derive(Debug)]
pub struct Decoded(Kept<String, Table>);

impl Decoded {
    /// Keeps tables of at most a number of bytes in total.
    pub fn new(most: usize) -> Self {
        Self(Kept::new(most))
    }

    /// A table that was kept.
    pub fn get(&self, file: &TableFile) -> Option<Arc<Table>> {
        self.0.get(&file.entry.path)
    }

    /// The same, which is kept no longer.
    pub fn take(&self, file: &TableFile) -> Option<Arc<Table>> {
        self.0.take(&file.entry.path)
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
        self.0.keep(file.entry.path.clone(), table.bytes(), || table.clone());
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
