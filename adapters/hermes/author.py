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


def who(author: "Optional[Author]") -> "Tuple[Any, ...]":
    """The same for one person or bot, whose name a host may leave out, or somebody may have changed."""
    return () if author is None else (author.bot, "id", author.id) if author.id else (author.bot, "name", author.name)


# Of words of which it cannot be told who wrote them. No host can name it: see author_of().
NOBODY = Author("", "", False)
UNKNOWN = "#unknown=author"  # ends the names of sessions in the store for such words
# Of a host that has one person in front of it: what a chat is called, or, where it is not called anything, the platform.
_DIRECT_CHATS = ("dm", "direct", "private")
_DIRECT_PLATFORMS = ("", "cli", "tui", "local")


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
    apart: bool = False  # each person has a memory of its own
    direct: bool = False  # the host says that nobody else speaks here

    def member(self, author: "Optional[Author]") -> "Dict[str, str]":
        """What the author adds to a namespace. A bot has a memory apart from every person's, whatever its id is and whether
        people share theirs or not."""
        if author is not None and author.bot:
            return {"bot" if author.id else "botName": f"{self.platform}:{author.id or author.name}"}
        if not self.apart:
            return {}
        if author == NOBODY:
            return {"user": f"{self.platform}:", "unknown": "author"}  # kept, and recalled to nobody; see UNKNOWN
        if author is None or author.id in self.ids:
            return {"user": f"{self.platform}:{self.ids[0]}"} if self.ids else {}
        return {"user" if author.id else "userName": f"{self.platform}:{author.id or author.name}"}

    def person(self, author: "Optional[Author]") -> "Tuple[str, ...]":
        """The same for two authors who are one, also where people share a memory."""
        one = self.writer(author)
        known = () if one is None or self.apart or one.bot else (self.ids[0] if one.id in self.ids else one.id or one.name,)
        return (*known, *(word for pair in self.member(author).items() for word in pair))

    def writer(self, author: "Optional[Author]") -> "Optional[Author]":
        """The person or bot itself: the owner has an id where the host has said one."""
        if author == NOBODY:
            return None
        return author or (Author(self.ids[0], "", False) if self.ids else None)


def owner_of(words: "Dict[str, str]", apart: bool) -> Owner:
    """From the words of initialize()."""
    ids = [_word(words[name]) for name in ("user_id", "user_id_alt") if words.get(name)]
    platform, chat = words.get("platform", ""), words.get("chat_type", "").lower()
    direct = chat in _DIRECT_CHATS or (not chat and platform.lower() in _DIRECT_PLATFORMS)
    return Owner(platform, tuple(dict.fromkeys(one for one in ids if one)), apart, direct)
