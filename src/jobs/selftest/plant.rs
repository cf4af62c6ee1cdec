//! Puts a fault into a table, or beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;

use super::Alike;
use super::draft::Draft;
use super::fault::{Copied, Damage, Edit, FaultClass, Other, Plant, Tear, Variant, is_of_system};
use super::overlay::FileChange;
use super::target::{CellScope, Target};
use crate::base::expr::{ExprError, Vals, Value};
use crate::base::random::Random;
use crate::checks::compare::sketch::{Sketch, Sketches, Slice};
use crate::database::catalog::{Catalog, Format, TableFile};
use crate::database::source::Source;
use crate::database::table::{Table, TableScope};
use crate::findings::RowChange;
use crate::specs::system::System;
use crate::specs::{Specs, TableSpec};

/// Plants faults in the clean state of a database.
pub struct Injector<'a> {
    /// The clean state's bytes.
    pub source: &'a dyn Source,
    /// What it holds.
    pub catalog: &'a Catalog,
    /// What is known of tables.
    pub specs: &'a Specs,
    /// Of the clean state.
    pub sketches: &'a Sketches,
    /// Tables that are alike as it is.
    pub alike: &'a Alike,
}

/// A fault that was planted.
#[derive(Debug, Default)]
pub struct Planted {
    /// Files that it changes.
    pub changes: BTreeMap<String, FileChange>,
    /// Rows that it changes or adds; 0 where rows do not tell.
    pub rows: usize,
    /// Which those are.
    pub rows_changed: RowChange,
    /// The slice that it changes.
    pub slice: Option<Slice>,
}

/// Rows of a table that text is made of, at most.
const MOST_TEXT: usize = 20_000;

/// Points that two tables must share for one to pass for a copy of the other; the rule's own.
const SHARED: usize = 20;

