"""Texts of the pages about the service itself: certificate, database, log, access, and keys of registers."""

from __future__ import annotations

SERVICE: dict[str, tuple[str, str]] = {
    "exposed": (
        "Сервіс доступний у мережі без пароля: будь-хто в ній бачить чеки й налаштування.",
        "The service is open to the network without a password: anybody there can see receipts and settings.",
    ),
    "presence_code": ("Одноразовий код", "One-time code"),
    "presence_enter": ("Підтвердити", "Confirm"),
    "presence_why": (
        "Без нього цей браузер нічого не може змінити. Код показують консоль сервісу, dmtwisted doctor і файл"
        " presence-code у теці стану.",
        "Without it this browser cannot change anything. The console of the service, dmtwisted doctor and the file"
        " presence-code in the state folder show it.",
    ),
    "exposed_link": ("Увімкнути пароль", "Switch the login on"),
    "areas": ("Розділи налаштувань", "Sections of the settings"),
    "area_general": ("Загальні", "General"),
    "area_certificate": ("Сертифікат", "Certificate"),
    "area_database": ("База даних", "Database"),
    "area_doctor": ("Перевірка", "Check-up"),
    "area_log": ("Журнал і підтримка", "Log and support"),
    "area_changes": ("Журнал змін", "Changes"),
    # journal of changes
    "changes_text": (
        "Хто, звідки й що змінив. Записи захищено ланцюжком, як чеки; підробку помітить dmtwisted db check.",
        "Who changed what in the service, and from where. The records are sealed like receipts: dmtwisted db check "
        "notices a forgery.",
    ),
    "changes_all": ("усі", "all"),
    "changes_file": ("Завантажити", "Download"),
    "change_of": ("Що змінено", "What was changed"),
    "change_what": ("Зміна", "Change"),
    "change_who": ("Хто", "Who"),
    "change_before_after": ("Було → стало", "Before → after"),
    "change_device": ("Пристрій", "Device"),
    "change_settings": ("Налаштування сервісу", "Settings of the service"),
    "change_login": ("Вхід із паролем", "Login"),
    "change_api_key": ("Ключ для програми", "Key for a program"),
    "change_user": ("Користувач", "User"),
    "change_register_key": ("Ключ підпису каси", "Signing key of a register"),
    "change_mode": ("Режим каси", "Mode of a register"),
    "change_settlement": ("Операція з невідомим результатом", "Operation with an unknown outcome"),
    "change_certificate": ("Сертифікат сервісу", "Certificate of the service"),
    "change_backup": ("Резервна копія", "Backup"),
    "change_database": ("База даних", "Database"),
    "change_support": ("Пакет для підтримки", "Bundle for support"),
    "change_training": ("Навчальний режим", "Training mode"),
    "change_files": ("Файли сервісу", "Files of the service"),
    "change_begun": ("не завершено", "not finished"),
    "change_failed": ("не вдалося", "failed"),
    "action_created": ("створено", "created"),
    "action_changed": ("змінено", "changed"),
    "action_deleted": ("видалено", "deleted"),
    "action_replaced": ("замінено", "replaced"),
    "action_installed": ("встановлено", "installed"),
    "action_issued": ("видано", "issued"),
    "action_reloaded": ("перечитано", "loaded again"),
    "action_went_offline": ("переведено в офлайн", "went offline"),
    "action_went_online": ("переведено в онлайн", "went online"),
    "action_approved": ("підтверджено людиною", "approved by a person"),
    "action_refused": ("відхилено людиною", "refused by a person"),
    "action_downloaded": ("завантажено", "downloaded"),
    "action_restored": ("відновлено", "restored"),
    "action_moved": ("перенесено", "moved"),
    "action_mended": ("виправлено", "repaired"),
    "by_login": ("користувач", "login"),
    "by_key": ("програма з ключем", "program with the key"),
    "by_machine": ("цей комп’ютер, без входу", "this computer, without a login"),
    "by_network": ("інший комп’ютер, без входу", "another computer, without a login"),
    "by_command": ("командний рядок", "command line"),
    "by_service": ("сам сервіс", "the service itself"),
    # who gets in
    "protection": ("Хто має доступ", "Access"),
    "listens_on": ("Адреса сервісу", "The service listens on"),
    "only_this_machine": ("лише цей комп’ютер", "this computer only"),
    "whole_network": ("уся мережа", "the whole network"),
    "https": ("Шифрування (HTTPS)", "Encryption (HTTPS)"),
    "hardened": ("Посилений захист (hardened)", "Hardened profile"),
    "keys_count": ("Ключів для програм", "Keys for programs"),
    "on": ("увімкнено", "on"),
    "off": ("вимкнено", "off"),
    "protection_text": (
        "Адресу й посилений захист задає файл конфігурації, решту можна змінити тут.",
        "The configuration file sets the address and the hardened profile; the rest can be changed here.",
    ),
    "allowed_hosts": ("Дозволені імена", "Allowed names"),
    "allowed_hosts_help": (
        "Імена, за якими каси звертаються до сервісу, крім імен його комп’ютера, через пробіл: kasa.shop.example",
        "Names by which tills call the service besides those of its computer, with blanks between: kasa.shop.example",
    ),
    "refused_host": ("Відхилено запити до невідомого імені", "Refused requests to an unknown name"),
    # people and what they may do
    "people": ("Хто входить", "People"),
    "add_person": ("Додати людину", "Add a person"),
    "person_sure": ("Видалити людину?", "Delete the person?"),
    "person_sure_text": ("Її сеанси одразу закінчаться.", "Their sessions end at once."),
    "role": ("Роль", "Role"),
    "role_text": (
        "Адміністратор: усе. Менеджер: звіти, чеки, стан пристроїв. Касир: робота на своїх касах. "
        "Інтегратор: завдання своїх пристроїв. Спостерігач: лише стан.",
        "Administrator: everything. Manager: reports, receipts, states of devices. Cashier: work on their registers. "
        "Integrator: tasks of their devices. Watcher: states only.",
    ),
    "role_devices": ("Дозволені пристрої", "Allowed devices"),
    "change": ("Налаштувати", "Change"),
    "own_password": ("Новий пароль", "New password"),
    "own_password_text": ("Після цього треба ввійти знову.", "You have to log in again afterwards."),
    "password_old": ("Теперішній пароль", "Current password"),
    "password_new": ("Новий пароль", "New password"),
    "password_kept": ("Порожнє поле лишає пароль, який є.", "An empty field keeps the password."),
    "passwords_differ": ("Паролі різні.", "The passwords differ."),
    "task_keys": ("Завдання лише з ключем або входом", "Tasks only with a key or a login"),
    "task_keys_text": (
        "Каси без ключа не пробиватимуть чеків: спершу створіть їм ключі.",
        "Tills without a key issue no receipts then: create their keys first.",
    ),
    # print forms of all registers
    "print_forms": ("Друковані форми", "Print forms"),
    "print_forms_text": (
        "Для всіх кас; на сторінці каси можна задати інші.",
        "For all registers; each register can have its own on its page.",
    ),
    "pf_charcount": ("Символів у рядку тексту", "Characters per line of text"),
    "pf_astext": ("Відповіді містять текст чека", "Answers contain the receipt as text"),
    "pf_asimage": ("Відповіді містять зображення чека", "Answers contain the receipt as a picture"),
    "pf_aspdf": ("Відповіді містять PDF чека", "Answers contain the receipt as PDF"),
    "pf_custom": ("Власні рядки навколо чека", "Your own lines around receipts"),
    "pf_custom_help": (
        "Шаблон: %center Дякуємо!, %receipt, %qr https://…; порожній видаляє його.",
        "A template: %center Thank you!, %receipt, %qr https://…; an empty field removes it.",
    ),
    # keys for programs
    "replace": ("Замінити", "Replace"),
    "replace_sure": ("Замінити ключ?", "Replace the key?"),
    "replace_sure_text": (
        "Старий ключ одразу перестане діяти; новий треба вписати в програму.",
        "The old key stops working at once; enter the new one in the program.",
    ),
    # files
    "choose_or_drop": ("Оберіть файл або перетягніть його сюди", "Choose a file, or drop it here"),
    "file_password": ("Пароль до файлу", "Password of the file"),
    "chosen": ("Обрано", "Chosen"),
    "no_file": ("спершу оберіть файл", "choose a file first"),
    # certificate
    "certificate_now": ("Сертифікат сервісу", "Certificate of the service"),
    "certificate_none": (
        "Сертифіката немає: сервіс працює через HTTP, дані в мережі не зашифровано.",
        "There is no certificate: the service uses HTTP, without encryption on the network.",
    ),
    "certificate_restart": (
        "Сертифікат встановлено. Перезапустіть сервіс: далі він працюватиме лише через https://.",
        "The certificate is installed. Restart the service: from then on it uses https:// only.",
    ),
    "certificate_gone": (
        "Сертифікат видалено. Після перезапуску сервіс працюватиме через http://.",
        "The certificate was removed. After a restart the service uses http://.",
    ),
    "certificate_broken": (
        "З цим сертифікатом сервіс не запуститься",
        "The service cannot start with this certificate",
    ),
    "made_for": ("Видано для", "Issued to"),
    "made_by": ("Ким видано", "Issued by"),
    "valid_to": ("Діє до", "Valid until"),
    "days_left": ("Залишилося днів", "Days left"),
    "fingerprint": ("Відбиток SHA-256", "SHA-256 fingerprint"),
    "certificate_upload": ("Встановити свій сертифікат", "Install your own certificate"),
    "certificate_upload_text": (
        "PEM (.pem, .crt) або PKCS#12 (.pfx, .p12). Новий сертифікат набирає чинності без розриву з’єднань.",
        "PEM (.pem, .crt) or PKCS#12 (.pfx, .p12). A renewed certificate takes effect without closing connections.",
    ),
    "certificate_file": ("Файл сертифіката", "Certificate file"),
    "certificate_key": ("Файл ключа, якщо він окремий", "Key file, if it is separate"),
    "install": ("Встановити", "Install"),
    "installed": ("Встановлено", "Installed"),
    "authority": ("Власний центр сертифікації", "Local certificate authority"),
    "authority_text": (
        "Для магазину без доменного імені. Сервіс створить центр сертифікації та сертифікат цього комп’ютера; центр "
        "треба додати до довірених на кожному комп’ютері з касовою програмою.",
        "For a shop without a domain name. The service creates an authority and a certificate for this computer; "
        "every computer with a till program has to trust the authority.",
    ),
    "authority_names": ("Інші імена й адреси цього комп’ютера", "Other names and addresses of this computer"),
    "authority_new": ("Новий центр", "A new authority"),
    "authority_new_text": (
        "Потрібен, коли в цього комп’ютера інше ім’я чи мережа. Його треба знову встановити на кожному комп’ютері.",
        "Needed when this computer has another name or network. It has to be installed on every machine again.",
    ),
    "authority_make": ("Створити сертифікат", "Create a certificate"),
    "authority_get": ("Завантажити сертифікат центру", "Download the authority's certificate"),
    "authority_trust": ("Як додати центр до довірених", "How to trust the authority"),
    "certificate_remove": ("Видалити сертифікат", "Remove the certificate"),
    "certificate_remove_sure": ("Видалити сертифікат?", "Remove the certificate?"),
    "certificate_remove_text": (
        "Після перезапуску сервіс працюватиме без шифрування.",
        "After a restart the service works without encryption.",
    ),
    # database
    "database_which": ("Тип бази", "Database type"),
    "database_place": ("Розташування", "Location"),
    "database_size": ("Розмір", "Size"),
    "database_revision": ("Версія схеми", "Schema version"),
    "database_receipts": ("Фіскальних документів", "Fiscal documents"),
    "database_operations": ("Записів журналу", "Journal entries"),
    "database_unfinished": ("Незавершених операцій", "Unfinished operations"),
    "database_oldest": ("Найдавніший документ", "Oldest document"),
    "database_check": ("Перевірити цілісність", "Check its integrity"),
    "database_check_text": (
        "Сервіс прочитає весь файл бази; каси тим часом працюють далі.",
        "The service reads the whole database file; tills go on meanwhile.",
    ),
    "database_checked": ("Остання перевірка", "Last check"),
    "database_whole": ("База не пошкоджена", "The database is intact"),
    "database_damaged": ("База пошкоджена", "The database is damaged"),
    "database_no_check": (
        "Цілісність цієї бази перевіряє її сервер.",
        "The server of this database checks its integrity.",
    ),
    "database_command": (
        "Резервна копія та перенесення до іншої бази: команди dmtwisted backup і dmtwisted db.",
        "Backups and moves to another database: the commands dmtwisted backup and dmtwisted db.",
    ),
    # backups
    "backups": ("Резервні копії", "Backups"),
    "backups_text": (
        "Копія містить усе: базу, ключі, сертифікат. Продажі тим часом тривають. Хто має копію, може підписувати "
        "чеки від імені магазину: бережіть її, як ключ.",
        "A backup contains everything: database, keys, certificate. Sales go on meanwhile. A backup is enough to "
        "sign as the shop: protect it like the key.",
    ),
    "back_up": ("Створити копію", "Create a backup"),
    "backup_running": ("Копія створюється", "A backup is being created"),
    "backup_failed": ("Копію не створено", "No backup was created"),
    "backup_checked": ("перевірено під час створення", "checked when it was created"),
    "backup_broken": ("пошкоджена", "damaged"),
    "no_backups": ("Копій ще немає", "There are no backups yet"),
    "backup_kept": (
        "Завантажити копію звідси можна, коли увімкнено вхід за паролем, а з іншого комп’ютера лише через HTTPS.",
        "A backup can be downloaded here when the login is on; from another computer only over HTTPS.",
    ),
    "restore_text": ("Відновлення, коли сервіс зупинено:", "To restore, with the service stopped:"),
    "days_short": ("дн", "days"),
    # log
    "log": ("Журнал роботи", "Log"),
    "log_text": (
        "Останні рядки, найновіші внизу. Номери карток і паролі в журнал не потрапляють.",
        "The last lines, the newest at the bottom. Card numbers and passwords never get into the log.",
    ),
    "log_empty": ("Рядків ще немає", "There are no lines yet"),
    "log_filter": ("Лише рядки з текстом", "Only lines with this text"),
    "log_refresh": ("Оновити", "Refresh"),
    "log_download": ("Завантажити журнал", "Download the log"),
    "diagnostics": ("Пакет для підтримки", "Support bundle"),
    "diagnostics_text": (
        "Один файл для служби підтримки: версії, конфігурація без паролів, стан пристроїв, незавершені операції, "
        "останні рядки журналу. Чеків, ключів і номерів карток у ньому немає.",
        "One file for support: versions, configuration without passwords, state of the devices, unfinished "
        "operations, the last lines of the log. It has no receipts, keys or card numbers.",
    ),
    "diagnostics_get": ("Завантажити пакет", "Download the bundle"),
    # signing keys of registers
    "signing_key": ("Ключ підпису", "Signing key"),
    "signing_key_none": (
        "Ключа ще немає: без нього каса не відкриє зміну.",
        "There is no key yet: the register cannot open a shift without one.",
    ),
    "key_owner": ("Власник", "Owner"),
    "key_serial": ("Номер сертифіката", "Serial number"),
    "key_file": ("Файл ключа (Key-6.dat, .pfx, .jks, .pk8)", "Key file (Key-6.dat, .pfx, .jks, .pk8)"),
    "key_certificates": ("Сертифікати, якщо їх немає у файлі ключа", "Certificates, if the key file has none"),
    "key_load": ("Завантажити ключ", "Load the key"),
    "key_loaded": ("Ключ завантажено", "The key is loaded"),
    "key_text": (
        "Змінити ключ можна, коли зміну закрито. Пароль ніде не зберігається.",
        "A key can be replaced while the shift is closed. The password is not stored.",
    ),
    "outlets": ("Об’єкти в податковій", "Outlets at the tax service"),
    "outlets_text": (
        "Податкова повертає каси, зареєстровані на цей ключ; обрану буде вписано в налаштування нижче.",
        "The tax service lists the registers of this key; your choice goes into the settings below.",
    ),
    "outlets_ask": ("Запитати податкову", "Query the tax service"),
    "outlet_take": ("Обрати", "Choose"),
    "outlet_none": ("Податкова не має об’єктів для цього ключа", "The tax service has no outlets for this key"),
    # check-up
    "doctor_text": (
        "Перевіряються конфігурація, файли, диск, годинник, сертифікат, база, ключі, податкова й кожен пристрій, без "
        "чеків і без грошей. Чек, що надійде саме тоді, каса попросить повторити.",
        "Checks configuration, files, disk, clock, certificate, database, keys, the tax service and every device, "
        "without receipts and without money. A receipt that comes at that moment has to be repeated.",
    ),
    "doctor_look": ("Перевірити все", "Check everything"),
    "doctor_looked": ("Перевірено", "Checked"),
    "doctor_good": ("гаразд", "OK"),
    "doctor_warn": ("зверніть увагу", "attention"),
    "doctor_bad": ("не працює", "does not work"),
    "doctor_done": ("Перевірку завершено", "The check is complete"),
    "doctor_mended": ("Виправлено", "Fixed"),
    "fix_permissions": ("Обмежити доступ", "Restrict access"),
    "fix_folder": ("Створити теку", "Create the folder"),
    "fix_certificate": ("Оновити сертифікат", "Renew the certificate"),
    "fix_backup": ("Створити резервну копію", "Create a backup"),
    # parts of a register's settings
    "part_money": ("Податкові групи та оплати", "Tax groups and payments"),
    "part_paper": ("Чек і друковані форми", "Receipt and print forms"),
    "part_offline": ("Офлайн", "Offline"),
    "part_batch": ("Зв’язок із терміналом і принтером", "Terminal and printer of the register"),
    "part_tax": ("Сервер податкової", "Tax service"),
    "part_rest": ("Решта налаштувань", "More settings"),
    # offline, in figures
    "offline_since": ("Офлайн із", "Offline since"),
    "offline_left": ("Залишилося часу офлайн", "Offline time left"),
    "offline_why": ("Чому офлайн", "Why it is offline"),
    "offline_by_itself": ("податкова не відповідала", "the tax service did not answer"),
    "offline_error": ("Не вдається повернутися в онлайн", "It cannot go back online"),
    "offline_month": ("Офлайн цього місяця", "Offline this month"),
    "offline_over": ("час вичерпано: закрийте зміну", "time is up: close the shift"),
    "hours_short": ("год", "h"),
    "minutes_short": ("хв", "min"),
    "step_signed": ("Підписано ключем каси", "Signed with the register's key"),
    "step_handed_in": (
        "Надіслано до податкової не пізніше кінця офлайн-сесії",
        "Sent to the tax service before the offline session ended",
    ),
    # drivers, where one is chosen
    "level_none": ("Не перевірено: рівень невідомий", "Not tested: the level is unknown"),
    "level_0": ("Рівень 0: небезпечний, не використовуйте", "Level 0: not safe, do not use it"),
    "level_1": (
        "Рівень 1: нічого не виконає двічі; після втраченої відповіді потрібна людина",
        "Level 1: does nothing twice; a lost answer needs a person",
    ),
    "level_2": (
        "Рівень 2: сам з’ясовує втрачену відповідь; не всі завдання",
        "Level 2: recovers a lost answer itself; not all tasks",
    ),
    "level_3": (
        "Рівень 3: сам з’ясовує втрачену відповідь; усі основні завдання",
        "Level 3: recovers a lost answer itself; all main tasks",
    ),
}
"""Ukrainian and English text by key."""
