"""Passwords that are tried first: common words, walks over a keyboard, repeats, and the login itself.

The words stand for all their usual dresses: a capital, digits and signs before and behind, digits for letters.
``Password1``, ``p@ssw0rd!`` and ``2024password`` are ``password``.
"""

from __future__ import annotations

import unicodedata

_WORDS = """
password passwort passwd passphrase passcode pass parol paroli secret private security secure safe safety access
admin administrator adminadmin root toor user username guest default test tester testing demo system service
server support manager operator master owner boss login logon signin letmein welcome hello changeme change
newpassword mypassword yourpassword nopassword temp temppass temporary computer internet network windows linux
android google facebook instagram telegram viber whatsapp microsoft apple samsung nokia dell lenovo asus sony
toyota honda mercedes ferrari porsche mustang corvette harley yamaha jordan nike adidas starwars pokemon
superman batman spiderman ironman hulk matrix ninja samurai dragon monkey tiger lion eagle falcon wolf panther
bear shark dolphin kitty kitten puppy doggy horse butterfly ladybug flower rose lily sunflower sunshine rainbow
moonlight starlight summer winter spring autumn january february march april june july august september october
november december monday tuesday wednesday thursday friday saturday sunday morning football soccer baseball
basketball hockey tennis golf chess poker casino player gamer killer hunter ranger warrior soldier sniper shadow
ghost angel devil satan jesus christ heaven god princess queen king prince princesa sweetheart sweetie honey
baby babygirl babyboy darling lovely love iloveyou loveyou lover forever friend friends family mother father
sister brother mommy daddy children freedom liberty happiness happy lucky money dollar euro gold silver diamond
crystal chocolate cookie cheese banana orange cherry strawberry pepper ginger coffee pizza whiskey vodka beer
michael jennifer jessica ashley amanda thomas robert daniel andrew joshua matthew anthony charlie george william
hannah michelle nicole natasha alexander alex alexandra andrey andrii anna maria marina maryna irina iryna olena
elena oksana tatiana tetiana natalia nataliya yulia julia victoria viktoria svitlana svetlana sergey serhii
dmitry dmytro ivan oleg oleh igor ihor vladimir volodymyr vasyl bohdan bogdan taras roman yaroslav maksim maksym
nikita mykola nikolay pavlo pavel petro artem ukraine ukraina kyiv kiev lviv odesa odessa kharkiv dnipro poltava
vinnytsia europe slavaukraini slavaukrayini privet pryvit lubov kohanna lyubov solnyshko sonechko zaychik
zaichik kotik kotyk koshka sobaka babushka mama papa tato sonce sonya dasha masha sasha misha vova zhenya lena
nastya katya dima maks vlad rostik parolparol dmtwisted twisted prro kasa kassa cash cashier cashbox register
till shop store market magazin magazyn kiosk cafe kafe bar restaurant pharmacy apteka terminal printer fiscal
receipt check chek buhgalter accountant director zaq qazwsx trustno whatever nothing nobody anything everything
something fuckyou пароль паролька парольпароль адмін адміністратор админ администратор користувач пользователь
гість тест система секрет доступ безпека вхід логін привіт привет здравствуйте добридень ласкавопросимо україна
украина київ киев львів одеса харків дніпро славаукраїні героямслава любов любовь кохання кохаю люблю сонце
сонечко солнышко зайчик котик кошка собака мама тато папа бабуся дідусь сестра брат друзі родина щастя счастье
гроші деньги золото весна літо лето осінь осень зима січень лютий березень квітень травень червень липень
серпень вересень жовтень листопад грудень понеділок вівторок середа четвер пятниця субота неділя олена оксана
наталія наталя тетяна ірина марія анна юлія світлана вікторія олександр сергій дмитро андрій іван володимир
микола василь богдан тарас роман максим каса касса касир кассир магазин крамниця термінал чек бухгалтер директор
аптека кафе ресторан кіоск ринок
"""

WORDS = frozenset(_WORDS.split())

WALKS = (
    *("0123456789012345678901234567890", "abcdefghijklmnopqrstuvwxyz", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"),
    *("qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiop", "azertyuiop"),
    *("йцукенгшщзхїфівапролджєячсмитьбю", "йцукенгшщзхъфывапролджэячсмитьбю"),
    *("1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", "zaq1xsw2cde3vfr4bgt5nhy6mju7", "qazwsxedcrfvtgbyhnujmikolp"),
    *(
        "1q2w3e4r5t6y7u8i9o0p",
        "q1w2e3r4t5y6u7i8o9p0",
        "1й2ц3у4к5е6н7г8ш9щ0з",
        "й1ц2у3к4е5н6г7ш8щ9з0",
        "!@#$%^&*()",
        "147258369",
        "zaq12wsx",
    ),
)
"""Neighbours on a keyboard or in an alphabet."""

DIGITS_ALONE = 12
"""Digits alone are a date or a telephone number, unless there are so many."""

_LETTERS = str.maketrans("0134578@$!", "oieastbasi")


def is_common(password: str, login: str = "") -> bool:
    """Whether ``password`` is one that is tried first against the account ``login``."""
    plain = unicodedata.normalize("NFKC", password).casefold()
    if len(set(plain)) <= 3 or (plain.isdecimal() and len(plain) < DIGITS_ALONE):
        return True
    unit = plain[: (plain + plain).index(plain, 1)]
    if unit != plain and (len(unit) < 6 or is_common(unit, login)):
        return True
    if _is_walk(plain) or _is_name(plain, login.casefold()):
        return True
    signs = "".join({sign for sign in plain if not sign.isalpha()})
    return any(
        core in WORDS or core.translate(_LETTERS) in WORDS or (len(core) > 2 and _is_walk(core))
        for core in {
            plain,
            plain.strip(signs),
            plain.rstrip(signs),
            plain.lstrip(signs),
            "".join(filter(str.isalpha, plain)),
        }
    )


def _is_walk(text: str) -> bool:
    return any(text in walk or text[::-1] in walk for walk in WALKS)


def _is_name(plain: str, login: str) -> bool:
    """Whether nothing but digits and signs is added to the login."""
    rests = (plain.replace(login, "", 1), plain.replace(login[::-1], "", 1)) if len(login) > 2 else ()
    return any(rest != plain and not any(sign.isalpha() for sign in rest) for rest in rests)