impl Injector<'_> {
    /// Plants a fault in a table; none where it does not grow there.
    ///
    /// # Errors
    ///
    /// When a formula of the fault fails.
    pub fn plant(
        &self,
        variant: Variant<'_>,
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
            Plant::Bytes(damage) if !matches!(damage, Damage::Rowless) => {
                Ok(self.damaged(*damage, variant.by, file))
            }
            Plant::Copy(copied) => self.copy(copied, file, random),
            Plant::Remove(name) => Ok(self.beside(file, name, |_| Some(FileChange::Gone))),
            Plant::Write(text) => {
                let place = &file.place;
                let says = text.text.replace("{table}", &file.table);
                let says = says.replace("{system}", &place.system);
                let says = says.replace("{backend}", &place.backend);
                let says = says.replace("{version}", &place.version).into_bytes();
                let path = self.path_beside(file, &text.file);
                let write = |path| Planted {
                    changes: [(path, FileChange::Bytes(says))].into(),
                    ..Planted::default()
                };
                // Sidecars are of the family layout.
                let has = place.family.is_some() || is_of_system(&text.file);
                Ok(path.filter(|_| has).map(write))
            }
            Plant::Edit(edit) => {
                Ok(self.beside(file, &edit.file, |text| edited(edit, variant.by, text)))
            }
            _ => self.in_rows(variant, file, random),
        }
    }

    /// Whether no table of its backend on its system is of a later version.
    fn is_newest(&self, file: &TableFile) -> bool {
        let own = Version::from_str(&file.place.version).ok();
        let alike = |t: &&TableFile| {
            (&t.place.system, &t.place.backend) == (&file.place.system, &file.place.backend)
        };
        let mut others = self.catalog.tables.iter().filter(alike);
        own.is_some() && others.all(|t| Version::from_str(&t.place.version).ok() <= own)
    }

    fn in_rows(
        &self,
        variant: Variant<'_>,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let Some((table, spec)) = self.table(file) else { return Ok(None) };
        let system = self.system(file);
        let scope = TableScope::new(&table, &spec, &file.place, system, &self.specs.lookups);
        let target = Target { table: &table, spec: &spec, scope: &scope };
        let Some((rows, slice)) = target.choose(variant.rows, random)? else { return Ok(None) };
        let all: Vec<usize> = (0..table.rows).collect();
        let mut draft = Draft::of(&table, &all);
        let mut planted = Planted { slice, ..Planted::default() };
        let mut new: Vec<usize> = rows.clone();
        match &variant.fault.plant {
            Plant::Set(set) => {
                let any = target.set(set, variant.by, &rows, &mut draft)?;
                // A fault that changes nothing is none.
                if !any && variant.fault.class != FaultClass::Control {
                    return Ok(None);
                }
            }
            Plant::Drop => {
                let gone: BTreeSet<usize> = rows.into_iter().collect();
                let left: Vec<usize> = all.into_iter().filter(|r| !gone.contains(r)).collect();
                if left.is_empty() {
                    return Ok(None);
                }
                draft = Draft::of(&table, &left);
                new = Vec::new();
            }
            Plant::Repeat(to) => {
                let twice: Vec<usize> = all.iter().chain(&rows).copied().collect();
                // The first copies stay as they were, the second are those that are set.
                new = (table.rows..twice.len()).collect();
                draft = Draft::of(&table, &twice);
                for (name, _) in spec.measures() {
                    let here = CellScope { scope: &scope, column: name, by: variant.by };
                    let value = to.numbers(&here)?;
                    let value = Vals::Rows(twice.iter().map(|row| value.get(*row)).collect());
                    draft.set(name, &new, Some(&Value::Number(value)));
                }
            }
            Plant::Retype(retype) => {
                if !target.retype(retype, &mut draft) {
                    return Ok(None);
                }
            }
            Plant::Draw => match target.draw(&mut draft, &rows) {
                drawn if drawn.is_empty() => return Ok(None),
                drawn => new = drawn,
            },
            Plant::Text(tear) => return Ok(torn(*tear, file, &draft, random)),
            // Bytes of a table without rows.
            _ => {
                draft = Draft::of(&table, &[]);
                new = Vec::new();
            }
        }
        planted.rows = new.len();
        let by_rows = matches!(
            variant.fault.plant,
            Plant::Set(_) | Plant::Drop | Plant::Repeat(_) | Plant::Draw
        );
        if by_rows {
            let mut marked = vec![false; draft.rows];
            new.iter().for_each(|r| marked[*r] = true);
            planted.rows_changed = RowChange::Rows(marked);
        }
        let Ok(bytes) = draft.parquet() else { return Ok(None) };
        planted.changes.insert(file.entry.path.clone(), FileChange::Bytes(bytes));
        Ok(Some(planted))
    }

    /// A table's rows and what is known of such tables; none of what cannot be read.
    fn table(&self, file: &TableFile) -> Option<(Table, std::sync::Arc<TableSpec>)> {
        if file.format != Format::Parquet {
            return None;
        }
        let bytes = self.source.read(&file.entry).ok()?;
        let table = file.decode(self.specs, &bytes).ok()?;
        let spec = file.spec(self.specs, Some(&table));
        Some((table, spec)).filter(|(_, spec)| !spec.inferred)
    }

    fn system(&self, file: &TableFile) -> Option<&System> {
        self.catalog.systems.get(&file.place.system)?.system.as_ref().ok()
    }

    fn misplace(&self, file: &TableFile, family: &str) -> Option<Planted> {
        let own = file.place.family.as_deref().filter(|own| *own != family)?;
        let spec = self.specs.tables.get(&file.table)?;
        let path = file.entry.path.replace(&format!("/{own}/"), &format!("/{family}/"));
        let bytes = self.source.read(&file.entry).ok()?;
        let there = self.catalog.tables.iter().any(|t| t.entry.path == path);
        (spec.family != family && !there).then(|| Planted {
            changes: [
                (file.entry.path.clone(), FileChange::Gone),
                (path, FileChange::Bytes(bytes)),
            ]
            .into(),
            ..Planted::default()
        })
    }

    fn damaged(&self, damage: Damage, by: Option<f64>, file: &TableFile) -> Option<Planted> {
        // Text that ends early is torn, which is a fault of its own, and it has no footer.
        if matches!(damage, Damage::Cut | Damage::Footer) && file.format != Format::Parquet {
            return None;
        }
        let mut bytes = self.source.read(&file.entry).ok()?;
        let len = bytes.len();
        match damage {
            Damage::Cut => bytes.truncate((len as f64 * by.unwrap_or(0.5)) as usize),
            Damage::Empty | Damage::Rowless | Damage::Gone => bytes.clear(),
            Damage::Footer => bytes.get_mut(len.checked_sub(8)?..len - 4)?.fill(0xff),
            Damage::Pointer => {
                let oid = crate::base::digest::sha256(&bytes);
                let says = format!(
                    "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len}\n"
                );
                bytes = says.into_bytes();
            }
        }
        Some(changed(file, FileChange::Bytes(bytes)))
    }

    /// Another table's rows in a table's place, where the two share enough keys to tell.
    fn copy(
        &self,
        copied: &Copied,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let own = &file.place;
        let reuses = |f: &TableFile| self.catalog.dir_of(f).is_some_and(|d| d.reuse.is_some());
        let sketch = |f: &TableFile| self.sketches.by_path.get(&f.entry.path);
        let Some(of_file) = sketch(file) else { return Ok(None) };
        let mut others: Vec<&TableFile> = self
            .catalog
            .tables
            .iter()
            .filter(|t| {
                let place = &t.place;
                let differs = (
                    place.system != own.system,
                    place.backend != own.backend,
                    place.version != own.version,
                );
                let wanted = match copied.other {
                    Other::System => (true, false, false),
                    Other::Backend => (false, true, differs.2),
                    Other::Version => (false, false, true),
                };
                t.table == file.table && differs == wanted && t.format == file.format
            })
            .filter(|t| !reuses(t) && self.source.id(&t.entry) != self.source.id(&file.entry))
            .filter(|t| !self.alike.holds(&t.entry.path, &file.entry.path))
            .filter(|t| sketch(t).is_some_and(|s| shared(s, of_file) >= SHARED))
            .collect();
        random.shuffle(&mut others);
        let Some(other) = others.first().filter(|_| !reuses(file)) else { return Ok(None) };
        let Some((table, spec)) = self.table(other) else { return Ok(None) };
        let rows: Vec<usize> = (0..table.rows).collect();
        let mut draft = Draft::of(&table, &rows);
        let scope =
            TableScope::new(&table, &spec, &file.place, self.system(file), &self.specs.lookups);
        let target = Target { table: &table, spec: &spec, scope: &scope };
        for set in &copied.set {
            target.set(set, None, &rows, &mut draft)?;
        }
        let Ok(bytes) = draft.parquet() else { return Ok(None) };
        Ok(Some(Planted {
            rows: table.rows,
            rows_changed: RowChange::All,
            ..changed(file, FileChange::Bytes(bytes))
        }))
    }

    /// Where a file beside a table is, or would be.
    fn path_beside(&self, file: &TableFile, name: &str) -> Option<String> {
        let system = || self.catalog.systems.get(&file.place.system);
        Some(match name {
            "system" => system()?.yaml.clone(),
            "support-matrix" => system()?.matrix(),
            name => format!("{}/{name}", self.catalog.dir_of(file)?.path),
        })
    }

    fn beside(
        &self,
        file: &TableFile,
        name: &str,
        change: impl Fn(&str) -> Option<FileChange>,
    ) -> Option<Planted> {
        let path = self.path_beside(file, name)?;
        let entry = self.catalog.beside.iter().map(|(e, _)| e).find(|e| e.path == path)?;
        let text = String::from_utf8(self.source.read(entry).ok()?).ok()?;
        Some(Planted { changes: [(path, change(&text)?)].into(), ..Planted::default() })
    }
}

