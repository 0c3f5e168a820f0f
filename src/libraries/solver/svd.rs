//! Singular values and vectors.

use super::prelude::*;

/// Which vectors are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Vectors {
    /// None: values alone.
    None,
    /// As many as there are values.
    #[default]
    Thin,
    /// All of two square matrices.
    Full,
}

/// `A = U * diag(s) * V^H` of a matrix, or of each of a batch.
///
/// The values descend. U has `rows` rows, `vh` (which is `V^H`) has `cols` columns; both lie without gaps, one matrix after the
/// other.
#[derive(Debug)]
pub struct Svd<T: SolverElement> {
    /// The singular values, `min(rows, cols)` for each matrix.
    pub values: DeviceBuffer<T::Real>,
    /// U.
    pub u: Option<DeviceBuffer<T>>,
    /// `V^H`.
    pub vh: Option<DeviceBuffer<T>>,
    /// What was A. Its content is not specified.
    pub a: DeviceBuffer<T>,
    /// An info for each matrix: all zero.
    pub info: DeviceBuffer<i32>,
    shape: SvdShape,
}

/// What an SVD was asked for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct SvdShape {
    pub(super) a: Matrix,
    pub(super) vectors: Vectors,
}

impl SvdShape {
    /// Where U lies.
    pub(super) fn u(&self) -> Matrix {
        let Matrix { rows, count, .. } = self.a;
        Matrix::new(rows, if self.vectors == Vectors::Full { rows } else { self.a.size() }).batch(count)
    }

    /// Where `V^H` lies.
    pub(super) fn vh(&self) -> Matrix {
        let Matrix { cols, count, .. } = self.a;
        Matrix::new(if self.vectors == Vectors::Full { cols } else { self.a.size() }, cols).batch(count)
    }
}

impl<T: SolverElement> Svd<T> {
    /// Where U lies.
    pub fn u_matrix(&self) -> Matrix {
        self.shape.u()
    }

    /// Where `V^H` lies.
    pub fn vh_matrix(&self) -> Matrix {
        self.shape.vh()
    }
}

impl<T: SolverElement> Output for Svd<T> {
    type Writes = (T, T::Real, Option<T>, Option<T>, i32);
    type Host = SvdShape;

    fn join((a, values, u, vh, info): Bufs<Self>, shape: SvdShape) -> Result<Self> {
        Ok(Svd { values, u, vh, a, info, shape })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Gesvd<T> {
    pub(super) shape: SvdShape,
    _type: PhantomData<T>,
}

type Written<T> = (T, <T as crate::blas::BlasElement>::Real, Option<T>, Option<T>, i32);

impl<T: SolverElement> Routine for Gesvd<T> {
    const NAME: &'static str = "gesvd";
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Svd<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, s, u, vh, info): &Spans<Written<T>>) -> Result<()> {
        let of = &self.shape.a;
        of.check("a", a.len())?;
        check_len("values", of.size(), of.count, s.len())?;
        if let Some(u) = u {
            self.shape.u().check("u", u.len())?;
        }
        if let Some(vh) = vh {
            self.shape.vh().check("vh", vh.len())?;
        }
        check_len("info", 1, of.count, info.len())
    }

    fn overwrites_each(&self, (_, s, u, vh, info): &Spans<Written<T>>, index: usize) -> bool {
        let of = &self.shape.a;
        let fills = |of: Matrix, x: Option<usize>| x.is_some_and(|len| of.fills(len));
        match index {
            1 => of.size().checked_mul(of.count) == Some(s.len()),
            2 if u.is_some() => fills(self.shape.u(), u.as_ref().map(|u| u.len())),
            3 => fills(self.shape.vh(), vh.as_ref().map(|vh| vh.len())),
            2 | 4 => of.count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.shape.a;
        let thirds = if self.shape.vectors == Vectors::None { 4 } else { 12 };
        cost::<T>(thirds, [rows, cols, self.shape.a.size()], count, rows.saturating_mul(cols).saturating_mul(3))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, s, u, vh, info): <Written<T> as crate::Elems>::SlicesMut<'_>) -> Result<First> {
        let of = &self.shape.a;
        let values = batch::vectors_mut(s, of.size(), of.count);
        let (u, vh) =
            (u.map(|u| batch::parts_mut(&self.shape.u(), u)), vh.map(|vh| batch::parts_mut(&self.shape.vh(), vh)));
        let vectors: Vec<_> = match u.zip(vh) {
            Some((u, vh)) => u.into_iter().zip(vh).map(Some).collect(),
            None => (0..of.count).map(|_| None).collect(),
        };
        let items: Vec<_> = batch::parts(of, a).into_iter().zip(values).zip(vectors).collect();
        let items = items.into_iter().zip(info.iter_mut()).collect();
        let work = of.rows.saturating_mul(of.cols).saturating_mul(of.size()).saturating_mul(4);
        batch::each(items, work, |(((a, s), vectors), info), threads| *info = T::svd(a, s, vectors, threads));
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "solver")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, s, u, vh, info)) = (&self.shape.a, queue.writes());
        let info = info.address();
        if of.is_empty() {
            queue.no_infos(info, of.count)?;
            let shapes = [(self.shape.u(), u), (self.shape.vh(), vh)];
            for (of, x) in shapes.into_iter().filter_map(|(of, x)| x.as_ref().map(|x| (of, x.address()))) {
                for k in 0..of.count {
                    let to = (of.address::<T>(x, k), of.leading());
                    // SAFETY: the matrix lies inside its buffer (checked).
                    unsafe { queue.copy_matrix::<T>(Copy::Identity, to, to, (of.rows, of.cols)) }?;
                }
            }
            return queue.verdict(info, of.count);
        }
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            let s = s.address() + (k * of.size() * size_of::<T::Real>()) as u64;
            let vectors = u.as_ref().zip(vh.as_ref()).map(|(u, vh)| {
                let (of_u, of_vh) = (self.shape.u(), self.shape.vh());
                [(of_u, u.address()), (of_vh, vh.address())].map(|(of, x)| (of.address::<T>(x, k), of.leading()))
            });
            self.enqueue_one(queue, a, s, vectors, info + 4 * k as u64)?;
        }
        queue.verdict(info, of.count)
    }

    fn finish(&self, raw: First) -> Result<SvdShape> {
        Meaning::NotConverged.of(raw).map(|()| self.shape)
    }
}

