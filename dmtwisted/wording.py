"""What went wrong below, in both languages.

Protocols, stores and libraries give their reasons in English, for the log. A caller may get one: `wording` adds the
Ukrainian text. A reason that is not listed stays as it came, because it is that of another program: of the operating
system, of a database, of the tax service. `{}` stands for data, or for a reason of its own.

The rules of `dmtwisted.results` for error texts hold here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from dmtwisted.results import Refused, Res, Text
from protocols.errors import Garbled, Silent
from protocols.hiding import shown
from protocols.registers.troubles import DeviceRefused, LeftOpen


def wording(problem: object) -> Text:
    """The reason ``problem``, an exception or its text, in both languages."""
    if isinstance(problem, Text):
        return problem
    if isinstance(problem, Refused):
        return problem.words()
    en = str(problem) or ("" if isinstance(problem, str) else type(problem).__name__)
    if isinstance(problem, Silent):
        return Text(f"немає відповіді за {problem.seconds:g} с", en)
    if isinstance(problem, DeviceRefused):
        return Text(f"реєстратор відмовив: {problem.code} {problem.meaning.ukrainian}", en)
    if isinstance(problem, LeftOpen):
        return Text(f"документ на реєстраторі лишився відкритим: {wording(problem.refusal).uk}", en)
    if isinstance(problem, Garbled):
        # What exactly was wrong with the bytes is for who reads the log.
        return Text(f"незрозуміла відповідь: {shown(problem.data)}" if problem.data else "незрозуміла відповідь", en)
    return Text(_ukrainian(en), en)


def _ukrainian(en: str) -> str:
    for pattern, uk in _patterns():
        found = pattern.fullmatch(en)
        if found is not None:
            return uk.format(*(_ukrainian(part) for part in found.groups()))
    return en


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Made when the first reason is asked for: most runs ask for none."""
    texts = ((re.sub("%[sd]", "{}", res.text.en), re.sub("%[sd]", "{}", res.text.uk)) for res in Res if res.text.en)
    lines = sorted((*_lines(PHRASES), *texts), key=lambda line: -len(line[0].replace("{}", "")))
    return [(re.compile(_pattern(en), re.DOTALL), uk) for en, uk in lines]


def _pattern(en: str) -> str:
    """A place at the start takes no colon: what stands before one is a reason's own place."""
    first, *others = map(re.escape, en.split("{}"))
    if first or not others:
        return "(.+?)".join([first, *others])
    return "((?:(?!: ).)+?)" + "(.+?)".join(others)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.strip().splitlines():
        if line and not line.startswith("#"):
            en, uk = line.split(" = ", 1)
            yield en, uk


