"""The rows of bench/stage/pairs.hpp, for measurements in Python: the median of paired ratios, with its quartiles."""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple

HEAD = "| what | holdfast | baseline | ratio (quartiles) | target | |\n|---|---|---|---|---|---|"


def quantile(figures: "List[float]", share: float) -> float:
    return sorted(figures)[int(share * (len(figures) - 1) + 0.5)]


def in_turns(rounds: int, ours: "Callable[[int], float]", base: "Callable[[int], float]") -> "Tuple[List[float], List[float]]":
    """Measures `rounds` pairs, each in the other order than the one before."""
    left, right = [], []
    for number in range(rounds):
        if number % 2 == 0:
            left.append(ours(number))
        right.append(base(number))
        if number % 2 != 0:
            left.append(ours(number))
    return left, right


def _verdict(judged: float, at_most: "Optional[float]") -> str:
    return "" if at_most is None else "met" if judged <= at_most else "missed"


def pair_row(what: str, beside: str, unit: str, ours: "List[float]", base: "List[float]",
             more_at_most: "Optional[float]" = None, ours_at_most: "Optional[float]" = None) -> None:
    """The target is of the median difference, or of the median of ours."""
    ratios = [one / other for one, other in zip(ours, base)]
    differences = [one - other for one, other in zip(ours, base)]
    target, verdict = "", ""
    if more_at_most is not None:
        target, verdict = f"at most {more_at_most:.2f} {unit} more", _verdict(quantile(differences, 0.5), more_at_most)
    elif ours_at_most is not None:
        target, verdict = f"at most {ours_at_most:.2f} {unit}", _verdict(quantile(ours, 0.5), ours_at_most)
    print(
        f"| {what}; beside {beside} | {quantile(ours, 0.5):.2f} {unit} | {quantile(base, 0.5):.2f} {unit} "
        f"| {quantile(ratios, 0.5):.2f} ({quantile(ratios, 0.25):.2f} to {quantile(ratios, 0.75):.2f}) | {target} | {verdict} |",
        flush=True,
    )


def value_row(what: str, value: float, unit: str, at_most: "Optional[float]" = None) -> None:
    """One figure alone."""
    target = "" if at_most is None else f"at most {at_most:.2f} {unit}"
    print(f"| {what} | {value:.2f} {unit} |  |  | {target} | {_verdict(value, at_most)} |", flush=True)
