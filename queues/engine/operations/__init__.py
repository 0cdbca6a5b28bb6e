"""The verbs, a module per family. Each builds an Operation or a Plan; nothing here talks to Redis."""
