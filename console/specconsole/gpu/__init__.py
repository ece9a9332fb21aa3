"""GPU samples: probe frames and nvidia-smi output as frozen values."""
