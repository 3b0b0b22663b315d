//! The GPUs that the kernel's compute driver lists, and the choice of some of them.

use std::collections::BTreeSet;
use std::path::Path;

use super::host::{Source, topology};

/// One compute node of the topology: a GPU, or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its number in the driver's order, which the runtimes count in.
    pub index: usize,
    /// The card's PCI address, `0000:26:00.0`; partitions share it.
    pub bdf: String,
    /// Its architecture, `gfx942`.
    pub arch: String,
}

/// Every GPU of the machine whose files stand under `root`, in the driver's order.
pub fn list(root: &Path) -> Vec<Gpu> {
    let nodes = topology::nodes(&Source::folder(root)).unwrap_or_default();
    let gpus = nodes.into_iter().enumerate();
    gpus.map(|(index, node)| Gpu {
        index,
        bdf: node.bdf,
        arch: node.arch,
    })
    .collect()
}

/// The architecture that a baseline is named after: of the first of these GPUs, else of the machine's first below `root`, else the processor's.
pub fn arch(chosen: &[Gpu], root: &Path) -> String {
    let of = |gpus: &[Gpu]| gpus.first().map(|gpu| gpu.arch.clone());
    of(chosen)
        .or_else(|| of(&list(root)))
        .unwrap_or_else(|| format!("cpu-{}", std::env::consts::ARCH))
}

/// The GPUs of a list of indexes and PCI addresses, separated by commas. An address means every partition of its card.
///
/// # Errors
/// Names what is not there and what is.
pub fn select(gpus: &[Gpu], wanted: &str) -> Result<Vec<Gpu>, String> {
    let mut chosen = BTreeSet::new();
    for word in wanted.split(',').map(str::trim) {
        let full = if word.len() == 7 {
            format!("0000:{word}")
        } else {
            word.to_lowercase()
        };
        let found: Vec<usize> = gpus
            .iter()
            .filter(|gpu| word.parse() == Ok(gpu.index) || gpu.bdf == full)
            .map(|gpu| gpu.index)
            .collect();
        if found.is_empty() {
            return Err(format!("there is no device {word:?}: {}", known(gpus)));
        }
        if found.into_iter().any(|index| !chosen.insert(index)) {
            return Err(format!("the device {word:?} is named twice"));
        }
    }
    Ok(gpus.iter().filter(|gpu| chosen.contains(&gpu.index)).cloned().collect())
}

fn known(gpus: &[Gpu]) -> String {
    if gpus.is_empty() {
        return "this machine has no GPU that the compute driver lists".to_owned();
    }
    let names: Vec<String> = gpus
        .iter()
        .map(|gpu| format!("{} is {} ({})", gpu.index, gpu.bdf, gpu.arch))
        .collect();
    format!("known are: {}", names.join(", "))
}

/// The variables that show a process these GPUs and no other.
///
/// `ROCR_VISIBLE_DEVICES` filters by the driver's order; `HIP_VISIBLE_DEVICES` counts in what that leaves, from 0. Set together like this they
/// agree whichever of them a runtime reads first.
pub fn variables(chosen: &[Gpu]) -> [(String, String); 2] {
    let join = |numbers: Vec<String>| numbers.join(",");
    let physical = join(chosen.iter().map(|gpu| gpu.index.to_string()).collect());
    let left = join((0..chosen.len()).map(|index| index.to_string()).collect());
    [
        ("ROCR_VISIBLE_DEVICES".to_owned(), physical),
        ("HIP_VISIBLE_DEVICES".to_owned(), left),
    ]
}

/// The names of the locks that a session on these GPUs takes, one a card, in the order that every session takes them in; `cpu` without a GPU.
pub fn locks(chosen: &[Gpu]) -> Vec<String> {
    if chosen.is_empty() {
        return vec!["cpu".to_owned()];
    }
    chosen
        .iter()
        .map(|gpu| gpu.bdf.clone())
        .collect::<BTreeSet<String>>()
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: usize, bdf: &str) -> Gpu {
        Gpu {
            index,
            bdf: bdf.to_owned(),
            arch: "gfx942".to_owned(),
        }
    }

    #[test]
    fn devices_are_chosen_by_index_or_address() {
        let gpus = [gpu(0, "0000:26:00.0"), gpu(1, "0000:46:00.0"), gpu(2, "0000:46:00.0")];
        let indexes = |wanted: &str| select(&gpus, wanted).map(|chosen| chosen.iter().map(|gpu| gpu.index).collect::<Vec<usize>>());
        assert_eq!(indexes("0"), Ok(vec![0]));
        assert_eq!(indexes("46:00.0"), Ok(vec![1, 2]));
        assert_eq!(indexes("1, 0000:26:00.0"), Ok(vec![0, 1]));
        for wrong in ["3", "0,0", "", "-1", "0000:27:00.0"] {
            assert!(indexes(wrong).is_err(), "{wrong}");
        }
        assert!(select(&[], "0").unwrap_err().contains("no GPU"));
    }

    #[test]
    fn both_variables_name_the_same_devices() {
        let chosen = [gpu(2, "0000:46:00.0"), gpu(5, "0000:66:00.0")];
        let [rocr, hip] = variables(&chosen);
        assert_eq!((rocr.1.as_str(), hip.1.as_str()), ("2,5", "0,1"));
        assert_eq!(locks(&chosen), ["0000:46:00.0", "0000:66:00.0"]);
        assert_eq!(locks(&[]), ["cpu"]);
    }
}
