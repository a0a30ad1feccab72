"""Updates that arrive while others run."""
