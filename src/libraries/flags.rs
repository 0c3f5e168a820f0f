//! How a stored matrix is used, for all libraries: orders, transposes, triangles, diagonals, sides.

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Order {
    /// Column after column: element `(i, j)` is at `i + j * ld`.
    #[default]
    Column,
    /// Row after row: element `(i, j)` is at `i * ld + j`.
    Row,
}

/// What is done to a stored matrix before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Transpose {
    /// As stored.
    #[default]
    No,
    /// Transposed.
    Yes,
    /// Conjugated and transposed; the same as `Yes` for real types.
    Conjugate,
}

/// Which triangle of a symmetric, Hermitian or triangular matrix is stored. The other one is neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Uplo {
    /// The diagonal and the elements above it.
    Upper,
    /// The diagonal and the elements below it.
    Lower,
}

/// Whether a complex matrix is its transpose or its adjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Symmetry {
    /// `A = A^T`.
    Symmetric,
    /// `A = A^H`; the same for real types.
    Hermitian,
}

/// The kind of diagonal of a triangular matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Diag {
    /// As stored.
    #[default]
    NonUnit,
    /// All ones. The stored elements of the diagonal are not read.
    Unit,
}

/// On which side of a product a matrix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Side {
    /// `A * B`.
    Left,
    /// `B * A`.
    Right,
}

impl Order {
    /// The other one, in which the transposed matrix lies.
    #[cfg(feature = "blas")]
    pub(in crate::libraries) fn turned(self) -> Self {
        match self {
            Order::Column => Order::Row,
            Order::Row => Order::Column,
        }
    }
}

impl Uplo {
    /// The triangle of a matrix that lies in `order`, as a library sees it that reads columns.
    #[cfg(feature = "blas")]
    pub(in crate::libraries) fn by_columns(self, order: Order) -> Self {
        if order == Order::Row { self.transposed() } else { self }
    }

    /// The triangle that has the same elements if the matrix is read by rows instead of columns.
    pub(in crate::libraries) fn transposed(self) -> Self {
        match self {
            Uplo::Upper => Uplo::Lower,
            Uplo::Lower => Uplo::Upper,
        }
    }
}

impl Side {
    /// The side of A in a product that is written in `order`, as a library computes it that writes columns.
    #[cfg(feature = "blas")]
    pub(in crate::libraries) fn by_columns(self, order: Order) -> Self {
        if order == Order::Row { self.transposed() } else { self }
    }

    /// The side of A in the transposed product.
    pub(in crate::libraries) fn transposed(self) -> Self {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// Numbers of the library's enums: `cublasOperation_t`, `cublasFillMode_t`, `cublasDiagType_t`, `cublasSideMode_t`.
impl Transpose {
    /// The code for elements of type `T`. For real types, `Conjugate` is a plain transpose, because some routines take
    /// nothing else.
    #[cfg(feature = "cuda")]
    pub(crate) fn code<T: crate::core::element::Element>(self) -> u32 {
        match self {
            Transpose::No => 0,
            Transpose::Conjugate if T::DTYPE.is_complex() => 2,
            Transpose::Yes | Transpose::Conjugate => 1,
        }
    }

    /// Rows and columns, as stored, of a matrix that is `rows x cols` after this operation.
    pub(crate) fn stored(self, rows: usize, cols: usize) -> (usize, usize) {
        if self == Transpose::No { (rows, cols) } else { (cols, rows) }
    }

    #[cfg(all(feature = "host", feature = "blas"))]
    pub(crate) fn on_host(self) -> crate::numerics::Trans {
        match self {
            Transpose::No => crate::numerics::Trans::No,
            Transpose::Yes => crate::numerics::Trans::Yes,
            Transpose::Conjugate => crate::numerics::Trans::Conj,
        }
    }
}

#[cfg(feature = "cuda")]
impl Uplo {
    pub(crate) fn code(self) -> u32 {
        match self {
            Uplo::Lower => 0,
            Uplo::Upper => 1,
        }
    }
}

#[cfg(all(feature = "host", feature = "blas"))]
impl Uplo {
    pub(crate) fn on_host(self) -> crate::numerics::level3::Uplo {
        match self {
            Uplo::Lower => crate::numerics::level3::Uplo::Lower,
            Uplo::Upper => crate::numerics::level3::Uplo::Upper,
        }
    }
}

#[cfg(all(feature = "host", feature = "blas"))]
impl Side {
    pub(crate) fn on_host(self) -> crate::numerics::level3::Side {
        match self {
            Side::Left => crate::numerics::level3::Side::Left,
            Side::Right => crate::numerics::level3::Side::Right,
        }
    }
}

#[cfg(feature = "cuda")]
impl Diag {
    pub(crate) fn code(self) -> u32 {
        match self {
            Diag::NonUnit => 0,
            Diag::Unit => 1,
        }
    }
}

#[cfg(feature = "cuda")]
impl Side {
    pub(crate) fn code(self) -> u32 {
        match self {
            Side::Left => 0,
            Side::Right => 1,
        }
    }
}
