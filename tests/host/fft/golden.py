# Prints the table of `known.rs`: what SciPy gives for small whole numbers.
#   pip install numpy scipy && python tests/host/fft/golden.py
import numpy as np
import scipy
import scipy.fft as sf

x = (np.arange(12) * 7 % 11 - 4).astype(float)
z = x + 1j * (np.arange(12) * 5 % 9 - 3)
g = z.reshape(3, 4)
r = x.reshape(3, 4)


def rows(name, y):
    y = np.asarray(y).ravel()
    pairs = ", ".join(f"({v.real!r}, {v.imag!r})" for v in (complex(v) for v in y))
    print(f'    ("{name}", &[{pairs}]),')


print(f"// SciPy {scipy.__version__}")
rows("fft", sf.fft(z))
rows("ifft", sf.ifft(z))
rows("fft ortho", sf.fft(z, norm="ortho"))
rows("fft forward", sf.fft(z, norm="forward"))
rows("fft n=8", sf.fft(z, 8))
rows("fft n=15", sf.fft(z, 15))
rows("fft2", sf.fft2(g))
rows("fft axis 0", sf.fft(g, axis=0))
rows("fft2 s=(2,5)", sf.fft2(g, s=(2, 5)))
rows("rfft", sf.rfft(x))
rows("rfft n=9 ortho", sf.rfft(x, 9, norm="ortho"))
rows("rfft2", sf.rfft2(r))
rows("rfft axes (1,0)", sf.rfftn(r, axes=(1, 0)))
rows("irfft", sf.irfft(z))
rows("irfft n=7", sf.irfft(z, 7))
rows("irfft2 s=(3,6)", sf.irfft2(g, s=(3, 6)))
rows("irfft2 s=(3,7) forward", sf.irfft2(g, s=(3, 7), norm="forward"))
rows("hfft", sf.hfft(z))
rows("hfft n=9 ortho", sf.hfft(z, 9, norm="ortho"))
rows("ihfft", sf.ihfft(x))
rows("hfft2 s=(3,6)", sf.hfft2(g, s=(3, 6)))
rows("ihfft2", sf.ihfft2(r))

# The table of `trigonometric.rs`.
for name, function, inverse in [("Dct", sf.dctn, sf.idctn), ("Dst", sf.dstn, sf.idstn)]:
    for kind in (1, 2, 3, 4):
        for norm in ("backward", "ortho", "forward"):
            for f, way in ((function, ""), (inverse, " inverse")):
                values = ", ".join(repr(float(v)) for v in f(r, type=kind, norm=norm).ravel())
                print(f'    ("{name}{kind} {norm}{way}", &[{values}]),')
