//! Scores of a candidate against those of its base: the statistics, the rule, the files.

mod paired;
