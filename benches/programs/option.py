"""The price of an Asian call option, and the error of the estimate, by Monte Carlo."""
import numpy as np

n, steps = 200_000, 12
spot, strike, rate, sigma, dt = 100.0, 105.0, 0.03, 0.2, 1 / steps
z = np.random.default_rng(7).standard_normal((n, steps))
walks = np.cumsum(sigma * np.sqrt(dt) * z + (rate - 0.5 * sigma**2) * dt, axis=1)
means = (spot * np.exp(walks)).mean(axis=1)
payoffs = np.exp(-rate) * np.maximum(means - strike, 0)
print("option", payoffs.mean(), payoffs.std(ddof=1) / np.sqrt(n))
