//! Tensors in order: sorts and what is made of them.

mod sorts;
