//! Plants a fault in a table or beside it.

mod copied;
mod rows;
mod series;
mod text;

use std::str::FromStr;

use pep440_rs::Version;

use self::text::edited;
use super::clean::CleanState;
use super::fault::{Damage, Plant, Variant, WrittenFile, is_of_system};
use super::injection::Planted;
use super::overlay::FileChange;
use perfdb_gate::base::expr::ExprError;
use perfdb_gate::base::random::Random;
use perfdb_gate::database::catalog::{Format, TableFile};
use perfdb_gate::database::state::State;
use perfdb_gate::database::table::{Table, TableScope};
use perfdb_gate::specs::TableSpec;

impl CleanState<'_> {
    /// Plants a fault in a table; `None` if the table is not suitable.
    ///
    /// # Errors
    ///
    /// Returns an error if a formula of the fault fails.
    pub(super) fn plant(
        &self,
        variant: &Variant,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let tables = &variant.fault.tables;
        if !tables.is_empty() && !tables.contains(&file.table)
            || variant.fault.newest && !self.is_newest(file)
        {
            return Ok(None);
        }
        match &variant.fault.plant {
            Plant::Family(family) => Ok(self.misplace(file, family)),
            Plant::Link => Ok(Some(changed(file, FileChange::Link("elsewhere".into())))),
            Plant::Bytes(Damage::Gone) => Ok(Some(changed(file, FileChange::Gone))),
            Plant::Bytes(
                damage @ (Damage::Cut | Damage::Empty | Damage::Footer | Damage::Pointer),
            ) => Ok(self.damaged(*damage, variant.by, file)),
            Plant::Copy(copied) => self.copy(copied, file, random),
            Plant::Remove(name) => Ok(self.beside(file, name, |_| Some(FileChange::Gone))),
            Plant::Write(text) => Ok(self.written(file, text)),
            Plant::Edit(edit) => {
                Ok(self.beside(file, &edit.file, |text| edited(edit, variant.by, text)))
            }
            Plant::Set(_)
            | Plant::Drop
            | Plant::Repeat(_)
            | Plant::Retype(_)
            | Plant::Draw
            | Plant::DrawSeries(_)
            | Plant::Shuffle(_)
            | Plant::SwapColumns
            | Plant::SwapTexts(_)
            | Plant::Bytes(Damage::Rowless)
            | Plant::Text(_) => self.in_rows(variant, file, random),
            // Waivers are judged without a table.
            Plant::Waivers(_) => Ok(None),
        }
    }

    /// Returns true if no table of the same backend and system has a later version.
    fn is_newest(&self, file: &TableFile) -> bool {
        let own = Version::from_str(&file.place.version).ok();
        let alike = |t: &&TableFile| {
            (&t.place.system, &t.place.backend) == (&file.place.system, &file.place.backend)
        };
        let mut others = self.state.catalog.tables.iter().filter(alike);
        own.is_some() && others.all(|t| Version::from_str(&t.place.version).ok() <= own)
    }

    /// Reads a Parquet table with its spec; `None` if it is unreadable or has no spec.
    fn table(&self, file: &TableFile) -> Option<(Table, std::sync::Arc<TableSpec>)> {
        if file.format != Format::Parquet {
            return None;
        }
        let bytes = self.state.source.read(&file.entry).ok()?;
        let table = file.decode(self.state.specs, &bytes).ok()?;
        let spec = file.spec(self.state.specs, Some(&table));
        Some((table, spec)).filter(|(_, spec)| !spec.inferred)
    }

    /// Returns a table as formulas read it.
    fn scope<'s>(
        &'s self,
        file: &'s TableFile,
        table: &'s Table,
        spec: &'s TableSpec,
    ) -> TableScope<'s> {
        let State { catalog, specs, .. } = self.state;
        let system = catalog.system(&file.place.system, specs);
        TableScope::new(table, spec, &file.place, system, &specs.lookups)
    }

    /// Moves a table to the directory of another family.
    fn misplace(&self, file: &TableFile, family: &str) -> Option<Planted> {
        let own = file.place.family.as_deref().filter(|own| *own != family)?;
        let spec = self.state.specs.tables.get(&file.table)?;
        let path = file.entry.path.replace(&format!("/{own}/"), &format!("/{family}/"));
        let bytes = self.state.source.read(&file.entry).ok()?;
        let there = self.state.catalog.tables.iter().any(|t| t.entry.path == path);
        if spec.family == family || there {
            return None;
        }
        let gone = (file.entry.path.clone(), FileChange::Gone);
        Some(Planted::files([gone, (path, FileChange::Bytes(bytes))]))
    }

    /// Writes a file beside a table or its system.
    fn written(&self, file: &TableFile, text: &WrittenFile) -> Option<Planted> {
        let place = &file.place;
        // Only the layout with families has sidecars.
        if place.family.is_none() && !is_of_system(&text.file) {
            return None;
        }
        let names = [
            ("{table}", &file.table),
            ("{system}", &place.system),
            ("{backend}", &place.backend),
            ("{version}", &place.version),
        ];
        let fill = |text: String, (name, value): (&str, &String)| text.replace(name, value);
        let says = names.into_iter().fold(text.text.clone(), fill).into_bytes();
        let path = self.path_beside(file, &text.file)?;
        Some(Planted::files([(path, FileChange::Bytes(says))]))
    }

    /// Damages the bytes of a table.
    fn damaged(&self, damage: Damage, by: Option<f64>, file: &TableFile) -> Option<Planted> {
        // A text that ends early is torn, which is another fault, and a text has no footer.
        if matches!(damage, Damage::Cut | Damage::Footer) && file.format != Format::Parquet {
            return None;
        }
        let mut bytes = self.state.source.read(&file.entry).ok()?;
        let len = bytes.len();
        match damage {
            Damage::Cut => bytes.truncate((len as f64 * by.unwrap_or(0.5)) as usize),
            Damage::Empty | Damage::Rowless | Damage::Gone => bytes.clear(),
            Damage::Footer => bytes.get_mut(len.checked_sub(8)?..len - 4)?.fill(0xff),
            Damage::Pointer => {
                let oid = perfdb_gate::jobs::for_selftest::sha256(&bytes);
                let says = format!(
                    "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len}\n"
                );
                bytes = says.into_bytes();
            }
        }
        Some(changed(file, FileChange::Bytes(bytes)))
    }

    /// Returns the path of a file beside a table, whether the file exists or not.
    fn path_beside(&self, file: &TableFile, name: &str) -> Option<String> {
        let system = || self.state.catalog.systems.get(&file.place.system);
        Some(match name {
            "system" => system()?.yaml.clone(),
            "support-matrix" => system()?.matrix(),
            name => format!("{}/{name}", self.state.catalog.dir_of(file)?.path),
        })
    }

    /// Changes the text of an existing file beside a table.
    fn beside(
        &self,
        file: &TableFile,
        name: &str,
        change: impl Fn(&str) -> Option<FileChange>,
    ) -> Option<Planted> {
        let path = self.path_beside(file, name)?;
        let entry =
            self.state.catalog.other_files.iter().map(|(e, _)| e).find(|e| e.path == path)?;
        let text = String::from_utf8(self.state.source.read(entry).ok()?).ok()?;
        Some(Planted::files([(path, change(&text)?)]))
    }
}

/// Returns a fault that changes only the table's file.
fn changed(file: &TableFile, change: FileChange) -> Planted {
    Planted::files([(file.entry.path.clone(), change)])
}
