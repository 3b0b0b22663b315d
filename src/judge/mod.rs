//! The decision core: pure functions of model values.
