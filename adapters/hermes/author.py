"""Who wrote the user side of a turn, and whose memory the turn belongs to.

A chat with several people has one session of the host and one provider, which is initialized for one of them. So the author comes
with each turn, and what is kept of a turn is kept for its author.
"""

from __future__ import annotations

import hashlib
from typing import Any, Dict, NamedTuple, Optional, Tuple

LONGEST = 200  # characters of an id or a name: it becomes part of the name of a session in the store


class Author(NamedTuple):
    id: str
    name: str
    bot: bool


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    word = str(value).strip().encode("utf-8", "replace").decode("utf-8")
    # Two long ids that begin alike must not become one.
    return word if len(word) <= LONGEST else word[:LONGEST] + "#" + hashlib.sha256(word.encode()).hexdigest()[:32]


def _flag(value: Any) -> bool:
    return value.strip().lower() in ("true", "1", "yes") if isinstance(value, str) else value is True or value == 1


def author_of(number: Any, name: Any, bot: Any) -> "Optional[Author]":
    """None when the host does not say who it was: then it was the owner of the session."""
    found = Author(_word(number), _word(name), _flag(bot))
    return found if found.id or found.name or found.bot else None


def author_in(turn_author: Any) -> "Optional[Author]":
    """As sync_turn() gets it."""
    if not isinstance(turn_author, dict):
        return None
    return author_of(turn_author.get("id"), turn_author.get("name"), turn_author.get("is_bot"))


class Owner(NamedTuple):
    """Of a session: the user that a provider was initialized for."""

    platform: str = ""
    ids: "Tuple[str, ...]" = ()  # all of one person; the first is the one in the store
    apart: bool = False  # each author has a memory of its own

    def member(self, author: "Optional[Author]") -> "Dict[str, str]":
        """What the author adds to a namespace. A bot has a memory apart from every person's, whatever its id is."""
        if not self.apart:
            return {}
        if author is None or (not author.bot and author.id in self.ids):
            return {"user": f"{self.platform}:{self.ids[0]}"} if self.ids else {}
        kind = ("bot" if author.bot else "user") + ("" if author.id else "Name")
        return {kind: f"{self.platform}:{author.id or author.name}"}

    def nobody(self) -> "Dict[str, str]":
        """What is added for words whose author cannot be told: they are kept, and recalled to nobody."""
        return {"user": f"{self.platform}:", "unknown": "author"}  # see delivery.UNKNOWN


def owner_of(words: "Dict[str, str]", apart: bool) -> Owner:
    """From the words of initialize()."""
    ids = [_word(words[name]) for name in ("user_id", "user_id_alt") if words.get(name)]
    return Owner(words.get("platform", ""), tuple(dict.fromkeys(one for one in ids if one)), apart)
