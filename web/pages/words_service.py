"""Texts of the pages about the service itself: certificate, database, log, access, and keys of registers."""

from __future__ import annotations

SERVICE: dict[str, tuple[str, str]] = {
    "exposed": (
        "Сервіс відкритий мережі без пароля: будь-хто в ній може змінити налаштування.",
        "Open to the network without a password: anybody in it can change the settings.",
    ),
    "exposed_link": ("Увімкнути пароль", "Switch the login on"),
    "areas": ("Розділи налаштувань", "Sections of the settings"),
    "area_general": ("Загальні", "General"),
    "area_certificate": ("Сертифікат", "Certificate"),
    "area_database": ("База даних", "Database"),
    "area_doctor": ("Перевірка", "Check-up"),
    "area_log": ("Журнал і допомога", "Log and help"),
    # who gets in
    "protection": ("Хто має доступ", "Who gets in"),
    "listens_on": ("Адреса сервісу", "The service listens on"),
    "only_this_machine": ("лише цей комп’ютер", "this machine alone"),
    "whole_network": ("уся мережа", "the whole network"),
    "https": ("Шифрування (HTTPS)", "Encryption (HTTPS)"),
    "login_state": ("Вхід за паролем", "Login"),
    "hardened": ("Посилений захист (hardened)", "Hardened profile"),
    "keys_count": ("Ключів для програм", "Keys for programs"),
    "on": ("увімкнено", "on"),
    "off": ("вимкнено", "off"),
    "protection_text": (
        "Адресу й посилений захист задає файл конфігурації, решту можна змінити тут.",
        "Address and hardened profile stand in the configuration file, the rest can be changed here.",
    ),
    # print forms of all registers
    "print_forms": ("Друковані форми", "Print forms"),
    "print_forms_text": (
        "Для всіх кас разом; кожна каса може мати свої на власній сторінці.",
        "For all registers together; each may have its own on its page.",
    ),
    "pf_charcount": ("Літер у рядку тексту", "Letters in a line of text"),
    "pf_astext": ("Відповіді містять текст чека", "Answers carry the receipt as text"),
    "pf_asimage": ("Відповіді містять зображення чека", "Answers carry the receipt as a picture"),
    "pf_aspdf": ("Відповіді містять PDF чека", "Answers carry the receipt as PDF"),
    "pf_custom": ("Власні рядки навколо чека", "Lines of your own around receipts"),
    "pf_custom_help": (
        "Шаблон: %center Дякуємо!, %receipt, %qr https://…; порожнє прибирає його.",
        "A template: %center Thank you!, %receipt, %qr https://…; empty takes it away.",
    ),
    # keys for programs
    "replace": ("Замінити", "Replace"),
    "replace_sure": ("Замінити ключ?", "Replace the key?"),
    "replace_sure_text": (
        "Старий ключ одразу перестане діяти; новий треба вписати в програму.",
        "The old key stops working at once; the new one has to be put into the program.",
    ),
    # files
    "choose_or_drop": ("Оберіть файл або перетягніть його сюди", "Choose a file, or drop it here"),
    "file_password": ("Пароль до файлу", "Password of the file"),
    "chosen": ("Обрано", "Chosen"),
    "no_file": ("спершу оберіть файл", "choose a file first"),
    # certificate
    "certificate_now": ("Сертифікат сервісу", "Certificate of the service"),
    "certificate_none": (
        "Сертифіката немає: сервіс відповідає за HTTP, дані в мережі не зашифровано.",
        "There is no certificate: the service speaks HTTP, and nothing is encrypted on the network.",
    ),
    "certificate_restart": (
        "Сертифікат встановлено. Перезапустіть сервіс: далі він відповідатиме лише за https://.",
        "The certificate is installed. Start the service again: from then on it answers https:// alone.",
    ),
    "certificate_gone": (
        "Сертифікат прибрано. Після перезапуску сервіс відповідатиме за http://.",
        "The certificate is taken away. After a restart the service answers http://.",
    ),
    "certificate_broken": ("З цим сертифікатом сервіс не запуститься", "The service would not start with it"),
    "made_for": ("Видано для", "Made for"),
    "made_by": ("Ким видано", "Made by"),
    "valid_to": ("Діє до", "Valid until"),
    "days_left": ("Лишилося днів", "Days left"),
    "fingerprint": ("Відбиток SHA-256", "SHA-256 fingerprint"),
    "certificate_upload": ("Встановити свій сертифікат", "Install a certificate of your own"),
    "certificate_upload_text": (
        "PEM (.pem, .crt) або PKCS#12 (.pfx, .p12). Новий сертифікат набирає чинності без розриву з’єднань.",
        "PEM (.pem, .crt) or PKCS#12 (.pfx, .p12). A renewed one is taken without breaking connections.",
    ),
    "certificate_file": ("Файл сертифіката", "File of the certificate"),
    "certificate_key": ("Файл ключа, якщо він окремо", "File of the key, when it is apart"),
    "install": ("Встановити", "Install"),
    "installed": ("Встановлено", "Installed"),
    "authority": ("Власний центр сертифікації", "A local authority"),
    "authority_text": (
        "Для крамниці без імені в інтернеті. Сервіс зробить центр і сертифікат цього комп’ютера; центру треба "
        "довіритися на кожному комп’ютері з касовою програмою.",
        "For a shop without a name on the internet. The service makes an authority and a certificate of this "
        "machine; each machine with a till program has to trust the authority.",
    ),
    "authority_names": ("Інші імена й адреси цього комп’ютера", "Other names and addresses of this machine"),
    "authority_make": ("Зробити сертифікат", "Make a certificate"),
    "authority_get": ("Завантажити сертифікат центру", "Download the authority's certificate"),
    "authority_trust": ("Як довіритися центру", "How to trust the authority"),
    "certificate_remove": ("Прибрати сертифікат", "Take the certificate away"),
    "certificate_remove_sure": ("Прибрати сертифікат?", "Take the certificate away?"),
    "certificate_remove_text": (
        "Після перезапуску сервіс відповідатиме без шифрування.",
        "After a restart the service answers without encryption.",
    ),
    # database
    "database_which": ("Яка база", "Which database"),
    "database_place": ("Де лежить", "Where it is"),
    "database_size": ("Розмір", "Size"),
    "database_revision": ("Версія схеми", "Version of the schema"),
    "database_receipts": ("Фіскальних документів", "Fiscal documents"),
    "database_operations": ("Записів журналу", "Entries of the journal"),
    "database_unfinished": ("Незавершених операцій", "Unfinished operations"),
    "database_oldest": ("Найдавніший документ", "Oldest document"),
    "database_check": ("Перевірити цілісність", "Check its integrity"),
    "database_check_text": (
        "Сервіс прочитає весь файл бази; каси тим часом працюють.",
        "The service reads the whole file of the database; tills go on meanwhile.",
    ),
    "database_checked": ("Остання перевірка", "Last check"),
    "database_whole": ("База ціла", "The database is whole"),
    "database_damaged": ("База пошкоджена", "The database is damaged"),
    "database_no_check": (
        "Цю базу перевіряє її сервер, не ми.",
        "Its server looks after this database, not we.",
    ),
    "database_command": (
        "Резервна копія та перенесення до іншої бази: команди dmtwisted backup і dmtwisted db.",
        "Backup and moving to another database: the commands dmtwisted backup and dmtwisted db.",
    ),
    # backups
    "backups": ("Резервні копії", "Backups"),
    "backups_text": (
        "Копія містить усе: базу, ключі, сертифікат. Продажі тим часом тривають. Хто має копію, може підписувати"
        " чеки за магазин: бережіть її, як ключ.",
        "A backup holds everything: database, keys, certificate. Sales go on meanwhile. Whoever has it can sign as"
        " the shop: keep it as carefully as the key.",
    ),
    "back_up": ("Зробити копію", "Make a backup"),
    "backup_running": ("Копія робиться", "A backup is being made"),
    "backup_failed": ("Копію не зроблено", "No backup was made"),
    "backup_checked": ("перевірено при створенні", "checked when it was made"),
    "backup_broken": ("пошкоджена", "damaged"),
    "no_backups": ("Копій ще немає", "There are no backups yet"),
    "backup_kept": (
        "Завантажити копію звідси можна, коли увімкнено вхід за паролем, а з іншого комп’ютера лише через HTTPS.",
        "A backup can be downloaded here when the login is on, and from another computer only over HTTPS.",
    ),
    "restore_text": ("Відновлення, коли сервіс зупинено:", "To restore, with the service stopped:"),
    "days_short": ("дн", "days"),
    # log
    "log": ("Журнал роботи", "Log"),
    "log_text": (
        "Останні рядки, найновіші внизу. Номери карток і паролі в журнал не потрапляють.",
        "The last lines, the newest below. Card numbers and passwords do not get into the log.",
    ),
    "log_empty": ("Рядків ще немає", "There are no lines yet"),
    "log_filter": ("Лише рядки з текстом", "Only lines with this text"),
    "log_refresh": ("Оновити", "Look again"),
    "log_download": ("Завантажити журнал", "Download the log"),
    "diagnostics": ("Пакет для підтримки", "Bundle for support"),
    "diagnostics_text": (
        "Один файл для того, хто допомагає: версії, конфігурація без паролів, стан пристроїв, незавершені операції, "
        "останні рядки журналу. Чеків, ключів і номерів карток у ньому немає.",
        "One file for whoever helps: versions, configuration without passwords, how the devices stand, unfinished "
        "operations, the last lines of the log. No receipts, keys or card numbers are in it.",
    ),
    "diagnostics_get": ("Завантажити пакет", "Download the bundle"),
    # signing keys of registers
    "signing_key": ("Ключ підпису", "Signing key"),
    "signing_key_none": (
        "Ключа ще немає: без нього каса не відкриє зміну.",
        "There is no key yet: without one the register cannot open its shift.",
    ),
    "key_owner": ("Власник", "Owner"),
    "key_serial": ("Номер сертифіката", "Serial number"),
    "key_file": ("Файл ключа (Key-6.dat, .pfx, .jks, .pk8)", "Key file (Key-6.dat, .pfx, .jks, .pk8)"),
    "key_certificates": ("Сертифікати, якщо їх немає у файлі ключа", "Certificates, when the key file holds none"),
    "key_load": ("Завантажити ключ", "Load the key"),
    "key_loaded": ("Ключ завантажено", "The key is loaded"),
    "key_text": (
        "Змінити ключ можна, коли зміну закрито. Пароль ніде не зберігається.",
        "A key can be replaced while the shift is closed. The password is not kept anywhere.",
    ),
    "outlets": ("Об’єкти в податковій", "Outlets at the tax office"),
    "outlets_text": (
        "Податкова скаже, які каси зареєстровано на цей ключ; обране впишеться в налаштування нижче.",
        "The tax office tells which registers belong to this key; what is chosen goes into the settings below.",
    ),
    "outlets_ask": ("Запитати податкову", "Ask the tax office"),
    "outlet_take": ("Взяти", "Take it"),
    "outlet_none": (
        "Для цього ключа податкова не знає жодного об’єкта",
        "The tax office knows no outlet for this key",
    ),
    # check-up
    "doctor_text": (
        "Конфігурація, файли, диск, годинник, сертифікат, база, ключі, податкова й кожен пристрій. Пристрої питаються"
        " без чеків і без грошей; чек, що прийде тієї ж миті, каса попросить повторити.",
        "Configuration, files, disk, clock, certificate, database, keys, the tax office and every device. Devices are"
        " asked without receipts and without money; a receipt that comes at that moment is asked to be repeated.",
    ),
    "doctor_look": ("Перевірити все", "Look at everything"),
    "doctor_looked": ("Перевірено", "Looked at"),
    "doctor_good": ("гаразд", "well"),
    "doctor_warn": ("зверніть увагу", "see to it"),
    "doctor_bad": ("не працює", "does not work"),
    "doctor_done": ("Перевірку завершено", "Everything was looked at"),
    "doctor_mended": ("Виправлено", "Mended"),
    "fix_permissions": ("Закрити від інших", "Close them to others"),
    "fix_folder": ("Створити теку", "Make the folder"),
    "fix_certificate": ("Оновити сертифікат", "Renew the certificate"),
    "fix_backup": ("Зробити резервну копію", "Make a backup"),
    # parts of a register's settings
    "part_money": ("Податкові групи та оплати", "Tax groups and payments"),
    "part_paper": ("Чек і друковані форми", "Receipt and print forms"),
    "part_offline": ("Офлайн", "Offline"),
    "part_batch": ("Зв’язок із терміналом і принтером", "Terminal and printer of the register"),
    "part_tax": ("Сервер податкової", "Server of the tax office"),
    "part_rest": ("Решта налаштувань", "More settings"),
    # offline, in figures
    "offline_since": ("Офлайн від", "Offline since"),
    "offline_left": ("Лишилося офлайну", "Time left offline"),
    "offline_why": ("Чому офлайн", "Why it is offline"),
    "offline_by_itself": ("податкова не відповідала", "the tax office did not answer"),
    "offline_error": ("Не вдається повернутися", "It cannot come back"),
    "offline_month": ("Офлайн цього місяця", "Offline this month"),
    "offline_over": ("час вичерпано: закрийте зміну", "time is up: close the shift"),
    "hours_short": ("год", "h"),
    "minutes_short": ("хв", "min"),
    "step_signed": ("Підписано ключем каси", "Signed with the register's key"),
    "step_handed_in": (
        "Передано до податкової не пізніше, ніж закінчилась офлайн-сесія",
        "Handed in to the tax office, not later than the end of the offline session",
    ),
    # drivers, where one is chosen
    "level_none": ("Не перевірено: рівень невідомий", "Not looked at: no level is known"),
    "level_0": ("Рівень 0: небезпечний, не користуйтеся", "Level 0: not safe, do not use it"),
    "level_1": (
        "Рівень 1: нічого не зробить двічі; про втрачену відповідь питає людину",
        "Level 1: does nothing twice; asks a person about a lost answer",
    ),
    "level_2": (
        "Рівень 2: про втрачену відповідь дізнається сам; не всі завдання",
        "Level 2: finds out about a lost answer itself; not every task",
    ),
    "level_3": (
        "Рівень 3: про втрачену відповідь дізнається сам; усі головні завдання",
        "Level 3: finds out about a lost answer itself; every main task",
    ),
}
"""Ukrainian and English text by key."""
