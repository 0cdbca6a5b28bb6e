"""The version that `/version` and the OpenAPI document state. A test holds it equal to pyproject.toml."""

from typing import Final

VERSION: Final = "0.1.0"
