"""`python -m tools.data_docs`: brings the columns of the lake and of reports into docs/data/."""

from __future__ import annotations

from .documents import make_documents


def main() -> None:
    for path, text in list(make_documents()):
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
