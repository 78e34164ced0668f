"""Machine code for the machines that most rules come to: what the kernel looks up at every step is known beforehand."""
