"""A rule becomes join plans over views: lowering, join order, plans."""
