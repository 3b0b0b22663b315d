//! Nouns: plain data, each with its own text form.
