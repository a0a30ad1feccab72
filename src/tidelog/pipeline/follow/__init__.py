"""Updates as they arrive: a followed stream, and micro-batches that become updates."""
