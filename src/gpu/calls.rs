//! Calls of collectors: runners evaluated for the rows of a table.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::base::expr::{Expr, ExprError, NULL_CODE, Scope, Vals, Value};
use crate::database::catalog::TableFile;
use crate::database::table::number_json;
use crate::gpu::runners::{Argument, Form, Runner, Runners};

/// A call of a Python function of a collector. The call measures one row or a group of rows.
#[derive(Debug, Default, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Call {
    /// Name of the Python module.
    pub module: String,
    /// Name of the module's function.
    pub function: String,
    /// Positional arguments. `{"type": T}` is replaced by the attribute T of the module. `{"case": N}` is replaced by
    /// element N of a case, which is a tuple of arguments that the collector lists. The chosen case agrees with the
    /// other arguments.
    pub args: Vec<Json>,
    /// Name of the module's function that lists the collector's cases. A case is a tuple of arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<String>,
    /// Preferred values in a case, by index in its tuple of arguments. If several cases agree with `args`, a case with
    /// these values is used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prefer: BTreeMap<usize, Json>,
    /// Environment variables of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Name of the file to which the function writes its results.
    pub file: String,
    /// Values of the columns by which rows are grouped, joined by spaces. One call measures all rows with equal values.
    /// Absent if the call measures one row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Number of processes that call the function together, each with a GPU of its own; absent if one
    /// process calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// The number of launches of an empty kernel that take the host as long as one call does. `None` if the call is
    /// timed as a CUDA graph.
    #[serde(skip)]
    pub launches: Option<u32>,
    /// The reason why the measured time cannot be compared with the recorded time; it is then shown but not judged.
    /// `None` if the times can be compared.
    #[serde(skip)]
    pub proxy: Option<String>,
}

/// Finds the call of a collector function that measures each row of a table.
pub(crate) struct Calls<'a> {
    table: &'a str,
    runners: Vec<EvaluatedRunner<'a>>,
}

/// A runner (a collector's Python function that measures rows), with its formulas evaluated for every row of a table.
struct EvaluatedRunner<'a> {
    runner: &'a Runner,
    rows: Option<Vals<'a, bool>>,
    /// The arguments of the call, each with the values of its formula in all rows; `None` for an argument without a
    /// formula.
    args: Vec<(&'a Argument, Option<Value<'a>>)>,
    env: Vec<(&'a str, Value<'a>)>,
    group: Vec<Value<'a>>,
    processes: Option<Value<'a>>,
    eager: Option<(Vals<'a, bool>, u32)>,
}

impl<'a> Calls<'a> {
    /// Evaluates the formulas of a table's runners for every row.
    pub(crate) fn new(
        runners: &'a Runners,
        file: &'a TableFile,
        scope: &'a dyn Scope,
    ) -> Result<Self, ExprError> {
        let runners = runners.of(&file.table, &file.place.backend);
        let runners = runners.into_iter().map(|runner| EvaluatedRunner::new(runner, scope));
        Ok(Self { table: &file.table, runners: runners.collect::<Result<_, ExprError>>()? })
    }

    /// Returns the call that measures a row; `None` if no runner matches.
    pub(crate) fn get(&self, row: usize) -> Option<Call> {
        Some(self.runner(row)?.call(self.table, row))
    }

    /// Returns true if a runner matches a row.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.runner(row).is_some()
    }

    /// Returns a row's values in the columns by which rows are grouped, joined by spaces. One call measures all rows
    /// with equal values. `None` if a call measures one row.
    pub(crate) fn group(&self, row: usize) -> Option<String> {
        self.runner(row)?.group(row)
    }

    /// Returns the number of GPUs that one measurement of the row uses.
    pub(crate) fn gpus(&self, row: usize) -> u64 {
        self.runner(row).and_then(|runner| runner.processes(row)).unwrap_or(1)
    }

    /// Returns the first runner that matches a row.
    fn runner(&self, row: usize) -> Option<&EvaluatedRunner<'a>> {
        self.runners.iter().find(|c| c.rows.as_ref().is_none_or(|rows| rows.get(row)))
    }
}

