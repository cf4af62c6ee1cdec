//! The planner's package that the action installs. A `python3` that notes what it is asked stands for the runner's, and makes
//! an environment whose pip and whose package are shell scripts, too.

use std::path::PathBuf;
use std::process::Command;

use super::{Action, act, action, indebted, program};
use crate::common::planner::FakePlanner;
use crate::common::{BINARY, Tree, gemm};
use serde_json::Value;

const REQUIREMENT: &str = "aiconfigurator-core==0.12.0";
const SANITY: [(&str, &str); 2] = [("job", "sanity"), ("fail-on", "never")];

/// The file `fails` names what fails: start, venv or pip.
const PYTHON: &str = r#"
echo "python3 $*" >> 'HERE/asked'
fails=$(cat 'HERE/fails' 2> /dev/null || true)
case "$*" in
  "-I -c import platform; print(platform.python_version())") [ "$fails" != start ]; echo 3.12.9 ;;
  "-I -m venv "*)
    [ "$fails" != venv ]
    mkdir -p "$4/bin"
    cp 'HERE/bin/environment' "$4/bin/python" ;;
  *) exit 9 ;;
esac
"#;

/// The interpreter of an environment.
const ENVIRONMENT: &str = r#"
installed=$(dirname "$0")/../installed
case "$*" in
  "-I -m pip --quiet --disable-pip-version-check "*)
    echo "pip ${*:6}" >> 'HERE/asked'
    case "$6" in
      show) grep --quiet --fixed-strings "$7==" "$installed" ;;
      install) [ ! -e 'HERE/fails' ]; echo "${@: -1}" > "$installed" ;;
    esac ;;
  "-I -c "*) exec 'PLANNER' "$@" ;;
  *) exit 9 ;;
esac
"#;

/// A gate that notes which planner it is to ask, and asks it about few cases.
const GATE: &str = r#"
case "$1" in
  sanity | validate)
    noted="$1" last=
    for word in "$@"; do
      case "$last $word" in "--planner "* | *" --planner="*) noted="$noted $last $word" ;; esac
      last=$word
    done
    echo "$noted" >> 'HERE/asked' ;;
esac
if [ "$1" = sanity ]; then set -- "$@" --cases 'CASES'; fi
exec 'BINARY' "$@"
"#;

/// A pull request that makes a measurement slower, and the stand-ins, outside of its checkout.
struct Runner {
    checkout: Tree,
    aside: Tree,
    planner: FakePlanner,
}

impl Runner {
    fn new() -> Self {
        let (checkout, _) = indebted();
        checkout.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.75)]));
        checkout.commit();
        let runner = Self { checkout, aside: Tree::new(), planner: FakePlanner::new("") };
        for (name, script) in [("python3", PYTHON), ("environment", ENVIRONMENT), ("gate", GATE)] {
            program(&runner.aside, name, &runner.filled(script));
        }
        runner
    }

    fn filled(&self, script: &str) -> String {
        let planner = self.planner.script().display().to_string();
        let cases = self.planner.args().pop().unwrap();
        let script = script.replace("HERE", &self.here()).replace("BINARY", BINARY);
        script.replace("PLANNER", &planner).replace("CASES", &cases)
    }

    fn here(&self) -> String {
        self.aside.path().display().to_string()
    }

    /// The environment, which later runs find as a cache would bring it.
    fn environment(&self) -> PathBuf {
        self.aside.path().join("perfdb-gate-planner").join(REQUIREMENT)
    }

    /// A run with the same temporary folder each time, and what the stand-ins were asked in it.
    fn act(&self, inputs: &[(&str, &str)]) -> (Action, String) {
        let asked = self.aside.file("asked", "");
        let here = self.here();
        let (programs, gate) = (format!("{here}/bin"), format!("{here}/bin/gate"));
        let event = [("programs", &*programs), ("runner.temp", &here), ("github.base_ref", "main")];
        let run = act(&self.checkout, &[&[("binary", &*gate)], inputs].concat(), &event);
        let asked = std::fs::read_to_string(asked).unwrap();
        (run, asked.replace(&here, "TEMP"))
    }

    /// A run of sanity that asks for the package.
    fn sanity(&self, more: &[(&str, &str)]) -> (Action, String) {
        self.act(&[&SANITY[..], &[("planner", REQUIREMENT)], more].concat())
    }

    /// The rules on predictions that a run found something for.
    fn predictions(&self, run: &Action) -> Vec<String> {
        let text = std::fs::read_to_string(&run.outputs["report"]).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let rules = report["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str());
        rules.flatten().filter(|rule| rule.starts_with("prediction-")).map(str::to_owned).collect()
    }
}

