"""Facts at work: plans become programs for the join machine, alone, bundled or over several rounds."""
