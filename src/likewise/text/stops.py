"""Which words say nothing about a text's subject?"""

from __future__ import annotations

from likewise.errors import UsageError

# Function words only: the English list of the stop-words package drops content words such as
# "system" and "computer".
_ENGLISH = """
a about above after again against all also am an and any are aren as at be because been before
being below between both but by can cannot could couldn d did didn do does doesn doing don down
during each etc few for from further had hadn has hasn have haven having he her here hers
herself him himself his how however i if in into is isn it its itself just ll m may me might
more most must mustn my myself no nor not of off on once only or other ought our ours ourselves
out over own re s same shall shan she should shouldn so some such t than that the their theirs
them themselves then there therefore these they this those through thus to too under until up
upon ve very was wasn we were weren what when where whether which while who whom whose why will
with won would wouldn you your yours yourself yourselves
"""


def stop_words(language: str) -> frozenset[str]:
    """Give the stop list of a language, as it is written ("don't")."""
    if language == "english":
        return frozenset(_ENGLISH.split())
    import stop_words as package

    if language not in package.AVAILABLE_LANGUAGES:
        known = ", ".join(sorted(package.AVAILABLE_LANGUAGES))
        raise UsageError(f"no stop list for {language!r}: there is one for {known}, or 'none'")
    return frozenset(package.get_stop_words(language))
