//! Tables and versions that the planner's engine refuses.

use std::collections::BTreeMap;

use super::answer::{PointReply, PredictReply, StateAnswer};
use super::{AskedVersion, PlannedVersion, PlannerError, Question};
use crate::report::below_data;

/// A table that the planner's engine cannot load, or a version that the engine cannot open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// The version whose table cannot be loaded, or that cannot be opened.
    pub version: PlannedVersion,
    /// The path of the table that cannot be loaded; `None` if the version cannot be opened.
    pub path: Option<String>,
    /// The error that the planner's engine reported.
    pub error: PlannerError,
    /// True if the planner's engine could load the table, or open the version, before the change.
    pub was_loaded: bool,
}

impl Refusal {
    /// Lists the tables that the engine refuses to load after the change, except tables that it also refused before. If
    /// the engine refuses to open the version after the change, the version itself is listed, too.
    pub(super) fn of_version(
        asked: &AskedVersion,
        before: Option<&StateAnswer>,
        after: &StateAnswer,
    ) -> Vec<Self> {
        let version = &asked.version;
        let whole = asked.refused.iter().map(|(error, was_loaded)| Self {
            version: version.clone(),
            path: None,
            error: error.clone(),
            was_loaded: *was_loaded,
        });
        let refused = after.loads.iter().filter_map(|(name, error)| Some((name, error.as_ref()?)));
        let tables = refused.filter_map(|(name, error)| {
            let table = asked.changed.get(name)?;
            let was = before.and_then(|before| before.loads.get(name));
            if matches!(was, Some(Some(_))) {
                return None;
            }
            let named = table.after.iter().find(|path| error.text.contains(below_data(path)));
            let path = named.or(table.after.first())?;
            Some(Self {
                version: version.clone(),
                path: Some(path.clone()),
                error: error.clone(),
                was_loaded: was.is_some() && table.before.contains(path),
            })
        });
        whole.chain(tables).collect()
    }

    /// Lists the changed tables that the planner could read before the change but not after it. Failed predictions name
    /// the unreadable file in their error messages.
    pub(super) fn of_prediction(
        asked: &AskedVersion,
        was: Option<&PredictReply>,
        now: &PredictReply,
        question: &Question<'_>,
    ) -> Vec<Self> {
        let unread = |reply: &PredictReply| -> BTreeMap<String, PlannerError> {
            let errors = reply.points.iter().filter_map(|point| match point {
                PointReply::Error { error } => Some(error.clone()),
                PointReply::Time { .. } => None,
            });
            let named = errors.filter_map(|error| {
                let (_, rest) = error.text.split_once("error at ")?;
                Some((rest.split(": ").next().unwrap_or(rest).to_owned(), error))
            });
            named.collect()
        };
        let before = was.map(unread).unwrap_or_default();
        let folder = &question.after.catalog.folder;
        let found = unread(now)
            .into_iter()
            .filter(|(path, _)| !before.contains_key(path))
            .filter_map(|(path, error)| {
                let path = if folder.is_empty() { path } else { format!("{folder}/{path}") };
                let table = asked.changed.values().find(|table| table.after.contains(&path))?;
                let was_loaded = was.is_some() && table.before.contains(&path);
                Some(Self { version: asked.version.clone(), path: Some(path), error, was_loaded })
            });
        found.collect()
    }
}
