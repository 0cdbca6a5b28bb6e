"""`python -m tests.translations`: bring new texts into the Chinese catalogue, drop old ones, compile it."""

from __future__ import annotations

import os
import sys

import django

from .catalogue import MO, PO, as_mo, as_po, merge, read_translations, texts_of
from .extracting import ROOT, marked_texts


def main() -> int:
    """1 when texts are left to translate."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")
    django.setup()
    catalog = merge(marked_texts(), read_translations())
    PO.parent.mkdir(parents=True, exist_ok=True)
    PO.write_bytes(as_po(catalog))
    MO.write_bytes(as_mo(catalog))
    texts = list(texts_of(catalog))
    missing = [message for message in texts if not message.string or message.fuzzy]
    print(f"{PO.relative_to(ROOT)}: {len(texts)} texts, {len(missing)} without translation")
    for message in missing:
        print(f"  {message.id if isinstance(message.id, str) else message.id[0]}")
    return 1 if missing else 0


sys.exit(main())
