//! A planner that is a shell script, for tests without Python.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use perfdb_gate::jobs::impact::PlannerOptions;
use perfdb_gate::planner::PlannerChoice;
use tempfile::TempDir;

/// Two steps of one model.
pub const CASES: &str = "cases:\n- {model: some/model, parallel: {tp: 1, dp: 1, moe_tp: 1, moe_ep: 1}}\n\
                         points: [[prefill, 1, 1024], [decode, 16, 1024]]\n";

/// `fixtures/planner.sh` in a folder of its own, with a file of cases.
pub struct FakePlanner(TempDir);

impl FakePlanner {
    /// A planner that answers, or fails as `fixtures/planner.sh` describes.
    pub fn new(fails: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let script = folder.path().join("planner.sh");
        std::fs::write(&script, include_str!("../fixtures/planner.sh")).expect("a script");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        std::fs::write(folder.path().join("fake"), fails).expect("a file");
        std::fs::write(folder.path().join("cases.yaml"), CASES).expect("a file");
        Self(folder)
    }

    /// The script.
    pub fn script(&self) -> PathBuf {
        self.0.path().join("planner.sh")
    }

    /// The options that ask this planner about [`CASES`].
    pub fn options(&self) -> PlannerOptions {
        let choice = PlannerChoice::Python(self.script());
        let cases = Some(self.0.path().join("cases.yaml"));
        PlannerOptions { choice, cases, ..PlannerOptions::default() }
    }

    /// The arguments that ask this planner about [`CASES`].
    pub fn args(&self) -> Vec<String> {
        let text = |path: PathBuf| path.display().to_string();
        let cases = text(self.0.path().join("cases.yaml"));
        ["--planner", &text(self.script()), "--cases", &cases].map(str::to_owned).into()
    }
}