/// Points that two tables share and that took time in both.
fn shared(a: &Sketch, b: &Sketch) -> usize {
    a.common(b).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0).count()
}

fn changed(file: &TableFile, change: FileChange) -> Planted {
    Planted { changes: [(file.entry.path.clone(), change)].into(), ..Planted::default() }
}

/// The first line of that field, its value replaced.
fn edited(edit: &Edit, by: Option<f64>, text: &str) -> Option<FileChange> {
    let mut found = false;
    let mut line = |line: &str| {
        let name = line.trim_start();
        let value = name.strip_prefix(&edit.field).and_then(|rest| rest.strip_prefix(':'));
        let new = value.filter(|_| !found).and_then(|value| match &edit.to {
            Some(to) => Some(to.clone()),
            None => {
                let number: f64 = value.split('#').next()?.trim().parse().ok()?;
                Some((number * by.unwrap_or(1.0)).to_string())
            }
        });
        let Some(new) = new else { return format!("{line}\n") };
        found = true;
        format!("{}{}: {new}\n", &line[..line.len() - name.len()], edit.field)
    };
    let text: String = text.lines().map(&mut line).collect();
    found.then(|| FileChange::Bytes(text.into_bytes()))
}

/// The table as text, torn; in its own place, since text is read there too.
fn torn(tear: Tear, file: &TableFile, draft: &Draft, random: &mut Random) -> Option<Planted> {
    let mut lines = draft.lines();
    let plain = |line: &String| !line.contains(['"', ';']);
    if !(4..MOST_TEXT).contains(&lines.len()) || !lines.iter().all(plain) {
        return None;
    }
    let width = |line: &String| line.matches(',').count();
    if !file.table.ends_with("_perf") || lines.iter().any(|l| width(l) != width(&lines[0])) {
        return None;
    }
    let at = 1 + random.below(lines.len() - 3);
    match tear {
        Tear::End => {
            let last = lines.last_mut()?;
            last.truncate(last.len() / 2);
        }
        Tear::Short => lines[at] = lines[at].rsplitn(3, ',').last()?.to_owned() + "\n",
        Tear::Header => lines.insert(at, lines[0].clone()),
        Tear::Together => {
            let ending = lines[at].len() - 1;
            lines[at].truncate(ending);
        }
    }
    let text = file.entry.path.strip_suffix(".parquet")?.to_owned() + ".txt";
    let bytes = FileChange::Bytes(lines.concat().into_bytes());
    Some(Planted {
        changes: [(file.entry.path.clone(), FileChange::Gone), (text, bytes)].into(),
        ..Planted::default()
    })
}
