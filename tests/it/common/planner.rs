//! A planner that is a shell script, for tests without Python.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use perfdb_gate::jobs::impact::PlannerOptions;
use perfdb_gate::planner::PlannerChoice;
use tempfile::TempDir;

/// A file of cases with two steps of one model.
pub const CASES: &str = "cases:\n- {model: some/model, parallel: {tp: 1, dp: 1, moe_tp: 1, moe_ep: 1}}\n\
                         points: [[prefill, 1, 1024], [decode, 16, 1024]]\n";

/// A temporary folder with a planner script and a file of cases.
pub struct FakePlanner(TempDir);

/// A planner script that replies as aiconfigurator-core 0.12.0 did for a synthetic database: to `hello`, `versions`,
/// `sources`, `load`, and `predict` for three models.
const REPLAY: &str = r#"#!/bin/sh
reply() { sed -n "$1p" "$(dirname "$0")/replies"; }
while IFS= read -r line; do
  case $line in
  *'"do":"hello"'*) reply 1 ;;
  *'"do":"versions"'*) reply 2 ;;
  *'"do":"sources"'*) reply 3 ;;
  *'"do":"load"'*) reply 4 ;;
  *Qwen/Qwen3-32B*) reply 5 ;;
  *deepseek-ai/DeepSeek-V3*) reply 6 ;;
  *) reply 7 ;;
  esac
done
"#;

/// The cases of the recorded predictions.
const RECORDED: &str = "cases:\n\
                        - {model: Qwen/Qwen3-32B, parallel: {tp: 1, dp: 1, moe_tp: 1, moe_ep: 1}}\n\
                        - {model: deepseek-ai/DeepSeek-V3, parallel: {tp: 8, dp: 1, moe_tp: 1, moe_ep: 8}}\n\
                        - {model: nobody/nothing, parallel: {tp: 8, dp: 1, moe_tp: 1, moe_ep: 8}}\n\
                        points: [[prefill, 1, 1024], [decode, 16, 1024]]\n";

impl FakePlanner {
    /// Creates a planner that repeats recorded replies of the planner's package.
    pub fn recorded() -> Self {
        let planner = Self::new("");
        let write = |name: &str, text: &str| {
            std::fs::write(planner.0.path().join(name), text).expect("a file");
        };
        write("planner.sh", REPLAY);
        write("replies", include_str!("../fixtures/planner-replies.jsonl"));
        write("cases.yaml", RECORDED);
        planner
    }

    /// Creates a planner that runs `fixtures/planner.sh`. `fails` names the failure that it simulates; empty for none.
    pub fn new(fails: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let script = folder.path().join("planner.sh");
        std::fs::write(&script, include_str!("../fixtures/planner.sh")).expect("a script");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        std::fs::write(folder.path().join("fake"), fails).expect("a file");
        std::fs::write(folder.path().join("cases.yaml"), CASES).expect("a file");
        Self(folder)
    }

    /// The path of the script, given to `--planner`.
    pub fn script(&self) -> PathBuf {
        self.0.path().join("planner.sh")
    }

    /// The options of the library by which this planner predicts its file of cases.
    pub fn options(&self) -> PlannerOptions {
        let planner = Some(PlannerChoice::Python(self.script()));
        let cases = Some(self.0.path().join("cases.yaml"));
        PlannerOptions { planner, cases, ..PlannerOptions::default() }
    }

    /// The arguments of the binary by which this planner predicts its file of cases.
    pub fn args(&self) -> Vec<String> {
        let text = |path: PathBuf| path.display().to_string();
        let cases = text(self.0.path().join("cases.yaml"));
        ["--planner", &text(self.script()), "--cases", &cases].map(str::to_owned).into()
    }
}
