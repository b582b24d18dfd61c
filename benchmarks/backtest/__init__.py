"""The backtest engines against other packages: equal results, and time."""
