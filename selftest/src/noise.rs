//! Learns how far honest reruns of a point differ, for `rules/noise.yaml`.
//!
//! A database contains accidental reruns: rows that agree in every column except the measured ones.
//! Not all of them are honest. Two kernels that no column distinguishes differ by factors, and a
//! second run on another machine is slower at every point. The repeats of a table therefore count
//! only if neither run is systematically slower and if their tail is like the tail of most tables.
//! Other tables are listed with the reason.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rayon::prelude::*;

use perfdb_gate::base::error::{Error, Result};
use perfdb_gate::base::expr::ExprError;
use perfdb_gate::database::catalog::{Catalog, TableFile};
use perfdb_gate::database::source::{self, Source};
use perfdb_gate::database::table::{Keys, Table, TableScope};
use perfdb_gate::jobs::for_selftest::{Figure, nearest_rank, upper_median};
use perfdb_gate::specs::{KeyPart, Noise, NoiseBand, Specs, TableSpec, measured_unit};

/// Upper bounds of the latency bands, in ms.
const BANDS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 1.0, 10.0];
/// The number of pairs that a band needs for its 99th percentile to rest on several pairs.
const PAIRS: usize = 300;
/// The number of tables that bands of one table and backend need, because a single table may be
/// unusual.
const TABLES: usize = 3;
/// The maximum ratio of a table's 95th percentile to the usual one, as logarithms.
const TAIL: f64 = 3.0;

/// Learns the noise profile of a database, from its files or from a commit.
///
/// # Errors
///
/// Returns an error if there is no database, or if it contains no repeated rows.
pub fn run(root: &Path, reference: Option<&str>) -> Result<Noise> {
    let source = source::open(root, reference)?;
    let specs = Specs::embedded()?;
    let catalog = Catalog::read(source.as_ref(), &specs)?;
    let tables = catalog.tables.par_iter();
    let repeats = tables.filter_map(|file| repeats(source.as_ref(), file, &specs));
    let repeats: Result<Vec<Repeats>, ExprError> = repeats.collect();
    let mut repeats = repeats
        .map_err(|e| Error::new(e.to_string(), "the formula is in rules/tables").because(e))?;
    repeats.retain(|table| !table.pairs.is_empty());
    if repeats.is_empty() {
        return Err(Error::new(
            "no table contains repeated measurements",
            "rerun noise is learned from rows that differ only in their measurements",
        ));
    }
    Ok(learn(repeats))
}

/// Returns the repeats of a table; `None` if it cannot be read, which `validate` reports.
fn repeats(
    source: &dyn Source,
    file: &TableFile,
    specs: &Specs,
) -> Option<Result<Repeats, ExprError>> {
    let bytes = source.read(&file.entry).ok()?;
    let table = file.decode(specs, &bytes).ok()?;
    let spec = file.spec(specs, Some(&table));
    let scope = TableScope::new(&table, &spec, &file.place, None, &specs.lookups);
    Some(Repeats::of(file, &spec, &table, &scope))
}

/// Learns the noise profile from the repeats of tables; each table must have repeats.
fn learn(tables: Vec<Repeats>) -> Noise {
    let mut tails: Vec<f64> =
        tables.iter().map(|t| nearest_rank(&t.spreads(), 0.95).unwrap_or_default()).collect();
    let usual = upper_median(&mut tails);
    let mut noise = Noise::default();
    let (mut counted, mut groups) = (Vec::new(), BTreeMap::<_, Vec<Repeats>>::new());
    for table in tables {
        match table.fault(usual) {
            Some(why) => {
                noise.left_out.insert(table.path, why);
            }
            None => counted.push(table),
        }
    }
    noise.all = bands(&counted);
    for table in counted {
        groups.entry((table.table.clone(), table.backend.clone())).or_default().push(table);
    }
    for ((table, backend), repeats) in groups {
        let bands = bands(&repeats);
        if repeats.len() >= TABLES && bands.iter().any(|b| b.pairs >= PAIRS) {
            noise.tables.entry(table).or_default().insert(backend, bands);
        }
    }
    noise
}

/// Renders the profile as YAML with a comment on its origin.
pub fn yaml(noise: &Noise) -> String {
    let body = serde_yaml::to_string(noise).unwrap_or_default();
    format!(
        "# Spread of honest reruns: slower over faster latency of rows that agree in every other column.\n\
         # Written by the command `noise` of the crate selftest; selftest/src/noise.rs says which repeats count.\n{body}"
    )
}

/// The repeated rows of one table.
#[derive(Debug, Clone)]
pub struct Repeats {
    /// The table's path.
    pub path: String,
    /// The table's name.
    pub table: String,
    /// The backend that was measured.
    pub backend: String,
    /// First and second latency of each repeated row, in ms.
    pub pairs: Vec<(f64, f64)>,
}