/// It ended with 2 and told so in one line.
fn refused((run, asked): &(Action, String), what: &str) -> String {
    assert_eq!(run.code, 2, "{what}: {}", run.log);
    assert!(!run.outputs.contains_key("verdict"), "{what}");
    assert!(!asked.contains("sanity") && !asked.contains("validate"), "{what}: {asked}");
    let errors: Vec<&str> = run.log.lines().filter(|line| line.starts_with("::error")).collect();
    assert_eq!(errors.len(), 1, "{what}: {}", run.log);
    errors[0].to_owned()
}

#[test]
fn the_action_installs_the_planner_once_and_asks_it() {
    let runner = Runner::new();
    let (run, asked) = runner.sanity(&[]);
    assert_eq!(run.code, 0, "{}", run.log);
    assert_eq!(
        run.outputs["python"],
        runner.environment().join("bin/python").display().to_string()
    );
    assert_eq!(runner.predictions(&run), ["prediction-moved"], "{}", run.log);
    insta::assert_snapshot!(asked, @"
    python3 -I -c import platform; print(platform.python_version())
    python3 -I -m venv TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0
    pip install --only-binary :all: aiconfigurator-core==0.12.0
    sanity --planner TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0/bin/python
    ");

    let (run, asked) = runner.sanity(&[]);
    assert_eq!(runner.predictions(&run), ["prediction-moved"], "{}", run.log);
    insta::assert_snapshot!(asked, @"
    python3 -I -c import platform; print(platform.python_version())
    pip show aiconfigurator-core
    sanity --planner TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0/bin/python
    ");
    assert_eq!(runner.checkout.git(&["status", "--porcelain"]), "", "the checkout is left alone");
}

#[test]
fn an_incomplete_cached_environment_is_installed_again() {
    let runner = Runner::new();
    let (first, all) = runner.sanity(&[]);
    assert_eq!(first.code, 0, "{}", first.log);
    // The runner has another interpreter, or the package is not there.
    for lost in ["bin/python", "installed"] {
        std::fs::remove_file(runner.environment().join(lost)).unwrap();
        let left = runner.environment().join("left");
        std::fs::write(&left, "").unwrap();
        let (run, asked) = runner.sanity(&[]);
        assert_eq!(run.code, 0, "{lost}: {}", run.log);
        let again = asked.lines().filter(|line| !line.starts_with("pip show "));
        assert_eq!(again.collect::<Vec<_>>(), all.lines().collect::<Vec<_>>(), "{lost}");
        assert!(!left.exists(), "{lost}: nothing of the old one stays");
    }
}

#[test]
fn the_action_caches_the_environment_that_it_installs() {
    let action = action();
    let steps = action["runs"]["steps"].as_array().unwrap();
    let at = |id: &str| steps.iter().position(|s| s["id"] == id).unwrap();
    let (before, step) = (&steps[at("requirement")], &steps[at("planner")]);
    let cache = &steps[at("requirement") + 1];
    assert_eq!(at("requirement") + 2, at("planner"), "what is restored is what was checked");
    assert!(cache["uses"].as_str().unwrap().starts_with("actions/cache@"));
    assert_eq!(cache["with"]["path"], step["env"]["VENV"]);
    assert_eq!((&cache["if"], &before["if"]), (&step["if"], &step["if"]));
    // An environment works for one interpreter and one machine only.
    for part in ["runner.os", "runner.arch", "steps.requirement.outputs.python", "inputs.planner"] {
        let key = cache["with"]["key"].as_str().unwrap();
        assert!(key.contains(&format!("${{{{ {part} }}}}")), "{part}: {key}");
    }
}

#[test]
fn without_the_input_no_planner_is_asked_and_args_override_inputs() {
    let runner = Runner::new();
    let last = |inputs: &[(&str, &str)]| {
        let (run, asked) = runner.act(&[&[("fail-on", "never")], inputs].concat());
        assert_eq!(run.code, 0, "{inputs:?}: {}", run.log);
        assert!(inputs.iter().any(|i| i.0 == "planner") || !asked.contains("python3"), "{asked}");
        asked.lines().last().unwrap().to_owned()
    };
    let sanity = |more: &[(&str, &str)]| last(&[&[("job", "sanity")], more].concat());
    let own = format!("sanity --planner TEMP/perfdb-gate-planner/{REQUIREMENT}/bin/python");
    let with = ("planner", REQUIREMENT);
    assert_eq!(sanity(&[]), "sanity --planner none");
    assert_eq!(sanity(&[("args", "--planner-versions 2")]), "sanity --planner none");
    assert_eq!(sanity(&[with]), own);
    assert_eq!(sanity(&[with, ("args", "--planner-versions 2")]), own);
    assert_eq!(sanity(&[with, ("args", "--planner none")]), "sanity --planner none");
    let other = FakePlanner::new("");
    let script = other.script().display().to_string();
    for inputs in [&[][..], &[with]] {
        let two =
            sanity(&[inputs, &[("args", &*format!("--quiet --planner '{script}'"))]].concat());
        assert_eq!(two, format!("sanity --planner {script}"));
        let one = sanity(&[inputs, &[("args", &*format!("--planner={script}"))]].concat());
        assert_eq!(one.split(' ').next_back(), Some(&*format!("--planner={script}")));
        assert_eq!(one.matches("--planner").count(), 1, "{one}");
    }
    assert_eq!(last(&[]), "validate");
}

#[test]
fn a_planner_input_other_than_name_and_version_is_refused_before_any_command() {
    let runner = Runner::new();
    // pip takes a file of that name, and builds it, whatever --only-binary says.
    runner.checkout.file("a==1.zip", "an archive");
    let wrong = [
        "x",
        "x>=1",
        "x==",
        "==1",
        "x==latest",
        "x==1.*",
        "x===1",
        "x==1,<2",
        "x==1 ",
        " ",
        "x[extra]==1",
        "./x",
        "../x==1",
        "/x==1",
        "-r==1",
        "--index-url=https://example.invalid",
        "x @ https://example.invalid/x-1-py3-none-any.whl",
        "git+https://example.invalid/x==1",
        "a==1.zip",
        "a==1.tar.gz",
        "a==1+x.zip",
        "a==1-py3-none-any.whl",
        "a==1; touch pwned",
        "a==1 --extra-index-url https://example.invalid",
        "a==1\ntouch pwned",
        "a==1\nb==1",
        "a==$(touch pwned)",
        "a==1`touch pwned`",
    ];
    let told = "::error title=perfdb-gate::planner takes a name and a version, as in aiconfigurator-core==0.12.0";
    for planner in wrong {
        let run = runner.act(&[&SANITY[..], &[("planner", planner)]].concat());
        assert_eq!(refused(&run, planner), told);
        assert_eq!(run.1, "", "{planner}");
    }
    // Only sanity asks it.
    for planner in [REQUIREMENT, "x", "a==1; touch pwned"] {
        let run = runner.act(&[("planner", planner)]);
        assert_eq!(refused(&run, planner), "::error title=perfdb-gate::planner is for sanity");
        assert_eq!(run.1, "", "{planner}");
    }
    assert!(!runner.checkout.path().join("pwned").exists());
    assert!(!runner.aside.path().join("perfdb-gate-planner").exists());
    for right in ["x==1", "X.y_z-0==1.2.3", "x==1.0rc1", "x==1.0.post1.dev2", "x==1.0+cu121"] {
        let (run, asked) = runner.act(&[&SANITY[..], &[("planner", right)]].concat());
        assert_eq!(run.code, 0, "{right}: {}", run.log);
        assert!(asked.contains(&format!("pip install --only-binary :all: {right}\n")), "{asked}");
    }
}

#[test]
fn a_failed_installation_is_reported_and_retried_by_the_next_run() {
    let runner = Runner::new();
    let mut told = String::new();
    for fails in ["start", "venv", "pip", "pip"] {
        runner.aside.file("fails", fails);
        let run = runner.sanity(&[]);
        told += &format!("{}\n{}\n", refused(&run, fails), run.1);
    }
    insta::assert_snapshot!(told, @"
    ::error title=perfdb-gate::planner needs a python3 that starts
    python3 -I -c import platform; print(platform.python_version())

    ::error title=perfdb-gate::aiconfigurator-core==0.12.0 cannot be installed; the log says why (the planner needs Python 3.11 to 3.13)
    python3 -I -c import platform; print(platform.python_version())
    python3 -I -m venv TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0

    ::error title=perfdb-gate::aiconfigurator-core==0.12.0 cannot be installed; the log says why (the planner needs Python 3.11 to 3.13)
    python3 -I -c import platform; print(platform.python_version())
    python3 -I -m venv TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0
    pip install --only-binary :all: aiconfigurator-core==0.12.0

    ::error title=perfdb-gate::aiconfigurator-core==0.12.0 cannot be installed; the log says why (the planner needs Python 3.11 to 3.13)
    python3 -I -c import platform; print(platform.python_version())
    pip show aiconfigurator-core
    python3 -I -m venv TEMP/perfdb-gate-planner/aiconfigurator-core==0.12.0
    pip install --only-binary :all: aiconfigurator-core==0.12.0
    ");
    runner.aside.remove("fails");
    let (run, asked) = runner.sanity(&[]);
    assert_eq!(run.code, 0, "{}", run.log);
    assert!(asked.contains("pip install"), "{asked}");
}

/// A Python that is not isolated imports modules of its working directory before its own.
#[test]
fn the_action_s_python_imports_no_module_of_the_checkout() {
    let runner = Runner::new();
    for module in ["venv", "pip", "platform", "sitecustomize", "runpy", "ensurepip/__init__"] {
        runner.checkout.file(&format!("{module}.py"), "open('pwned', 'w')\n");
    }
    let asked = runner.sanity(&[]).1;
    let python = || asked.lines().filter_map(|line| line.strip_prefix("python3 "));
    assert!(python().count() == 2 && python().all(|args| args.starts_with("-I ")), "{asked}");

    // The same with the Python of this machine, if it has one; its environment gets a pip that installs nothing.
    let path = std::env::var("PATH").unwrap_or_default();
    let mut real = Command::new("python3");
    real.args(["-I", "-m", "venv", "-h"]).env_clear().env("PATH", path);
    if !real.output().is_ok_and(|out| out.status.success()) {
        return;
    }
    let pip = "import os, sys\nmark = os.path.join(sys.prefix, 'installed')\n\
               if 'show' in sys.argv: sys.exit(not os.path.exists(mark))\nopen(mark, 'w')\n";
    runner.aside.file("pip.py", pip);
    let script = r#"
PATH=${PATH#*:}
case "$*" in
  *venv*)
    python3 "$@" --without-pip
    for folder in "${@: -1}"/lib/python3*/site-packages; do cp 'HERE/pip.py' "$folder"; done ;;
  *) exec python3 "$@" ;;
esac
"#;
    program(&runner.aside, "python3", &runner.filled(script));
    std::fs::remove_dir_all(runner.environment()).unwrap();
    for _ in 0..2 {
        let (run, asked) = runner.sanity(&[("args", "--planner none")]);
        assert_eq!((run.code, &*asked), (0, "sanity --planner none\n"), "{}", run.log);
        assert!(runner.environment().join("installed").exists());
        assert!(!runner.checkout.path().join("pwned").exists(), "{}", run.log);
    }
}
