//! What only the library's own ops and outputs may say of themselves.

/// A switch that memory safety rests on. Its type stands in a module that nobody else can name, so that no
/// implementation outside of this crate can give the constants of this type:
///
/// ```compile_fail,E0326
/// use windlass::{Output, Result};
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