impl Repeats {
    /// Finds the repeats of a table: consecutive pairs, in file order, among rows that agree in
    /// every column except the measured ones. Rows with equal latencies are copies, not reruns.
    pub fn of(
        file: &TableFile,
        spec: &TableSpec,
        table: &Table,
        scope: &TableScope<'_>,
    ) -> Result<Self, ExprError> {
        let named = table.columns().filter(|(name, _)| measured_unit(name).is_none());
        let parts: Vec<KeyPart> = named.filter_map(|(name, _)| KeyPart::column(name)).collect();
        let keys = Keys::new(&parts, scope)?;
        let mut pairs = Vec::new();
        if let Some(latency) = spec.latency.first() {
            let latency = latency.value.numbers(scope)?;
            let mut last: HashMap<u64, usize> = HashMap::new();
            for (row, hash) in keys.hashes().iter().enumerate() {
                let Some(before) = last.insert(*hash, row) else { continue };
                let (a, b) = (latency.get(before), latency.get(row));
                let measured = |time: f64| time > 0.0 && time.is_finite();
                if keys.equal(before, row) && measured(a) && measured(b) && a != b {
                    pairs.push((a, b));
                }
            }
        }
        let (table, backend) = (file.table.clone(), file.place.backend.clone());
        Ok(Self { path: file.entry.path.clone(), table, backend, pairs })
    }

    /// Returns the logarithms of slower over faster latency, ascending.
    fn spreads(&self) -> Vec<f64> {
        let mut spreads: Vec<f64> = self.pairs.iter().map(|(a, b)| (b / a).ln().abs()).collect();
        spreads.sort_by(f64::total_cmp);
        spreads
    }

    /// Returns the reason why the repeats are not honest reruns, if there is one; `usual` is the
    /// median, over all tables, of the 95th percentile of log ratios.
    fn fault(&self, usual: f64) -> Option<String> {
        let spreads = self.spreads();
        let mut signed: Vec<f64> = self.pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        signed.sort_by(f64::total_cmp);
        let quantile = |sorted: &[f64], share| nearest_rank(sorted, share).unwrap_or_default();
        let (gap, typical, tail) =
            (quantile(&signed, 0.5), quantile(&spreads, 0.5), quantile(&spreads, 0.95));
        if gap.abs() > typical / 2.0 {
            let by = Figure((gap.exp() - 1.0) * 100.0);
            return Some(format!("the second run differs by {by:+.1} % in every point"));
        }
        let most = (TAIL * usual).exp();
        (tail.exp() > most).then(|| {
            format!(
                "5 % of the pairs differ by {:.2}× or more, so several kernels ran",
                Figure(tail.exp())
            )
        })
    }
}

/// Returns the bands of latency. A band is cut off only if both sides keep enough pairs.
fn bands(repeats: &[Repeats]) -> Vec<NoiseBand> {
    let mut bands = Vec::new();
    let mut start = 0.0;
    for end in BANDS {
        let enough = |from, to| band(repeats, from, to).pairs >= PAIRS;
        if enough(start, Some(end)) && enough(end, None) {
            bands.push(band(repeats, start, Some(end)));
            start = end;
        }
    }
    bands.push(band(repeats, start, None));
    bands
}

fn band(repeats: &[Repeats], start: f64, end: Option<f64>) -> NoiseBand {
    // A pair belongs to the band of its geometric mean.
    let within = |(a, b): &&(f64, f64)| {
        let middle = (a * b).sqrt();
        middle >= start && end.is_none_or(|end| middle < end)
    };
    let mut spreads = Vec::new();
    let mut tables = 0;
    for table in repeats {
        let before = spreads.len();
        spreads.extend(table.pairs.iter().filter(within).map(|(a, b)| (b / a).ln().abs()));
        tables += usize::from(spreads.len() > before);
    }
    spreads.sort_by(f64::total_cmp);
    let log = |share| nearest_rank(&spreads, share).unwrap_or_default();
    let at = |share| (log(share).exp() * 1e3).round() / 1e3;
    let (p50, p95, p99) = (at(0.5), at(0.95), at(0.99));
    NoiseBand { below_ms: end, pairs: spreads.len(), tables, p50, p95, p99 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds 400 synthetic pairs: first run `latency`, second run `latency * factor(i)`.
    fn repeats(path: &str, latency: f64, factor: impl Fn(usize) -> f64) -> Repeats {
        let pairs = (0..400).map(|i| (latency, latency * factor(i))).collect();
        Repeats { path: path.into(), table: "t".into(), backend: "b".into(), pairs }
    }

    fn honest(i: usize) -> f64 {
        1.0 + (i % 21) as f64 / 1000.0 - 0.01
    }

    #[test]
    fn tables_of_mixed_kernels_are_left_out_of_the_noise() {
        let mixed = |i: usize| if i.is_multiple_of(10) { 3.0 } else { honest(i) };
        let noise = learn(vec![
            repeats("a", 0.5, honest),
            repeats("b", 0.5, honest),
            repeats("c", 0.5, honest),
            repeats("mixed", 0.5, mixed),
            repeats("slower", 0.5, |i| 1.02 * honest(i)),
        ]);
        assert_eq!(noise.left_out.keys().collect::<Vec<_>>(), ["mixed", "slower"]);
        let band = noise.at("t", "b", 0.5).unwrap();
        assert_eq!((band.pairs, band.tables), (1200, 3));
        assert!(band.p99 > 1.009 && band.p99 < 1.011, "{band:?}");
    }

    #[test]
    fn every_latency_has_a_noise_band() {
        let noise = learn(vec![repeats("a", 0.5, honest), repeats("b", 0.03, honest)]);
        assert!(noise.tables.is_empty(), "two tables are too few for figures of their own");
        for latency in [1e-4, 0.03, 0.5, 1e3] {
            assert!(noise.at("t", "b", latency).unwrap().pairs >= PAIRS);
        }
        assert!(Noise::default().at("t", "b", 1.0).is_none());
    }
}
