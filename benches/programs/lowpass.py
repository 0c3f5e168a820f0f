"""A signal without its high frequencies, by FFT."""
import numpy as np

t = np.arange(4096) / 1000
clean = np.sin(5 * 2 * np.pi * t)
x = clean + 0.5 * np.sin(120 * 2 * np.pi * t) + 0.25 * np.cos(333 * 2 * np.pi * t)
spectrum = np.fft.rfft(x)
spectrum[np.fft.rfftfreq(len(x), 1 / 1000) > 50] = 0
smooth = np.fft.irfft(spectrum, len(x))
print("lowpass", np.linalg.norm(smooth) / np.sqrt(len(x)), np.abs(smooth - clean).max())
