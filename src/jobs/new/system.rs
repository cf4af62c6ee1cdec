//! The YAML of a new table's system, from what is known of its GPU.

use super::files::{NewFile, NewPlace};
use super::options::NewOptions;
use crate::base::error::{Error, Result, nearest};
use crate::gpu::cuda::Cuda;
use crate::gpu::device::Device;
use crate::specs::Specs;

/// Returns the system's YAML file from the database. If the database lacks it, creates the file from the YAML of a
/// system that perfdb-gate knows: the one with the same name, or else the one that has this computer's GPU.
pub(super) fn file(place: &NewPlace, options: &NewOptions) -> Result<NewFile> {
    if let Some(yaml) = &place.yaml {
        return kept(place, &yaml.yaml)?.ok_or_else(|| {
            Error::new(format!("{} was removed during the run", yaml.yaml), "run this again")
        });
    }
    let gpu = || Cuda::open().ok().map(|gpu| gpu.about().name.clone());
    let (text, says) = described(&place.specs, &options.system, gpu)?;
    let data = format!("data_dir: data/{}", options.system);
    let text: String = text
        .lines()
        .map(|line| if line.starts_with("data_dir:") { data.as_str() } else { line })
        .flat_map(|line| [line, "\n"])
        .collect();
    let bytes = text.clone().into_bytes();
    Ok(NewFile { path: place.yaml_path.clone(), bytes, text: Some(text), says, exists: false })
}

/// Reads an existing file, which is kept as it is; `None` if the file does not exist.
pub(super) fn kept(place: &NewPlace, path: &str) -> Result<Option<NewFile>> {
    let bytes = place.tree.read(&place.top.join(path))?;
    let (path, says) = (path.to_owned(), "kept as it is".to_owned());
    Ok(bytes.map(|bytes| NewFile { path, bytes, text: None, says, exists: true }))
}

/// Returns the YAML of the system `name` if perfdb-gate knows this system. Otherwise calls `gpu`, which names this
/// computer's GPU, and returns the YAML of the known system with that GPU. Also returns a note that names the source.
fn described<'s>(
    specs: &'s Specs,
    name: &str,
    gpu: impl FnOnce() -> Option<String>,
) -> Result<(&'s str, String)> {
    let yaml = |known: &str| {
        let files = specs.library.folder("systems").filter(|file| file.stem() == known);
        files.last().map(|file| &*file.text)
    };
    if let Some(text) = yaml(name) {
        return Ok((text, "the known system's figures".to_owned()));
    }
    let gpu = gpu();
    let known = gpu.as_ref().and_then(|gpu| {
        specs.systems.iter().find(|(_, system)| system.is_device(gpu)).map(|(known, _)| known)
    });
    if let (Some(gpu), Some((known, text))) =
        (&gpu, known.and_then(|known| Some((known, yaml(known)?))))
    {
        return Ok((text, format!("the figures of {known}, since the GPU at hand is {gpu}")));
    }
    let names: Vec<&str> = specs.systems.iter().map(|(name, _)| name.as_str()).collect();
    let meant = nearest(name, names.iter().copied());
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    let why = match gpu {
        Some(gpu) => format!("the GPU at hand, {gpu}, is not that of a known system"),
        None => "no GPU is at hand to look at".to_owned(),
    };
    Err(Error::new(
        format!("{name} is not a known system, and {why}"),
        format!(
            "{meant}known: {}; for another machine, write systems/{name}.yaml first (`perfdb-gate \
             explain system-invalid` shows one)",
            names.join(", ")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::Library;

    #[test]
    fn an_unknown_system_gets_the_figures_of_the_local_gpu() {
        let specs = Specs::read(Library::embedded()).unwrap();
        let of = |name: &str, gpu: Option<&str>| {
            described(&specs, name, || gpu.map(str::to_owned))
                .map(|(text, says)| (text.contains("NVIDIA H200"), says))
        };
        let named = of("h200_sxm", Some("NVIDIA L4")).unwrap();
        assert_eq!(named, (true, "the known system's figures".to_owned()));
        let (is_h200, says) = of("ours", Some("NVIDIA H200")).unwrap();
        assert!(is_h200, "{says}");
        assert_eq!(says, "the figures of h200_sxm, since the GPU at hand is NVIDIA H200");
        let other = of("ours", Some("NVIDIA X1")).unwrap_err();
        assert_eq!(
            other.message,
            "ours is not a known system, and the GPU at hand, NVIDIA X1, is not that of a known system"
        );
        assert!(of("h200_sx", None).unwrap_err().hint.starts_with("did you mean h200_sxm?"));
    }
}
