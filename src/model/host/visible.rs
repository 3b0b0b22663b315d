//! Which GPUs a process sees, from the variables that hide some.

use std::collections::BTreeMap;

/// Filters by the compute driver's order.
pub const DRIVER: &str = "ROCR_VISIBLE_DEVICES";
/// Count in what the driver's filter leaves, from 0; the first that is set counts.
pub const RUNTIME: [&str; 3] = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// The places, in the driver's order, of the GPUs that a process with these variables sees.
///
/// # Errors
/// When a list cannot be resolved, with the reason.
pub fn visible(env: &BTreeMap<String, String>, gpus: usize) -> Result<Vec<usize>, String> {
    let mut left: Vec<usize> = (0..gpus).collect();
    let runtime = RUNTIME.into_iter().find(|name| env.contains_key(*name));
    for name in [DRIVER].into_iter().chain(runtime) {
        let Some(list) = env.get(name) else { continue };
        left = list
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(|word| {
                let index: usize = word.parse().map_err(|_| format!("{name} names {word:?}, which is no index"))?;
                let of = left.len();
                left.get(index)
                    .copied()
                    .ok_or_else(|| format!("{name} names device {index} where {of} are left"))
            })
            .collect::<Result<_, String>>()?;
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_counts_in_what_the_driver_leaves() {
        let of = |pairs: &[(&str, &str)]| {
            let env = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            visible(&env, 4)
        };
        assert_eq!(of(&[]), Ok(vec![0, 1, 2, 3]));
        assert_eq!(of(&[(DRIVER, "2,3"), ("HIP_VISIBLE_DEVICES", "1")]), Ok(vec![3]));
        assert_eq!(of(&[("HIP_VISIBLE_DEVICES", "")]), Ok(vec![]));
        assert!(
            of(&[(DRIVER, "1"), ("HIP_VISIBLE_DEVICES", "1")])
                .unwrap_err()
                .contains("where 1 are left")
        );
        assert!(of(&[(DRIVER, "GPU-1234")]).unwrap_err().contains("no index"));
    }
}
