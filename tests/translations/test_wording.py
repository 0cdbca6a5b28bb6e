"""Pages say things in the field's standard terms: phrases of our own that were replaced do not come back."""

from __future__ import annotations

import re
from typing import Final

from .catalogue import read_translations, texts_of

OLD: Final = re.compile(
    r"""\b(
    stands\ still | are\ there\ now | ten\ times\ the\ one | ticked | tick\ all | yes,\ do\ it | button's\ address
    | no\ such\ | may\ not\ do | you\ may\ look | which\ does\ not\ answer | what\ holds | no\ bound | one\ by\ one
    | \w+\ fits | handed\ out | nobody\ (waits|works|matches) | who(ever)?\ asks | for\ ever | for\ good
    | everything\ that\ matches
    | looked\ at | scan\ on | go\ on\ fetching | is\ like\ (this|that) | heard\ of | what\ it\ said | at\ work
    | to\ be\ taken | in\ hand | not\ there\ now | left\ alone | was\ given\ up | makes?\ no\ sense | groups\ that\ fill
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def test_replaced_phrases_are_gone_from_the_english_texts() -> None:
    ids = [message.id for message in texts_of(read_translations())]
    texts = [text for one in ids for text in ([one] if isinstance(one, str) else one)]
    assert len(texts) > 1_000

    assert [text for text in texts if OLD.search(text)] == []
