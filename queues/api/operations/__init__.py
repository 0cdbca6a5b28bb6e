"""What each route does, a module per family of verbs. No Django here: request in, response out."""
