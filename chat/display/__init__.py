"""What an agent shows, as safe HTML blocks. Pure functions; the only place that marks HTML safe."""
