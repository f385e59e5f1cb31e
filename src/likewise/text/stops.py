"""Which words say nothing about a text's subject?"""

from __future__ import annotations

from functools import cache

from likewise.errors import UsageError
from likewise.text.languages import known_language

# Function words only: the English list of the stop-words package drops content words such as
# "system" and "computer".
_ENGLISH = """
a about above after again against all also am an and any are aren as at be because been before
being below between both but by can cannot could couldn d did didn do does doesn doing don down
during each eg etc few for from further had hadn has hasn have haven having he her here hers
herself him himself his how however i ie if in into is isn it its itself just ll m may me might
more most must mustn my myself no nor not of off on once only or other ought our ours ourselves
out over own re s same shall shan she should shouldn so some such t than that the their theirs
them themselves then there therefore these they this those through thus to too under until up
upon ve very was wasn we were weren what when where whether which while who whom whose why will
with won would wouldn you your yours yourself yourselves
"""


def has_stop_words(language: str) -> bool:
    """Tell whether there is a stop list of a language."""
    return language == "english" or language in _packaged()


def stop_words(language: str) -> frozenset[str]:
    """Give the stop list of a language, as it is written ("don't")."""
    found = known_language(language)
    name = found.name if found else language
    if name == "english":
        return frozenset(_ENGLISH.split())
    if name not in _packaged():
        known = ", ".join(sorted(_packaged()))
        raise UsageError(f"no stop list for {language!r}: there is one for {known}, or 'none'")
    import stop_words as package

    return frozenset(package.get_stop_words(_packaged()[name]))


@cache
def _packaged() -> dict[str, str]:
    """Give what the package calls the languages that it has a list of, by our names."""
    import stop_words as package

    found = ((known_language(name), name) for name in package.AVAILABLE_LANGUAGES)
    return {language.name: name for language, name in found if language}
