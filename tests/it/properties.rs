//! What must hold for any rows, whoever wrote them and however: differences, keys, fingerprints.

use std::collections::BTreeMap;

use crate::common::parquet::texts;
use perfdb_gate::database::catalog::{Format, Place};
use perfdb_gate::database::diff::RowDiff;
use perfdb_gate::database::table::{Keys, Table, TableScope};
use perfdb_gate::findings::{Finding, Novelty, Severity};
use perfdb_gate::specs::{KeyPart, Specs};
use polars_arrow::array::{BooleanArray, PrimitiveArray};
use polars_arrow::datatypes::ArrowDataType;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

/// A row: a name, a size, a flag, a measurement; each may be null.
type Row = (Option<String>, Option<i32>, Option<bool>, Option<f64>);

fn row() -> impl Strategy<Value = Row> {
    (
        weighted(0.9, "[a-c]{1,2}"),
        weighted(0.9, 1..4),
        weighted(0.9, any::<bool>()),
        weighted(0.9, (1..6).prop_map(|n| f64::from(n) / 8.0)),
    )
}

/// How a writer lays out what it writes.
#[derive(Debug, Clone, Copy)]
struct Writer {
    /// Text, with rows in lines; else Parquet.
    csv: bool,
    /// Rows of a row group.
    group: usize,
    /// Sizes in 64 bits, else 32.
    wide: bool,
    /// Text named as views, as polars does, else as large strings with offsets.
    views: bool,
    /// Columns the other way round.
    turned: bool,
}

fn writer() -> impl Strategy<Value = Writer> {
    (any::<bool>(), 1..9usize, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(csv, group, wide, views, turned)| Writer { csv, group, wide, views, turned })
}

fn written(rows: &[Row], writer: Writer) -> Table {
    let text = |name: &str| name == "kernel_source";
    if writer.csv {
        let show = |cell: Option<String>| cell.unwrap_or_default();
        let line = |(name, m, flag, latency): &Row| {
            let flag = flag.map(|f| if f { "True" } else { "False" }.to_owned());
            let (m, latency) = (m.map(|m| m.to_string()), latency.map(|l| l.to_string()));
            format!("{},{},{},{}\n", show(name.clone()), show(m), show(flag), show(latency))
        };
        let lines: String = rows.iter().map(line).collect();
        let bytes = format!("kernel_source,m,on,latency\n{lines}");
        return Table::decode(bytes.as_bytes(), Format::Csv, &text).unwrap();
    }
    let sizes: PrimitiveArray<i32> = rows.iter().map(|r| r.1).collect();
    let wide: PrimitiveArray<i64> = rows.iter().map(|r| r.1.map(i64::from)).collect();
    let flags: BooleanArray = rows.iter().map(|r| r.2).collect();
    let latencies: PrimitiveArray<f64> = rows.iter().map(|r| r.3).collect();
    let mut columns = vec![
        ("kernel_source", texts(rows.iter().map(|r| r.0.as_deref()))),
        ("m", if writer.wide { wide.boxed() } else { sizes.boxed() }),
        ("on", flags.boxed()),
        ("latency", latencies.boxed()),
    ];
    if writer.turned {
        columns.reverse();
    }
    let named = if writer.views { ArrowDataType::Utf8View } else { ArrowDataType::LargeUtf8 };
    let bytes = crate::common::parquet::written(&columns, writer.group, named);
    Table::decode(&bytes, Format::Parquet, &text).unwrap()
}

/// Rows as JSON by column, so that they compare whatever the layout. A column of nulls alone has no type.
fn cells(table: &Table) -> Vec<BTreeMap<String, String>> {
    let cell = |row| {
        move |(name, c): (&str, &perfdb_gate::database::table::Column)| {
            (name.to_owned(), c.json(row).to_string())
        }
    };
    (0..table.rows).map(|row| table.columns().map(cell(row)).collect()).collect()
}

