//! The structure of the text.