#[cfg(feature = "solver")]
impl<T: SolverElement> Gesvd<T> {
    /// The library takes matrices with at least as many rows as columns. Of others the adjoint is decomposed:
    /// `A^H = V * S * U^H`.
    fn enqueue_one(
        &self,
        queue: &mut Enqueue<'_, Call<Self>>,
        a: At,
        s: u64,
        vectors: Option<[At; 2]>,
        info: u64,
    ) -> Result<()> {
        let (Matrix { rows: m, cols: n, .. }, full) = (self.shape.a, self.shape.vectors == Vectors::Full);
        let [u, vh] = vectors.unwrap_or([(0, m.max(1)), (0, n.max(1))]);
        if m >= n {
            return queue.gesvd::<T>(full, (m, n), a, s, [u, vh], info);
        }
        let element = size_of::<T>();
        let room = |queue: &mut Enqueue<'_, Call<Self>>, rows: usize, cols: usize| {
            queue.scratch(rows.saturating_mul(cols).saturating_mul(element))
        };
        let h = (room(queue, n, m)?, n);
        // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
        unsafe { queue.copy_matrix::<T>(Copy::Adjoint, a, h, (m, n)) }?;
        if vectors.is_none() {
            return queue.gesvd::<T>(full, (n, m), h, s, [(0, n), (0, m)], info);
        }
        // V is n x k, U^H is m x m (k = m, or n where all of V is asked for).
        let k = if full { n } else { m };
        let (v, uh) = ((room(queue, n, k)?, n), (room(queue, m, m)?, m));
        queue.gesvd::<T>(full, (n, m), h, s, [v, uh], info)?;
        // SAFETY: scratch of this dispatch, and U and V^H inside their buffers (checked).
        unsafe { queue.copy_matrix::<T>(Copy::Adjoint, uh, u, (m, m)) }?;
        // SAFETY: as above.
        unsafe { queue.copy_matrix::<T>(Copy::Adjoint, v, vh, (n, k)) }
    }
}

impl Solver {
    /// The singular values of A, and the vectors asked for, of a matrix of any shape or of each of a batch. On the host by
    /// bidiagonal divide and conquer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A does not lie inside its buffer; [`Error::OutOfMemory`]; a stale or foreign buffer. At the
    /// wait [`Error::NotConverged`], also where A holds a NaN or an infinity. All buffers come back; what A holds is not
    /// specified.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::{Matrix, Vectors}};
    /// let device = Device::host()?;
    /// let a = device.upload([0.0f64, 2.0, 3.0, 0.0])?.into_output(); // [0 3; 2 0]
    /// let svd = device.solver().svd(Vectors::Thin, Matrix::square(2), a)?.await_result()?;
    /// let values = device.download(&svd.values)?.await_result()?;
    /// assert!((values[0] - 3.0).abs() < 1e-15 && (values[1] - 2.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::result_large_err, reason = "all buffers come back")]
    pub fn svd<T: SolverElement>(&self, vectors: Vectors, of_a: Matrix, a: DeviceBuffer<T>) -> Submitted<Svd<T>> {
        let shape = SvdShape { a: of_a, vectors };
        let room = |of: Matrix| match vectors {
            Vectors::None => Ok(None),
            _ => of.check_shape("a").and_then(|()| self.device.uninit(of.len().unwrap_or(usize::MAX))).map(Some),
        };
        let made = of_a.check("a", a.len()).and_then(|()| {
            let values = self.device.uninit(of_a.size().saturating_mul(of_a.count))?;
            Ok((values, room(shape.u())?, room(shape.vh())?, self.device.uninit(of_a.count)?))
        });
        match made {
            Ok((values, u, vh, info)) => self.submit(Gesvd { shape, _type: PhantomData }, (), (a, values, u, vh, info)),
            Err(error) => {
                Err(self.refuse(Gesvd::<T>::NAME, error, |d| Ok((a, d.uninit(0)?, None, None, d.uninit(0)?))))
            }
        }
    }
}