/// Rows whose columns all have a type in text, too.
fn typed(rows: &[Row]) -> bool {
    rows.iter().any(|r| r.0.is_some())
        && rows.iter().any(|r| r.1.is_some())
        && rows.iter().any(|r| r.2.is_some())
        && rows.iter().any(|r| r.3.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// apply(diff(a, b), a) = b, as multisets of rows, whoever wrote either.
    #[test]
    fn a_diff_applied_to_its_base_gives_the_head(
        base in vec(row(), 1..24), head in vec(row(), 1..24), of_base in writer(), of_head in writer(),
    ) {
        prop_assume!(typed(&base) && typed(&head));
        let (a, b) = (written(&base, of_base), written(&head, of_head));
        let diff = RowDiff::between(&a, &b);
        let (old, new) = (cells(&a), cells(&b));
        let mut rows: Vec<Option<&BTreeMap<String, String>>> = old.iter().map(Some).collect();
        for (from, to) in &diff.changed {
            let was = rows[*from as usize].take().expect("a row changes once");
            prop_assert_ne!(was, &new[*to as usize]);
            rows.push(Some(&new[*to as usize]));
        }
        for gone in &diff.removed {
            prop_assert!(rows[*gone as usize].take().is_some(), "a row goes once");
        }
        rows.extend(diff.added.iter().map(|row| Some(&new[*row as usize])));
        let mut rows: Vec<_> = rows.into_iter().flatten().collect();
        let mut wanted: Vec<_> = new.iter().collect();
        rows.sort();
        wanted.sort();
        prop_assert_eq!(rows, wanted);
    }

    /// The same rows, however they were written, differ in nothing.
    #[test]
    fn equal_rows_in_any_order_have_an_empty_diff(
        (rows, turned) in vec(row(), 1..24).prop_flat_map(|r| (Just(r.clone()), Just(r).prop_shuffle())),
        of_base in writer(), of_head in writer(),
    ) {
        prop_assume!(typed(&rows));
        let diff = RowDiff::between(&written(&rows, of_base), &written(&turned, of_head));
        prop_assert!(diff.is_empty(), "{diff:?}");
    }

    /// A row's key hashes alike in every layout and every place, and keys of one hash are one key here.
    #[test]
    fn the_hash_of_a_key_does_not_depend_on_how_the_table_is_written(
        rows in vec(row(), 1..24), one in writer(), other in writer(),
    ) {
        prop_assume!(typed(&rows));
        let specs = Specs::embedded().unwrap();
        let spec = specs.tables.get("gemm_perf").unwrap();
        let place = Place {
            system: "h200_sxm".into(), family: None, backend: "vllm".into(), version: "1".into(),
        };
        let parts: Vec<KeyPart> = ["kernel_source", "m", "on"].iter().filter_map(|c| KeyPart::column(c)).collect();
        let hashes = |rows: &[Row], writer: Writer| {
            let table = written(rows, writer);
            let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
            Keys::new(&parts, &scope).unwrap().hashes().to_vec()
        };
        let here = hashes(&rows, one);
        prop_assert_eq!(&here, &hashes(&rows, other));
        // Of a row alone, too: a hash does not depend on the rows beside it.
        for (row, hash) in rows.iter().zip(&here) {
            if typed(std::slice::from_ref(row)) {
                prop_assert_eq!(hashes(std::slice::from_ref(row), other)[0], *hash);
            }
        }
        // Formulas know no null flag: it is false.
        let key = |row: &Row| (row.0.clone(), row.1, row.2.unwrap_or(false));
        for (a, of_a) in rows.iter().zip(&here) {
            for (b, of_b) in rows.iter().zip(&here) {
                prop_assert_eq!(key(a) == key(b), of_a == of_b, "{:?} {:?}", a, b);
            }
        }
    }

    /// A fingerprint names rule, place, table and slice, and nothing else.
    #[test]
    fn the_fingerprint_of_a_finding_depends_only_on_the_defect(
        names in vec("[a-zA-Z0-9._:/ ]{0,6}", 5), others in vec("[a-zA-Z0-9._:/ ]{0,6}", 5),
        rows in any::<u32>(), message in ".*", family in weighted(0.5, "[a-z]{1,4}"),
    ) {
        let finding = |n: &[String], path: &str, family: Option<String>| {
            let place = Place { system: n[1].clone(), family, backend: n[2].clone(), version: n[3].clone() };
            let mut finding = Finding::on_path(&n[0], Severity::Error, path, "m").at(&place);
            finding.table = Some(n[4].clone());
            finding
        };
        let one = finding(&names, "a/b.txt", None);
        let again = finding(&names, "elsewhere/b.parquet", family)
            .rows(rows as usize).evidence("x", message.as_str()).parts([message.clone()]);
        let again = Finding { message, severity: Severity::Info, novelty: Novelty::New, ..again };
        prop_assert_eq!(one.fingerprint(), again.fingerprint());
        prop_assert_eq!(one.fingerprint() == finding(&others, "a/b.txt", None).fingerprint(), names == others);
        let mut sliced = one.clone();
        sliced.slice.insert("dtype".into(), names[0].as_str().into());
        prop_assert_ne!(one.fingerprint(), sliced.fingerprint());
        prop_assert_eq!(one.fingerprint().len(), 16);
    }
}
