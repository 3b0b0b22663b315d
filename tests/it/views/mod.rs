//! Views of a record: what people read, and that foreign text in it is inert.

pub mod hostile;
mod typical;
