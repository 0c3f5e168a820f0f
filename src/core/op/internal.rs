//! Flags that only the library's own ops and outputs may set.

/// A flag that memory safety relies on. Its type is in a module that other crates cannot name, so no implementation
/// outside of this crate can define the constants of this type:
///
/// ```compile_fail,E0326
/// use windlass::{Result, op::Output};
///
/// struct Mine;
///
/// impl Output for Mine {
///     type Writes = ();
///     type Host = f32;
///     const EAGER: bool = true; // without this line it compiles
///     fn join((): (), _: f32) -> Result<Self> {
///         Ok(Mine)
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Internal(bool);

impl Internal {
    pub(crate) const YES: Internal = Internal(true);
    pub(crate) const NO: Internal = Internal(false);

    pub(crate) const fn is_yes(self) -> bool {
        self.0
    }
}
