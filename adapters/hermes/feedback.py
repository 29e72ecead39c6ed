"""Words of a verifier about the turn before: what they say, if they are such words at all.

Only what says of itself that it is feedback counts. A person's "no, that is wrong" is conversation; guessing at it would
teach the memory from misunderstandings.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

_MARK = re.compile(r"\b(?:verifier|verification|evaluator)\s+(?:feedback|result|verdict)\b|\btask (?:is )?rated as\b", re.I)
_SCORE = re.compile(r"\b(?:r|reward|score)\s*(?:=|:|<=|>=|≤|≥)\s*([-+−]?\d+(?:\.\d+)?)", re.I)
_BAD = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|wrong|incorrect|rejected|counterexample|negative|not (?:correct|acceptable|passed))\b", re.I
)
_GOOD = re.compile(r"\b(?:pass(?:ed|es)?|success(?:ful)?|succeeded|correct|accepted|positive|verified)\b", re.I)


def of_message(text: str) -> "Optional[Dict[str, Any]]":
    """The polarity, magnitude and rationale for feedback.submit; None when it is no feedback."""
    if not text or len(text) > 20_000 or not _MARK.search(text):
        return None
    score = _SCORE.search(text)
    if score:
        value = max(-1.0, min(1.0, float(score.group(1).replace("−", "-"))))
        polarity = "positive" if value > 0 else "negative" if value < 0 else "neutral"
        magnitude = abs(value)
    else:
        bad, good = bool(_BAD.search(text)), bool(_GOOD.search(text))
        # "failed 1 of 5, 4 passed" is a failure.
        polarity = "negative" if bad else "positive" if good else "neutral"
        magnitude = 1.0 if polarity != "neutral" else 0.5
    return {"channel": "explicit", "polarity": polarity, "magnitude": magnitude, "rationale": text.strip()[:4000]}
