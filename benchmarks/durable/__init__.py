"""What it costs that runs survive their machine."""