impl<'a> EvaluatedRunner<'a> {
    fn new(runner: &'a Runner, scope: &'a dyn Scope) -> Result<Self, ExprError> {
        let value = |e: &'a Expr| e.eval(scope);
        let arg = |arg: &'a Argument| Ok((arg, arg.formula().map(value).transpose()?));
        let column =
            |name: &'a String| scope.column(name).unwrap_or(Value::Number(Vals::One(f64::NAN)));
        let env = |(name, e): (&'a String, &'a Expr)| Ok((name.as_str(), value(e)?));
        let eager = runner.eager.as_ref();
        Ok(Self {
            runner,
            rows: runner.rows.as_ref().map(|e| e.mask(scope)).transpose()?,
            args: runner.args.iter().map(arg).collect::<Result<_, ExprError>>()?,
            env: runner.env.iter().map(env).collect::<Result<_, ExprError>>()?,
            group: runner.group.iter().map(column).collect(),
            processes: runner.processes.as_ref().map(value).transpose()?,
            eager: eager.map(|e| Ok((e.rows.mask(scope)?, e.launches))).transpose()?,
        })
    }

    fn group(&self, row: usize) -> Option<String> {
        let values: Vec<String> = self.group.iter().map(|value| text(value, row)).collect();
        (!values.is_empty()).then(|| values.join(" "))
    }

    fn processes(&self, row: usize) -> Option<u64> {
        self.processes.as_ref().and_then(|value| json(value, row).as_u64())
    }

    fn call(&self, table: &str, row: usize) -> Call {
        let runner = self.runner;
        let (module, function) = runner.run.split_once(':').unwrap_or((&runner.run, ""));
        let preferred = |(arg, value): &(&Argument, Option<Value<'_>>)| match arg {
            Argument::Form(Form::Case { case, .. }) => Some((*case, json(value.as_ref()?, row))),
            Argument::Form(_) | Argument::Value(_) => None,
        };
        let eager = self.eager.as_ref().filter(|(rows, _)| rows.get(row));
        Call {
            module: module.to_owned(),
            function: function.to_owned(),
            args: self.args.iter().map(|(arg, value)| argument(arg, value.as_ref(), row)).collect(),
            cases: runner.cases.clone(),
            prefer: self.args.iter().filter_map(preferred).collect(),
            env: self.env.iter().map(|(name, v)| ((*name).to_owned(), text(v, row))).collect(),
            file: runner.file.clone().unwrap_or_else(|| format!("{table}.txt")),
            group: self.group(row),
            processes: self.processes(row),
            launches: eager.map(|(_, launches)| *launches),
            proxy: None,
        }
    }
}

/// Returns the value of a formula in one row, as text.
fn text(value: &Value<'_>, row: usize) -> String {
    let value = json(value, row);
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns one argument of the call that measures `row`. `value` has the values of the argument's formula for all rows.
fn argument(arg: &Argument, value: Option<&Value<'_>>, row: usize) -> Json {
    let value = value.map_or(Json::Null, |value| json(value, row));
    match arg {
        Argument::Value(_) => value,
        Argument::Form(Form::List { .. }) if value.is_null() => value,
        Argument::Form(Form::List { .. }) => json!([value]),
        Argument::Form(Form::Real { .. }) => value.as_f64().into(),
        Argument::Form(Form::Type { .. }) => json!({"type": value}),
        Argument::Form(Form::Case { case, .. }) => json!({"case": case}),
    }
}

/// Returns the value of a formula in one row, as JSON. Whole numbers have no decimal point. NaN and infinities become
/// null.
fn json(value: &Value<'_>, row: usize) -> Json {
    match value {
        Value::Number(values) => match values.get(row) {
            number if number.is_finite() => number_json(number),
            _ => Json::Null,
        },
        Value::Bool(values) => values.get(row).into(),
        Value::Text(codes, texts) => match codes.get(row) {
            NULL_CODE => Json::Null,
            code => texts[code as usize].as_ref().into(),
        },
    }
}
