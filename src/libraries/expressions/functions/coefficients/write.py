"""Writes src/functions/format/{single,double}.rs from the lines of find.sollya.

    sollya find.sollya > polys.txt && python3 write.py polys.txt
"""
import pathlib
import sys

import mpmath as mp

mp.mp.prec = 2400
HERE = pathlib.Path(__file__).parent
FORMATS = {
    "single": dict(type="Single", digits=24, width=32, bias=127, exp=(-104.5, 89.0), exp2=(-151.0, 129.0), short=9,
                   fast=32768.0, centre=2.0, erfc=10.6, erf=4.0, words=7),
    "double": dict(type="Double", digits=53, width=64, bias=1023, exp=(-746.0, 710.0), exp2=(-1076.0, 1025.0), short=12,
                   fast=268435456.0, centre=4.0, erfc=27.8, erf=6.0, words=20),
}


def nearest(x, digits):
    """The number of so many digits nearest to x."""
    if x == 0:
        return mp.mpf(0)
    _, e = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(x, digits - e)), e - digits)


def parts(x, count, digits, first=None):
    """x as a sum of numbers; the first one of fewer digits."""
    out = []
    for i in range(count):
        part = nearest(x, first if first and i == 0 else digits)
        out.append(float(part))
        x -= part
    return out


def array(values):
    return "[" + ", ".join(repr(v) for v in values) + "]"


def main():
    polynomials = {}
    for line in open(sys.argv[1]):
        word = line.split()
        if len(word) > 3 and word[1] in FORMATS:
            polynomials[word[1], word[0]] = [float.fromhex(c) for c in word[3:]]
    for name, f in FORMATS.items():
        p, w = f["digits"], f["width"]
        pi, ln2 = mp.pi, mp.log(2)
        rows = []

        def row(key, kind, value):
            rows.append(f"    const {key}: {kind} = {value};")

        row("DIGITS", "u32", p)
        row("BIAS", "i64", f["bias"])
        row("LN2_SHORT", "[f64; 2]", array(parts(ln2, 2, p, p - f["short"])))
        row("LN2", "[f64; 2]", array(parts(ln2, 2, p)))
        row("LOG2_E", "[f64; 2]", array(parts(1 / ln2, 2, p)))
        row("LOG10_E", "[f64; 2]", array(parts(1 / mp.log(10), 2, p)))
        row("TWO_THIRDS", "[f64; 2]", array(parts(mp.mpf(2) / 3, 2, p)))
        row("PI", "[f64; 2]", array(parts(pi, 2, p)))
        row("HALF_PI", "[f64; 3]", array(parts(pi / 2, 3, p)))
        row("QUARTER_PI", "[f64; 2]", array(parts(pi / 4, 2, p)))
        row("ATAN_HALF", "[f64; 2]", array(parts(mp.atan(mp.mpf(1) / 2), 2, p)))
        row("TWO_OVER_PI", "f64", repr(parts(2 / pi, 1, p)[0]))
        row("TWO_OVER_ROOT_PI", "[f64; 2]", array(parts(2 / mp.sqrt(pi), 2, p)))
        row("ROOT_HALF", "[f64; 2]", array(parts(mp.sqrt(mp.mpf(1) / 2), 2, p)))
        row("GELU", "[f64; 2]", array([parts(mp.sqrt(8 / pi), 1, p)[0], parts(mp.mpf("0.044715"), 1, p)[0]]))
        row("EXP_RANGE", "[f64; 2]", array(f["exp"]))
        row("EXP2_RANGE", "[f64; 2]", array(f["exp2"]))
        row("CODY_WAITE_LIMIT", "f64", f["fast"])
        row("ERFC_CENTRE", "f64", f["centre"])
        row("ERFC_LIMIT", "f64", f["erfc"])
        row("ERF_LIMIT", "f64", f["erf"])
        bits = int(mp.floor(mp.ldexp(2 / pi, w * f["words"])))
        words = [(bits >> (w * (f["words"] - 1 - i))) & ((1 << w) - 1) for i in range(f["words"])]
        row("TWO_OVER_PI_BITS", "&'static [u64]", "&[" + ", ".join(hex(x) for x in words) + "]")
        for (kind, key), c in polynomials.items():
            if kind == name:
                row(key, "&'static [f64]", "&" + array(c[::-1]))
        for (kind, key), _ in polynomials.items():
            if (name, key) not in polynomials:
                row(key, "&'static [f64]", "&[]")
        # Only the longer ones look like constants of the standard library.
        expect = '\n#![expect(clippy::approx_constant, reason = "they are parts of sums")]\n' if name == "double" else ""
        text = f"""//! The constants of {name} precision: written by `coefficients/write.py`, do not edit.
{expect}
use super::Format;

/// Binary{w}.
#[derive(Clone, Copy, Debug)]
pub struct {f["type"]};

impl Format for {f["type"]} {{
""" + "\n".join(rows) + "\n}\n"
        out = HERE.parent / "src/functions/format"
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.rs").write_text(text)


main()
