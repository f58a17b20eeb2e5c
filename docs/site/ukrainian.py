"""A search that knows the endings of Ukrainian words: who looks for "зміна" finds "зміну" and "змінами" too.

A light stemmer, the same rules for the index (here) and for the words that are looked for (in the page): it takes off
the ending of a reflexive verb, then one ending of a noun, an adjective or a verb, then one of two equal last letters.
It does not know what a word means; it is enough that forms of one word meet. English words go to Sphinx' own stemmer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import sphinx.search
from sphinx.search import SearchEnglish

_SCRIPTS = Path(sphinx.search.__file__).parent / "minified-js"

LEAST = 3
"""Letters that stay."""

REFLEXIVE = "(ся|сь)$"
ENDINGS = (
    "(ями|ами|ими|іми|ові|еві|єві|ого|ому|ього|ьому|ією|ою|ею|єю|ів|їв|ам|ям|ах|ях|ом|ем|єм|ий|ій|їй|ої|им|ім|їм|их|іх"
    "|їх|ія|ію|ії|увати|ювати|ують|юють|ають|яють|ять|ать|уть|ють|ить|їть|ує|ює|ає|яє|ую|юю|аю|яю|а|я|у|ю|и|і|ї"
    "|е|є|о|ь|й)$"
)


def stem(word: str) -> str:
    """``word``, in small letters and Ukrainian, without its ending."""
    for ending in (REFLEXIVE, ENDINGS):
        shorter = re.sub(ending, "", word)
        word = shorter if len(shorter) >= LEAST else word
    return word[:-1] if len(word) > LEAST and word[-1] == word[-2] else word


class SearchBoth(SearchEnglish):
    """English and Ukrainian words in one index."""

    lang = "uk"
    language_name = "Ukrainian and English"
    js_stemmer_rawcode = ""
    js_stemmer_code = "".join(
        [
            *((_SCRIPTS / name).read_text("utf-8") for name in ("base-stemmer.js", "english-stemmer.js")),
            f"""
var Stemmer = function () {{
  const english = new EnglishStemmer();
  this.stemWord = function (word) {{
    if (!/[а-яіїєґ]/.test(word)) return english.stemWord(word);
    for (const ending of [{json.dumps(REFLEXIVE)}, {json.dumps(ENDINGS)}]) {{
      const shorter = word.replace(new RegExp(ending), "");
      if (shorter.length >= {LEAST}) word = shorter;
    }}
    const last = word.length - 1;
    return last >= {LEAST} && word[last] === word[last - 1] ? word.slice(0, last) : word;
  }};
}};
""",
        ]
    )

    def stem(self, word: str) -> str:
        """``word`` without its ending."""
        small = word.lower()
        return stem(small) if re.search("[а-яіїєґ]", small) else super().stem(word)
