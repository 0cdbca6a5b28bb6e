"""Forms and query strings of the pages: they check what people typed, and make values for services of it."""