PHRASES = """
# Types of JSON, in the words of msgspec.
Expected `{}` of length <= {}, got `{}` = очікується {} завдовжки до {}, а не {}
Expected `{}` of length <= {} = очікується {} завдовжки до {}
Expected `{}` of length >= {} = очікується {} завдовжки від {}
Expected `{}` of at least length {} = очікується {} завдовжки від {}
Expected `{}` matching regex {} = очікується {} за зразком {}
Expected `{}`, got `{}` = очікується {}, а не {}
Expected `{}` >= {} = очікується {} від {}
Expected `{}` <= {} = очікується {} до {}
Expected `{}` > {} = очікується {}, більше за {}
Expected `{}` < {} = очікується {}, менше за {}
Expected `{}` = очікується {}
Object missing required field `{}` = бракує поля `{}`
Object contains unknown field `{}` = невідоме поле `{}`
Invalid enum value {}; {} is expected = значення {} недопустиме; очікується {}
Invalid enum value {} = значення {} недопустиме
Invalid value {} = значення {} недопустиме
Integer value out of range = число завелике
Number out of range = число завелике
int = ціле число
float = число
str = текст
bool = true або false
array = масив
object = об’єкт
{} | {} = {} або {}
# Wires.
the device is not reached: {} = пристрій недосяжний: {}
the service stops = сервіс зупиняється
malformed answer: {} - at `{}` = відповідь неправильної форми: {}, {}
malformed answer: {} = відповідь неправильної форми: {}
no answer in {} s = немає відповіді за {} с
no connection in {} s = немає з’єднання за {} с
nothing is listening there = там ніхто не слухає
no route to this address = до цієї адреси немає маршруту
the name is unknown = назва вузла невідома
Connection refused = у з’єднанні відмовлено
connection refused = у з’єднанні відмовлено
the simulator refuses the connection = симулятор не приймає з’єднання
Connection was refused by other side: {} = у з’єднанні відмовлено: {}
Connection was refused by other side. = у з’єднанні відмовлено
Connection was closed cleanly. = з’єднання завершив інший бік
Connection to the other side was lost in a non-clean fashion. = з’єднання обірвалося
Connection to the other side was lost in a non-clean fashion: {} = з’єднання обірвалося: {}
Connection reset by peer = з’єднання розірвав інший бік
Connection timed out = з’єднання не дочекалося відповіді
No route to host = до вузла немає маршруту
Network is unreachable = мережа недосяжна
Connection lost. = з’єднання втрачено
the line was closed before the request = з’єднання розірвано до запиту
the line was closed, and the card is forgotten = з’єднання розірвано, дані картки втрачено
the line was closed = з’єднання розірвано
the line is closed = з’єднання розірвано
the operation was given up = операцію припинено
the caller stopped waiting = запит більше не чекають
the terminal closed the line = термінал розірвав з’єднання
the register does not answer = реєстратор не відповідає
the register closed the line = реєстратор розірвав з’єднання
the line was closed before the command = з’єднання розірвано до команди
the register refused every copy of the command = реєстратор не прийняв жодної копії команди
the terminal could not read the request = термінал не зміг прочитати запит
the terminal refused the request every time = термінал щоразу відхиляв запит
the status request was understood with no variant of the check byte = термінал не прийняв запиту стану з жодним \
контрольним байтом
the status request failed: {} = запит стану не вдався: {}
the terminal does not answer between two operations ({}) = термінал не відповідає між двома операціями ({})
no try was allowed = жодної спроби не дозволено
its certificate is not accepted: {} = його сертифікат не прийнято: {}
the last result is not available ({}) = останній результат недоступний ({})
no such port; existing ports: {} = такого порту немає; є порти: {}
none = жодного
another program uses the port = порт зайнятий іншою програмою
no permission to open the port = немає дозволу відкрити порт
serial ports need {} = для послідовних портів потрібен {}
this is not a serial port = це не послідовний порт
{}: no print service is listening = {}: служба друку не відповідає
no complete answer from the print service: {} = служба друку не відповіла до кінця: {}
printer device files exist on Linux only = файли пристроїв друку є лише в Linux
Windows print queues need Windows and pywin32 = черги друку Windows потребують Windows і pywin32
the Windows print spooler has not returned from an earlier call = диспетчер друку Windows не відповів на попередній \
виклик
no such device = такого пристрою немає
another program uses the printer = пристрій друку зайнятий іншою програмою
no permission to open the printer = немає дозволу відкрити пристрій друку
the device exists, but its printer is not connected = файл пристрою є, але пристрій друку не під’єднано
port {} for its notices: {} = порт {} для сповіщень: {}
# Terminals.
the terminal is in state {} ({}) = термінал у стані {} ({})
not_configured = не налаштовано
no_download = без завантажених даних
operative = готовий
not_aligned = не узгоджено
keys = ключі
download_pending = чекає завантаження
update_pending = чекає оновлення
the line was closed before the call = з’єднання розірвано до виклику
no answer to the call{} = немає відповіді на виклик{}
no answer to the call = немає відповіді на виклик
the call was ended = виклик припинено
the terminal is busy = термінал зайнятий
the line was closed: {} = з’єднання розірвано: {}
the terminal took the booking back = термінал скасував операцію
the terminal took the transaction back = термінал скасував операцію
the terminal refuses {}: {} = термінал відмовляє в {}: {}
the terminal gives transaction {} no status = термінал не називає стану операції {}
the terminal did not tell its journal before = до операції термінал не повідомив свого журналу
{} transactions since then = відтоді {} операцій
the batch was closed since = відтоді пакет завершено звіркою
the journal is empty, perhaps of a new batch = журнал порожній, можливо, вже нового пакета
there are several such transactions = таких операцій кілька
operation {} is over another sum = операція {} на іншу суму
found out: it is cancelled = з’ясовано: операцію скасовано
the approval was not confirmed: {} = схвалення не підтверджено: {}
error {} of the library: {} = помилка {} бібліотеки: {}
error {} of the library = помилка {} бібліотеки
the library failed: {} = бібліотека термінала відмовила: {}
the library's process ended = процес бібліотеки термінала завершився
the library's process does not start: {} = процес бібліотеки термінала не запускається: {}
no library's process = це не процес бібліотеки термінала
no line of the library's process = рядок не від процесу бібліотеки термінала
the library does not open the line = бібліотека термінала не відкриває з’єднання
the library reported the transaction before = бібліотека повідомила попередню операцію
it was given up = операцію припинено
a line without an end = рядок без кінця
the line was given up = від з’єднання відмовилися
a number from 1 to {} is expected = очікується число від 1 до {}
the name of a COM port is expected, numbers are from 1 to 255 = очікується назва COM-порту, номери від 1 до 255
the library is for Windows only, this system is {} = бібліотека є лише для Windows, а ця система {}
this system is {} = ця система {}
pywin32 is not installed = pywin32 не встановлено
settled by a person = підтвердила людина
this protocol has no question for it: look at the terminal's slip = протокол цього не питає: подивіться сліп термінала
the terminal has never reported its last operation = термінал ніколи не повідомляв останньої операції
the terminal's last answer names no operation = остання відповідь термінала не називає операції
operation {} is reported in another way than before = про операцію {} термінал тепер повідомляє інакше
operation {} is of another time = операція {} іншого часу
the last receipt is {} = останній чек {}
{}, of another time = {}, іншого часу
{}, over another sum = {}, на іншу суму
{}, and the one before the operation is unknown = {}, а попередній чек невідомий
not reported = не повідомлено
whether the {} was closed is unknown = чи завершено {}, невідомо
batch = пакет операцій
session = сесію
the terminal is still busy = термінал досі зайнятий
the terminal reports no receipt = термінал не повідомляє чека
the terminal says {} = термінал відповідає {}
nothing = нічого
the device was closed = роботу з пристроєм припинено
another sum was approved = схвалено іншу суму
another sum was approved: {} = схвалено іншу суму: {}
another sum was approved, code {} = схвалено іншу суму, код {}
no cash was given = готівку не видано
the bank answered {} = банк відповів {}
result {} = результат {}
the card cannot be read = картка не читається
no data on the card = на картці немає даних
processing error = помилка обробки
the function is not for this card = дія не для цієї картки
the journal is full = журнал заповнено
the till is not registered = касу не зареєстровано на терміналі
aborted by time limit or key = перервано за часом або клавішею
the card is on the list of blocked cards = картка в списку заблокованих
wrong currency = інша валюта
not enough credit = недостатньо коштів
chip error = помилка чипа
wrong data on the card = неправильні дані на картці
keys for encryption are used up = ключі шифрування вичерпано
the card is not authentic = картка несправжня
the card is not on the list = картки немає в списку
the end of day failed = звірка підсумків не вдалася
the card has expired = строк картки сплив
the card is not valid yet = картка ще не чинна
unknown card = невідома картка
fallback to the magnetic stripe = перехід на магнітну смугу
the function is not possible = дія неможлива
a key is missing = бракує ключа
the PIN pad is out of order = клавіатура PIN несправна
protocol error = помилка протоколу
dialling failed = з’єднання не встановлено
wait = зачекайте
the receiver is not ready = приймач не готовий
the peer does not answer = інший бік не відповідає
no connection = немає з’єднання
not allowed = не дозволено
the memory is full = пам’ять заповнено
reversed already = уже скасовано
there is nothing to reverse = скасовувати нічого
the reservation does not fit = резервування не збігається
the power failed = зникло живлення
the sum is over the limit = сума понад ліміт
the method is not supported = спосіб не підтримується
the currency is not supported = валюта не підтримується
the sum is too small = сума замала
only EUR = лише EUR
the printer is not ready = пристрій друку не готовий
cashback is not possible = видати готівку неможливо
a card is inserted = картку вставлено
the reader's motor fails = двигун зчитувача несправний
out of order = несправний
remote maintenance is under way = триває віддалене обслуговування
the card was not taken out = картку не вийнято
the reader is out of order = зчитувач несправний
the shutter is out of order = заслінка несправна
the terminal is not activated = термінал не активовано
the end of day is due = потрібна звірка підсумків
offline = офлайн
the set-up of the terminal is not finished = налаштування термінала не завершено
clearing failed = розрахунок із банком не вдався
wrong data = неправильні дані
the device is missing or broken = пристрою немає або він несправний
wrong speed of the line = неправильна швидкість лінії
register error = помилка каси
system error = системна помилка
# The tax service's wire.
{} is not an address = {} не є адресою
it did not answer in time and is asked again in {} s = вчасно не відповів, наступний запит за {} с
the provider answers HTTP {} = надавач відповідає HTTP {}
an answer without end = відповідь без кінця
more than {} bytes = понад {} байтів
{} bytes, at most {} are taken = {} байтів, а можна щонайбільше {}
content encoding {} = кодування {}
compressed data that cannot be read to its end = стиснуті дані не читаються до кінця
the answer cannot be read ({}) = відповідь не читається ({})
the answer cannot be read = відповідь не читається
the answer is neither OK nor a session = у відповіді немає ні OK, ні сесії
the ticket cannot be read ({}) = квитанція не читається ({})
the ticket's signature is wrong ({}) = підпис квитанції неправильний ({})
the ticket belongs to document {} = квитанція належить документу {}
the ticket has no fiscal number = у квитанції немає фіскального номера
the document's signature is wrong ({}) = підпис документа неправильний ({})
the document cannot be read ({}) = документ не читається ({})
document {} has no fiscal number yet = документ {} ще не має фіскального номера
another document has the number {} at the tax service = у податковій під номером {} інший документ
the server knows nothing of the register = сервер нічого не знає про касу
the server has gone on without these documents = сервер пішов далі без цих документів
the server is not sure about document {} = сервер не певен щодо документа {}
the server's last document is another one: {} = останній документ на сервері інший: {}
the server reports an unknown error = сервер повідомляє про невідому помилку
the answer has no document = у відповіді немає документа
the answer's signature is wrong ({}) = підпис відповіді неправильний ({})
the signed number is {}, not {} = підписано номер {}, а не {}
the server refused the call = сервер не прийняв виклику
the server gave the call up (HTTP/2 error {}) = сервер припинив виклик (помилка {})
the server leaves (HTTP/2 error {}) = сервер завершує з’єднання (помилка {})
the connection is closed = з’єднання розірвано
no time left = час вичерпано
given up = запит припинено
the offline begin {} is not in the journal = початку офлайну {} немає в журналі
restored from a backup: the next number is {} here and {} at the tax service = відновлено з резервної копії: \
наступний номер тут {}, а в податковій {}
the line broke before the answer came = з’єднання обірвалося до відповіді
the line broke after the document was sent = з’єднання обірвалося після надсилання документа
the question after the next number was not answered = на запит про наступний номер відповіді немає
the question after document {} was not answered = на запит про документ {} відповіді немає
the package is empty = пакет порожній
document {} at {} is cut short = документ {} на місці {} обірвано
a document of {} bytes fits into no package = документ на {} байтів не вміщується в пакет
# The tax service's documents.
different numbers are expected = очікуються різні номери
at most {} bytes are expected, not {} = очікується щонайбільше {} байтів, а не {}
only a text is expected here = тут очікується лише текст
an attribute of this name is not expected here = атрибут із такою назвою тут не очікується
the attribute is required = атрибут обов’язковий
a text is not expected here = текст тут не очікується
a tag of this name is not expected here = тег із такою назвою тут не очікується
only one {} is expected = очікується лише один {}
the tag is required = тег обов’язковий
a document of this type and subtype is not known = документ такого типу й підтипу невідомий
a document of the kind {} needs a sum = документ виду {} потребує суми
a document of the kind {} has no such section = документ виду {} не має такого розділу
a document of the kind {} needs this section = документ виду {} потребує цього розділу
a return names its receipt = повернення має називати свій чек
a part payment is 1, 2 or 3 = часткова сплата буває 1, 2 або 3
a part payment needs its sum = часткова сплата потребує своєї суми
a further or final payment names the prepayment = наступна чи остання сплата має називати передплату
no network card with an address of its own was found = не знайдено мережевої карти з власною адресою
a storno names the document that it reverses = сторно має називати документ, який скасовує
only the opening of an offline session revokes a document = скасовує документ лише початок офлайн-сесії
offline documents have a fiscal number, and only they = фіскальний номер мають лише офлайн-документи
an offline session is never a test = офлайн-сесія не буває тестовою
a session's opening and closing are offline documents = початок і кінець сесії є офлайн-документами
{} is expected, not {} = очікується {}, а не {}
{} is expected = очікується {}
{} or {} = {} або {}
it is not XML ({}) = це не XML ({})
there is text between the elements = між елементами є текст
there is text between the rows = між рядками є текст
an attribute is not expected here = атрибут тут не очікується
an element of this name is not expected here = елемент із такою назвою тут не очікується
the element occurs twice = елемент трапляється двічі
the element excludes {} = елемент не буває разом із {}
the element belongs before {} = елемент має стояти перед {}
the element is required = елемент обов’язковий
a text is expected, not elements = потрібен текст, а не елементи
only rows are expected here = тут очікуються лише рядки
at most {} digits are expected before the dot = до крапки щонайбільше {} цифр
at most {} characters are expected, not {} = щонайбільше {} символів, а не {}
at least {} characters are expected, not {} = щонайменше {} символів, а не {}
a number from {} to {} = число від {} до {}
a number = число
a date = дата
a time = час
a UUID = UUID
more than {} levels = понад {} рівнів
a document type is declared = оголошено тип документа
# Keys, certificates, signatures, time stamps.
time stamp: {} = позначка часу: {}
signing agent: {} = агент підпису: {}
it cannot be reached: {} = він недосяжний: {}
no answer: {} = немає відповіді: {}
it does not know the token = він не знає токена
it cannot be read ({}) = відповідь не читається ({})
its key does not sign documents = його ключ не підписує документів
the content was changed after signing = вміст після підпису вже інший
the signature does not fit the key = підпис не відповідає ключу
the signed attributes are incomplete or contradictory = підписані атрибути неповні або суперечливі
the algorithm is not supported = алгоритм не підтримується
the signer's certificate is missing = немає сертифіката підписувача
the signature was made for another certificate = підпис зроблено для іншого сертифіката
the key is not for this use = ключ не для цього
the certificate was not valid at that time = сертифікат на той час не був чинним
the certificate does not lead to a trusted one = сертифікат не веде до довіреного
the certificate belongs to somebody else = це сертифікат іншого власника
the list of trusted certificates cannot be read: {} = перелік довірених сертифікатів не читається: {}
the time stamp is wrong = позначка часу неправильна
the tax service answers = податкова відповідає
the tax service does not accept messages of this form = податкова не приймає повідомлень такого вигляду
its signature is wrong: {} = його підпис неправильний: {}
it signed something else = він підписав щось інше
its certificate is good until {}, not now = його сертифікат чинний до {}, а не зараз
it speaks version {} of the protocol = він працює з версією {} протоколу
its signature cannot be read ({}) = його підпис не читається ({})
its certificate cannot be read ({}) = його сертифікат не читається ({})
the stored document cannot be read ({}) = збережений документ не читається ({})
the key is kept by the signing agent {}; replace it there = ключ зберігає агент підпису {}; замініть його там
the certificate begins on {} = сертифікат чинний від {}
the certificate ended on {} = строк сертифіката сплив {}
it takes too long to open = файл відкривається надто довго
the key was closed = ключ уже вивантажено
the password does not open the key file = пароль до файлу ключа не підходить
the password does not open the key store = пароль до сховища ключів не підходить
the password opens the key store, but its key has another one = пароль відкриває сховище, але ключ у ньому має інший
the password is right and the key file is damaged = пароль правильний, але файл ключа пошкоджено
the key store is damaged, or the password belongs to the key and not to the store = сховище ключів пошкоджено, або \
це пароль ключа, а не сховища
the key file is damaged: its check value is wrong = файл ключа пошкоджено: контрольна сума не збігається
this is not a key file = це не файл ключа
this is not a Java key store = це не сховище ключів Java
the key store is cut = сховище ключів обірвано
a Java key store of version {} = сховище ключів Java версії {} не підтримується
a Java key store of the kind JCEKS = сховище ключів Java виду JCEKS не підтримується
a key protected by {} = захист ключа {} не підтримується
a key file with {} = файл ключа з {} не підтримується
a key file of {} = файл ключа {} не підтримується
a key of {} = ключ {} не підтримується
the curve {} is not known = крива {} невідома
the key uses an S-box other than DKE-1 = ключ має іншу таблицю замін, ніж DKE-1
{} rounds of key derivation = ключ виведено за {} кроків, це забагато
no certificate that allows signatures belongs to a key of the file = до жодного ключа у файлі немає сертифіката для \
підпису
there is no certificate with the key: fetch it from the provider and supply it too = у файлі немає сертифіката \
ключа: отримайте його в надавача й додайте
the certificate belongs to another key = сертифікат належить іншому ключу
the certificate does not allow signatures = сертифікат не дозволяє підпису
there is no certificate in the file = у файлі немає сертифіката
an element is cut = елемент обірвано
an element is missing = елемента бракує
a length that is not DER = довжина не в DER
this is not a signed message = це не підписане повідомлення
a PEM block is damaged = блок PEM пошкоджено
a file of certificates holds something else = у файлі сертифікатів є щось інше
the provider refused: status {} = надавач відмовив: стан {}
the answer belongs to another request = відповідь належить іншому запиту
it covers something else = вона засвідчує щось інше
of the time-stamp provider = надавача позначок часу
the key is not for time stamps = ключ не для позначок часу
it has {} signatures = підписів: {}
the key is not for signatures = ключ не для підпису
the content is not in the message = у повідомленні немає вмісту
the type or the hash of the content is not signed = тип або хеш вмісту не підписано
the signed content type is another one = підписано інший тип вмісту
{} has failed before = {} уже дав збій
{} is off = {} вимкнено
{} refuses {} = {} не приймає {}
{} failed a known answer = {} не пройшов перевірки на відому відповідь
a published signature = оприлюднений підпис
# Files that settings name.
there is no file of at most 1 MB with this name in {} = файлу до 1 МБ з такою назвою немає в {}
there is no file of at most 1 MB with this name = файлу до 1 МБ з такою назвою немає
# Sealed secrets.
the key of the secrets, {}, is missing; restore it = немає ключа секретів {}; відновіть його
{}: this is not a sealed secret, or one of a later version = {}: це не зашифрований секрет або він від новішої версії
{}: sealed with another key than {} = {}: зашифровано іншим ключем, ніж {}
{}: this secret is damaged = {}: секрет пошкоджено
{}: cannot be read ({}) = {}: не читається ({})
{}: cannot be written ({}) = {}: не записується ({})
{}: holds no key of {} bytes; restore it = {}: немає ключа на {} байтів; відновіть його
{}; or enter it again = {}, або введіть його знову
an e-mail address is expected = очікується адреса електронної пошти
a number from 0 to {} is expected = очікується число від 0 до {}
excise marks of the sale are expected = очікуються акцизні марки цього продажу
a text of at most {} characters is expected = очікується текст до {} символів
the number of a tax group is expected = очікується номер податкової групи
at most {} digits are expected = очікується щонайбільше {} цифр
at most {} items = щонайбільше {} товарів
the item {} has this bar code = цей штрихкод має товар {}
the items {} and {} have one bar code = товари {} і {} мають один штрихкод
the memory of a till's register cannot be read: {} = пам’ять каси для старої програми не читається: {}
the list of goods cannot be read: {} = список товарів не читається: {}
a host name or an address is expected = очікується ім’я або адреса сервера
certificates in PEM are expected = очікуються сертифікати PEM
without TLS the mail server has to be on this machine = без TLS поштовий сервер має бути на цьому комп’ютері
e-mail is not set up in the service = пошту в сервісі не налаштовано
nobody listens for telephone numbers = програма оператора не слухає номерів
the letter cannot be read = лист пошкоджено
the mail server is not reached: {} = поштовий сервер недоступний: {}
the server has the certificate of another name = сервер має сертифікат на інше ім’я
words that came before TLS and would count as protected = до TLS надійшло зайве
TLS failed: {} = TLS не встановлено: {}
the server closed the line = сервер розірвав з’єднання
the address is another one now and does not get what is stored; enter it again = адреса тепер інша і збереженого не \
отримає; введіть його знову
# Databases.
database or disk is full = на диску немає місця
attempt to write a readonly database = базу даних можна лише читати
database is locked = база даних зайнята
database disk image is malformed = файл бази даних пошкоджено
not every outcome of a group could be stored = не всі результати групи вдалося записати
disk I/O error = помилка диска
file is not a database = це не файл бази даних
unable to open database file = файл бази даних не відкривається
the disk is full = на диску немає місця
the database server is away = сервер бази даних недоступний
the database did not finish in time = база даних не встигла відповісти
the database is being closed = база даних завершує роботу
the database is being opened again = база даних відкривається знову
the database is read-only = базу даних можна лише читати
the database is not open = базу даних не відкрито
the database could not be brought up to date = базу даних не вдалося оновити
the database {} = база даних {}
was made by a newer version (revision {}) = створена новішою версією (ревізія {})
is the target of a move that is not finished; run `dmtwisted db move` once more = є ціллю незавершеного \
перенесення; запустіть `dmtwisted db move` ще раз
is empty, though a service has worked with it = порожня, хоча сервіс із нею вже працював
no process for the database: {} = немає процесу для бази даних: {}
the process that writes the database ended = процес, який пише в базу даних, завершився
no session of the database became free in {} s = за {} с жодна сесія бази даних не звільнилася
the session is being stopped = сесію бази даних зупиняють
a command works with the database; wait for it to end = з базою даних працює команда; дочекайтеся її кінця
the names of the devices change too fast = назви пристроїв надто швидко оновлюються
the operations of the tag change too fast = операції з цим tag надто швидко оновлюються
there is no operation {}, or no such document of it = немає операції {} або такого її документа
a lost session does not end at the server = утрачена сесія не завершується на сервері
a text with the character NUL cannot be stored = текст зі знаком NUL не можна зберегти
the chain of seals grows too fast = ланцюг печаток росте надто швидко
another service worked with this device meanwhile; its state must be read again = із пристроєм тим часом працював \
інший сервіс; його стан треба прочитати знову
the setting {} cannot be read: {} = налаштування {} не читається: {}
{}: a damaged row: {} = {}: пошкоджений рядок: {}
a damaged row: {} is not a state = пошкоджений рядок: {} не є станом
a frame of {} bytes is too short = кадр на {} байтів закороткий
the driver of MS SQL is not installed: {} = драйвер MS SQL не встановлено: {}
# Backups.
another backup is being made in {} = інша резервна копія саме створюється у {}
there is a file {} already = файл {} вже є
the database is damaged, and is not backed up: {} = базу даних пошкоджено, тож її копію не створено: {}
the copy differs from the database = копія відрізняється від бази даних
# Print forms and templates.
EAN-{} takes exactly {} digits = EAN-{} має рівно {} цифр
the check digit of EAN-{} is {}, {} is expected = контрольна цифра EAN-{} має бути інша: не {}, а {}
Code 128 takes one or more Latin letters, digits and signs of ASCII = Code 128 містить лише латинські літери, цифри \
й знаки ASCII, щонайменше один
Code 128 takes at most {} characters, not {} = Code 128 містить щонайбільше {} символів, а не {}
a QR code takes 1 to {} bytes, not {} = QR-код вміщує від 1 до {} байтів, а не {}
the picture is {} x {} dots, at most {} a side are taken = малюнок має {} x {} точок, а можна до {} на бік
the picture is too large = малюнок завеликий
this is not a picture that can be read = це не малюнок, або він пошкоджений
a PNG or BMP file = файл PNG або BMP
too much is being drawn at the moment, repeat it = зараз малюється забагато, повторіть
it takes longer than {} s to draw, make it shorter = малюється довше ніж {} с, зробіть коротшим
it takes more than {} MB to draw, make it shorter = для малювання треба понад {} МБ, зробіть коротшим
no process can be started for it, see the log = для цього не вдалося запустити процес, дивіться журнал
the process that drew it ended, see the log = процес, що це малював, завершився, дивіться журнал
more than {} rows = понад {} рядків
more than {} QR codes = понад {} QR-кодів
template: {} = template: {}
line {}: {} = рядок {}: {}
the template is longer than {} characters = шаблон довший за {} символів
the filled template is longer than {} characters = заповнений шаблон довший за {} символів
the template has more than {} parts = шаблон має понад {} частин
{} cannot be used in a template = {} у шаблоні використати не можна
at most {} loops can be used, none inside of another = можна щонайбільше {} циклів, не вкладених один в одного
a loop goes over {} = цикл іде по {}
a loop needs a name of its own, such as item = циклу потрібна власна назва, наприклад item
there is no value {} = значення {} немає
{} is undefined = значення {} немає
only texts and numbers can be printed = друкувати можна лише тексти й числа
%receipt is there twice = %receipt трапляється двічі
at most {} lines and {} pictures can be added = можна додати щонайбільше {} рядків і {} малюнків
{}: only the register may print this title = {}: цей заголовок друкує лише каса
{}: a pair is written as LEFT | RIGHT = {}: пару записують як LEFT | RIGHT
{}: there is no mark %{} = {}: позначки %{} немає
unexpected {} = зайве {}
division by zero = ділення на нуль
# Settings.
{}: an address like {} is expected = {}: потрібна адреса на зразок {}
signer_url: to another machine https is expected, for receipts and token travel there = signer_url: до іншого \
комп’ютера потрібен https, бо туди йдуть чеки й токен
server_url: a tax server on another machine needs https, else anyone can answer for it = server_url: до сервера \
податкової на іншому комп’ютері потрібен https, бо інакше відповісти за нього може будь-хто
{} cannot be read ({}) = {} не читається ({})
a certificate cannot be read ({}) = сертифікат не читається ({})
there is no certificate in it = там немає сертифіката
pay_types: cash does not go to the terminal = pay_types: готівка на термінал не йде
pay_types: a payment type is listed twice = pay_types: тип оплати вказано двічі
batch.pay_types: the register has no payment type {} = batch.pay_types: каса не має типу оплати {}
batch.pay_types: rounding ({}) does not go to the terminal = batch.pay_types: заокруглення ({}) на термінал не йде
{} is no setting that can change on a day = {} не можна оновити від певного дня
{} changes twice on {} = {} задано двічі на {}
on {} {}: {} = від {} {}: {}
{} is set since {}; change that row = {} діє від {}; виправте той рядок
{} is neither an address nor a network = {} не є ні адресою, ні мережею
{} is not a host name = {} не є назвою вузла
login and pass are expected = очікуються login і pass
{} is not an origin; one like {} is expected = {} не є джерелом; потрібне на зразок {}
{} is neither a host name nor an address = {} не є ні назвою вузла, ні адресою
a name or an address = назва або адреса
names: at most {} are taken = names: щонайбільше {}
a name of 1 to {} characters = назва від 1 до {} символів
no spaces are allowed at its ends = пробілів по краях бути не може
no control characters are allowed = керівних символів бути не може
only a program on the machine of the service may switch this off = вимкнути це може лише програма на цьому комп’ютері
there are {} already; delete one first = їх уже {}; спершу вилучіть одного
there is no event {} = події {} немає
an address of this machine is expected = очікується адреса цього комп’ютера
an address like {} is expected = очікується адреса на зразок {}
an address without a login and without # is expected = очікується адреса без логіна й без #
an address without blanks is expected = очікується адреса без пропусків
https is expected; http only to a host that allow_local names = очікується https; без TLS лише до вузла з allow_local
{} is inside this machine or only on its link; allow_local does not name it = {}: адреса цього комп’ютера або лише \
його лінії, а в allow_local її немає
the receiver answered {}, and redirects are not followed = отримувач відповів {}, а перенаправлення не виконуються
the receiver answered {} = отримувач відповів {}
the receiver is not reached: {} = до отримувача не дістатися: {}
the subscriber is disabled = отримувача вимкнено
this is no secret of a webhook = це не секрет вебхука
there are {} keys already; delete one first = ключів уже {}; спершу вилучіть один
another register has this token = такий токен уже має інша каса
this key exists already = такий ключ уже є
at least one device for this role = щонайменше один пристрій для цієї ролі
this role is for all devices; name none = ця роль для всіх пристроїв; не вказуйте жодного
a login of 1 to {} characters = логін від 1 до {} символів
the old password is wrong = старий пароль неправильний
the id of a device = id пристрою
this login exists already = такий логін уже є
the last administrator stays; make another one first = останній адміністратор лишається; спершу \
додайте іншого
delete the other people first = спершу вилучіть інших людей
there are {} people already; delete one first = людей уже {}; спершу вилучіть когось
a password = пароль
at most {} characters are taken = щонайбільше {} символів
a password of at least {} characters is expected = очікується пароль щонайменше з {} символів
this password is among the first that are tried; several words that do not belong together are better = такий пароль \
підбирають першим; краще кілька не пов’язаних між собою слів
the confirmation differs from the password = підтвердження не збігається з паролем
true is expected together with a new password = разом із новим паролем очікується true
a name = назва
the beginning of YYYYMMDDHHMMSS = початок YYYYMMDDHHMMSS
the name has characters that cannot be seen = у назві є невидимі символи
one of {} = одне з {}
there is no such driver for a {}; known: {} = такого драйвера для «{}» немає; є: {}
there is no such driver for a {} = такого драйвера для «{}» немає
none yet = ще жодного
interface {} needs it = потрібно для інтерфейсу {}
this protocol goes over a network only = цей протокол працює лише мережею
a hardware register takes nothing back = апаратний реєстратор не сторнує
a hardware register does not round cash = апаратний реєстратор не заокруглює готівку
a hardware register has no offline mode = апаратний реєстратор не має режиму офлайн
a number is listed twice = номер указано двічі
the register's numbers are 1 to {} = номери каси від 1 до {}
this protocol has no usual port = цей протокол не має звичайного порту
the number of {} in this printer has to be named = треба вказати номер {} у цьому пристрої друку
a text of at most {} characters = текст до {} символів
a text = текст
a whole number = ціле число
an object = об’єкт
a number from {} = число від {}
at least one certificate in PEM = щонайменше один сертифікат у PEM
a certificate and its private key in PEM are expected = очікуються сертифікат і його особистий ключ у PEM
a shared key has a passphrase and a name = спільний ключ має парольну фразу й назву
the file of the certificate = файл сертифіката
the name or id of a device = назва або id пристрою
approved or refused = approved або refused
refused is expected; to get a receipt, repeat the same tag = очікується refused; щоб мати чек, повторіть той самий tag
unfinished or one of {} = unfinished або одне з {}
the key file = файл ключа
the name of a driver for registers = назва драйвера кас
the local number of a document = локальний номер документа
1 or 0 = 1 або 0
# Certificates of HTTPS.
HTTPS needs the TLS library, which does not load: {} = для HTTPS потрібна бібліотека TLS, яка не завантажується: {}
{}: holds no private key in PEM form = {}: немає особистого ключа в PEM
{}: holds no private key with a certificate = {}: немає особистого ключа із сертифікатом
{}: expired on {} = {}: строк сплив {}
{}: valid only from {} on = {}: чинний лише від {}
{}: weak, an RSA key of {} bits; {} is the least = {}: слабкий, ключ RSA на {} бітів; найменше {}
{}: weak, a key on the curve {}; {} bits is the least = {}: слабкий, ключ на кривій {}; найменше {} бітів
{}: weak, {} is signed with {} = {}: слабкий, {} підписано {}
{}: the key is encrypted; its passphrase is missing = {}: ключ зашифровано, бракує парольної фрази
{}: an RSA or elliptic curve key is expected = {}: очікується ключ RSA або на еліптичній кривій
{}: the local authority may not sign for it; make a new one (dmtwisted tls authority --new, or the check box on the \
page) and install it on every machine = {}: власний центр сертифікації не може підписати це ім’я; створіть новий \
(dmtwisted tls authority --new або позначка на сторінці) й установіть його на кожному комп’ютері
{}: the key does not belong to the certificate = {}: ключ не від цього сертифіката
{}: neither PEM nor PKCS#12, or the password is wrong = {}: не PEM і не PKCS#12, або пароль неправильний
{}: holds no certificate in PEM form = {}: немає сертифіката в PEM
{}: OpenSSL refuses it ({}) = {}: OpenSSL його не приймає ({})
# Management and pages.
another certificate is being checked = перевіряється інший сертифікат
the configuration names the certificate; remove it there = сертифікат названо в конфігурації; приберіть його звідти
there is no state folder to keep a certificate in = немає теки даних, де зберегти сертифікат
only registers at the tax service have tax objects = податкові об’єкти мають лише каси в ДПС
any task of this register finds the outcome out = результат з’ясує будь-яке завдання цієї каси
only registers go offline and online = режим офлайн мають лише каси
only training printers have a strip = стрічку мають лише навчальні пристрої друку
only training devices have a scenario and a ledger = сценарій і журнал мають лише навчальні пристрої
no slip is stored with this operation = сліпа цієї операції не збережено
it was deleted = його вилучено
this origin may not change the service = сторінка з іншої адреси не може керувати сервісом
only terminals have operations to interrupt = перервати операцію можна лише на терміналі
there is no operation {} = немає операції {}
there is no document {} = немає документа {}
the form cannot be read = форма не читається
a training terminal approves payments without money, so it works in training mode only (--training); add the bank's \
terminal instead = навчальний термінал схвалює оплати без грошей, тож працює лише в навчальному режимі (--training); \
додайте натомість термінал банку
this register would send real documents to the tax service although the service is in training mode; if that is what \
you want, repeat with confirm_real true = ця каса надсилала б справжні документи до податкової, хоча сервіс працює в \
навчальному режимі; якщо так і треба, повторіть із confirm_real true
# The search for devices.
the address that the device shows is expected, like {} = \
потрібна адреса, яку показує пристрій, наприклад {}
the port of the register is expected = потрібен порт каси
only addresses of private networks are tried, like {} = \
перевіряються лише адреси локальних мереж, наприклад {}

# Two reasons, or a place and its reason.
{}: {} = {}: {}
{}; {} = {}; {}
"""
"""English = Ukrainian; of the lines that fit, that with most words of its own counts."""
