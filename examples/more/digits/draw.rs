//! Pictures of digits: a font of 5 by 7 dots, twice as large, shifted, of different brightness, with noise.

/// Pixels of a side.
pub(crate) const SIZE: usize = 16;

/// Each row of a digit has five dots, the left one in the highest bit.
const FONT: [[u8; 7]; 10] = [
    [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111],
    [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

/// Pictures one after the other, and which digits they show.
pub(crate) struct Pictures {
    pub(crate) pixels: Vec<f32>,
    pub(crate) digits: Vec<i64>,
}

/// Random numbers (xorshift, multiplied), the same on every machine.
struct Noise(u64);

impl Noise {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }

    /// From -1 to 1.
    fn unit(&mut self) -> f32 {
        self.below(1 << 16) as f32 / 32768.0 - 1.0
    }
}

impl Pictures {
    pub(crate) fn new(count: usize, seed: u64) -> Self {
        let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut pictures = Pictures { pixels: Vec::with_capacity(count * SIZE * SIZE), digits: Vec::new() };
        for _ in 0..count {
            let digit = noise.below(10);
            let (left, top) = (noise.below(7) as usize, noise.below(3) as usize);
            let brightness = 0.75 + 0.25 * noise.unit();
            let glyph = FONT.get(digit as usize).copied().unwrap_or_default();
            let is_lit = |x: usize, y: usize| {
                let row = y.checked_sub(top).and_then(|y| glyph.get(y / 2));
                let dot = x.checked_sub(left).filter(|x| *x < 10).map(|x| 4 - x / 2);
                row.zip(dot).is_some_and(|(row, dot)| row >> dot & 1 == 1)
            };
            for place in 0..SIZE * SIZE {
                let lit = if is_lit(place % SIZE, place / SIZE) { brightness } else { 0.0 };
                pictures.pixels.push(lit + 0.3 * noise.unit());
            }
            pictures.digits.push(digit as i64);
        }
        pictures
    }
}
