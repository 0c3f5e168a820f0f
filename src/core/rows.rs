//! Host data that lies in rows with gaps between them on a GPU.

/// Rows of bytes at even distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rows {
    /// Bytes of a row.
    pub(crate) row: usize,
    /// From the beginning of one row to that of the next: at least as many.
    pub(crate) pitch: usize,
}

impl Rows {
    /// Bytes from the first byte to the last of rows that hold `len` bytes, with the gaps between them.
    pub(crate) fn reach(self, len: usize) -> usize {
        match len.div_ceil(self.row.max(1)) {
            0 => 0,
            rows => (rows - 1).saturating_mul(self.pitch).saturating_add(len - (rows - 1) * self.row),
        }
    }

    /// Bytes `at..at + len` of the rows without their gaps, as at most three rectangles: the place of each in memory, its bytes, those
    /// of a row of it, and the number of its rows.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn rectangles(self, at: usize, len: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (mut at, end) = (at, at + len);
        std::iter::from_fn(move || {
            let (row, inside) = (at / self.row, at % self.row);
            let left = end - at;
            let (width, rows) = match inside {
                _ if left == 0 => return None,
                0 if left >= self.row => (self.row, left / self.row),
                _ => (left.min(self.row - inside), 1),
            };
            at += width * rows;
            Some((row * self.pitch + inside, width, rows))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn any_range_of_rows_is_at_most_three_rectangles_of_its_bytes() {
        for (row, pitch) in [(1, 1), (1, 3), (4, 4), (5, 9)] {
            let rows = Rows { row, pitch };
            let all: Vec<usize> = (0..7 * row).map(|i| i / row * pitch + i % row).collect();
            for at in 0..all.len() {
                for len in 0..all.len() - at {
                    let parts: Vec<_> = rows.rectangles(at, len).collect();
                    let bytes = |(place, width, count): &(usize, usize, usize)| {
                        let (place, width) = (*place, *width);
                        (0..*count)
                            .flat_map(move |i| (0..width).map(move |j| place + i * pitch + j))
                            .collect::<Vec<_>>()
                    };
                    assert!(parts.len() <= 3);
                    assert_eq!(rows.reach(len), if len == 0 { 0 } else { all[len - 1] + 1 });
                    assert_eq!(parts.iter().flat_map(bytes).collect::<Vec<_>>(), all[at..at + len], "{row} {at} {len}");
                }
            }
        }
    }
}
