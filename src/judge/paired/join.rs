//! Two runs over the same items, joined item by item.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Flips;
use crate::model::eval::Outcomes;

/// Why there is no paired result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "because")]
pub enum Withheld {
    /// Items of one side have no counterpart: what is compared is not the same set.
    Unmatched {
        /// Items of the base alone.
        base: u64,
        /// Items of the candidate alone.
        candidate: u64,
    },
    /// The outcomes are of two scores, or are none.
    Unusable {
        /// What is wrong with them.
        why: String,
    },
}

/// Counts the flips between two runs. Items with the same digest are joined in their order; a single one without its counterpart withholds all.
///
/// # Errors
/// Why there is no paired result.
pub fn join(base: &Outcomes, candidate: &Outcomes) -> Result<Flips, Withheld> {
    let unusable = |why| Withheld::Unusable { why };
    if base.key != candidate.key {
        return Err(unusable(format!("the outcomes are of {} and of {}", base.key, candidate.key)));
    }
    let [mut a, mut b] = [base.pairs().map_err(unusable)?, candidate.pairs().map_err(unusable)?];
    // Stable, so that equal digests keep the order of their items.
    for side in [&mut a, &mut b] {
        side.sort_by_key(|(item, _)| *item);
    }
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    let (mut lost, mut gained, mut items) = (0, 0, 0);
    let (mut base_only, mut candidate_only) = (0, 0);
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        match (left, right) {
            (Some((_, before)), Some((_, now))) => {
                items += 1;
                lost += u64::from(before && !now);
                gained += u64::from(!before && now);
            }
            (Some(_), None) => base_only += 1,
            _ => candidate_only += 1,
        }
    }
    if base_only + candidate_only > 0 {
        return Err(Withheld::Unmatched {
            base: base_only,
            candidate: candidate_only,
        });
    }
    Flips::new(lost, gained, items).ok_or_else(|| unusable(format!("{}: no items", base.key)))
}
