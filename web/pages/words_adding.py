"""Texts of the pages on which devices are found and added."""

from __future__ import annotations

ADDING: dict[str, tuple[str, str]] = {
    # what there is to add
    "add_register": ("Інша каса", "Another register"),
    "about_register": (
        "Навчальна каса, або каса стороннього драйвера",
        "For practice, or of another package's driver",
    ),
    "add_printer": ("Принтер чеків", "A receipt printer"),
    "about_printer": ("За моделлю: Epson, Star, Citizen та інші", "By its model: Epson, Star, Citizen and others"),
    "add_terminal": ("Банківський термінал", "A bank terminal"),
    "about_terminal": (
        "За банком: ПриватБанк, monobank, Ощадбанк та інші",
        "By its bank: PrivatBank, monobank and others",
    ),
    "add_other": ("Інший пристрій", "Another device"),
    "about_other": ("Для нього встановлено сторонній драйвер", "A driver for it is installed"),
    "without_driver": ("Чого додавати не треба", "What is not added here"),
    "about_scanner": (
        "Сканер штрихкодів: працює як клавіатура, тому під’єднайте його до комп’ютера касира.",
        "A bar code scanner types like a keyboard: plug it into the cashier's computer.",
    ),
    "about_display": (
        "Дисплей покупця: цей сервіс ним не керує. Не додавайте його як принтер, бо чеки загубляться; ним керує "
        "програма каси.",
        "A customer display is driven by the till's program, not by this service. Do not add it as a printer: "
        "receipts would be lost.",
    ),
    "about_scales": (
        "Ваги: драйверів для них немає. Вагу вводить касир або передає програма каси.",
        "Scales have no driver here. The cashier enters the weight, or the till's program sends it.",
    ),
    # what is found
    "found_title": ("Знайдено", "Found"),
    "found_nothing": (
        "До цього комп’ютера нічого не під’єднано. Під’єднайте пристрій і оновіть сторінку, пошукайте в мережі, або "
        "оберіть нижче.",
        "Nothing is connected to this computer. Connect the device and reload the page, search the network, or "
        "choose below.",
    ),
    "found_printer": ("Принтер", "Printer"),
    "found_terminal": ("Банківський термінал", "Bank terminal"),
    "found_serial": ("COM-порт", "Serial port"),
    "found_add": ("Додати", "Add"),
    "found_add_printer": ("Тут принтер", "It is a printer"),
    "found_add_terminal": ("Тут термінал", "It is a terminal"),
    "found_here_already": ("Уже додано", "Already added"),
    "found_answers": ("Відповідає, можна додавати", "It answers and can be added"),
    "found_silent_printer": (
        "Порт відкритий, а стан не повідомляє: так роблять багато недорогих принтерів",
        "The port is open, but it does not tell its state, like many cheap printers",
    ),
    "found_silent_terminal": (
        "Порт відкритий. Якщо термінал зайнятий іншою програмою, закрийте її",
        "The port is open. If another program uses the terminal, close it",
    ),
    "found_printers": ("Шукати принтери в мережі", "Search the network for printers"),
    "found_printers_text": (
        "Сервіс запитає стан у пристроїв своєї локальної мережі; нічого не друкується. Це триває кілька секунд.",
        "The service asks the devices of its local network for their state; nothing is printed. It takes seconds.",
    ),
    "found_host": ("Адреса термінала", "Address of the terminal"),
    "found_host_text": (
        "Вона є в меню термінала, у розділі мережі. Сервіс спробує порти відомих протоколів; оплата не починається.",
        "The terminal's menu shows it under network. The service tries the ports that it knows; no payment starts.",
    ),
    "found_terminals": ("Перевірити адресу", "Try the address"),
    "found_stop": ("Зупинити", "Stop"),
    "found_progress": ("Шукаю", "Searching"),
    "found_none_printers": (
        "Принтерів у мережі не знайдено. Перевірте, чи принтер увімкнено і чи він у тій самій мережі.",
        "No printer was found. See that the printer is on, and in the same network.",
    ),
    "found_none_terminals": (
        "За цією адресою жоден відомий порт не відкритий. Перевірте адресу й чи банк увімкнув роботу з касою.",
        "None of the known ports is open there. See that the address is right and that the bank has switched on the "
        "link to a till.",
    ),
    "found_cancelled": ("Пошук зупинено", "The search was stopped"),
    "found_late": ("Час вийшов: перевірено не всі адреси", "Time is up: not all addresses were tried"),
    "found_no_network": (
        "Цей комп’ютер не має локальної мережі, у якій можна шукати",
        "This computer has no local network to search",
    ),
    # which register is there
    "find_out": ("Дізнатися швидкість і модель", "Find out speed and model"),
    "find_out_nobody": (
        "Ніхто не відповів. Перевірте, що касу ввімкнено, кабель і порт.",
        "Nobody answered. See that the register is on, and check cable and port.",
    ),
    "find_out_closed": (
        "Цю лінію не відкрити. Перевірте порт чи адресу й чи не зайняла їх інша програма.",
        "This line cannot be opened. Check the port or the address, and whether another program uses it.",
    ),
    "find_out_late": ("Час вийшов: перевірено не все", "Time is up: not everything was tried"),
    "find_out_cancelled": ("Пошук зупинено", "The search was stopped"),
    "find_out_speed": ("швидкість", "speed"),
    "find_out_save": ("Натисніть «Зберегти».", "Press “Save”."),
    "find_out_other": ("Для цього апарата потрібен інший драйвер.", "This register needs another driver."),
    "find_out_add": ("Додати з цим драйвером", "Add it with that driver"),
    # a terminal by its bank, a printer by its maker
    "which_bank": ("Чий термінал?", "Which bank is it from?"),
    "which_maker": ("Чий принтер?", "Who made it?"),
    "which_protocol": ("Або за протоколом", "Or by its protocol"),
    "bank_ways": (
        "Термінали цього банку, з якими працює сервіс:",
        "Terminals of this bank that the service works with:",
    ),
    "bank_others": ("Цього протоколу сервіс не має", "The service does not have this protocol"),
    "bank_others_text": (
        "Якщо термінал працює лише за ним, попросіть банк увімкнути інший протокол зі списку нижче або замінити "
        "термінал.",
        "If the terminal has no other one, ask the bank to switch on a protocol of the list below, or for another "
        "terminal.",
    ),
    "bank_unknown": (
        "За яким протоколом працюють термінали цього банку, нам не відомо.",
        "Which protocol the terminals of this bank have is not known to us.",
    ),
    "bank_ask": (
        "Спитайте банк: «За яким протоколом і на якому порту термінал працює з касою (ECR)?» Протокол оберіть нижче.",
        "Ask the bank: “By which protocol does the terminal work with a till (ECR), and on which port?” Choose the "
        "answer below.",
    ),
    "way_privatbank-json": ("Термінал ПриватБанку", "A terminal of PrivatBank"),
    "way_privatbank-json_text": ("Мережа або COM-порт", "Network or COM port"),
    "way_ssi-json": ("Термінал на Android (Servus, SSI)", "A terminal with Android (Servus, SSI)"),
    "way_ssi-json_text": ("Мережа або COM-порт", "Network or COM port"),
    "way_bpos1": ("Термінал Ingenico з програмою ECRCommX", "An Ingenico terminal with ECRCommX"),
    "way_bpos1_text": (
        "Програму дає банк; вона працює лише у Windows",
        "The bank gives the program, which runs on Windows only",
    ),
    "way_caisse-ap": ("Термінал у мережі (Concert V3)", "A terminal in the network (Concert V3)"),
    "way_caisse-ap_text": ("Протокол Caisse-AP over IP", "Protocol Caisse-AP over IP"),
    "way_concert-v2": ("Термінал на COM-порту (Telium)", "A terminal on a COM port (Telium)"),
    "way_concert-v2_text": ("Протокол Concert V2", "Protocol Concert V2"),
    "names_for_programs": ("Назви налаштувань для програм", "Names of the settings for programs"),
    # a register at the tax service, step by step
    "tax_register": ("Каса в податковій (ПРРО)", "A register at the tax service"),
    "tax_register_text": (
        "Чотири кроки, близько хвилини. До останнього кроку податкова не отримує жодного документа.",
        "Four steps, about a minute. Until the last one the tax service gets no document.",
    ),
    "wizard_key": ("Ключ касира", "The cashier's key"),
    "wizard_key_text": (
        "Оберіть файл ключа й введіть його пароль. Сервіс покаже, чий це ключ, і запитає в податкової, які каси за "
        "ним записано. Поки що нічого не зберігається.",
        "Choose the key file and enter its password. The service shows whose key it is, and asks the tax service "
        "which registers it may use. Nothing is stored yet.",
    ),
    "wizard_password_text": (
        "Той, який ви задали, коли отримували ключ. Пароль ніде не зберігається.",
        "The one that was set when the key was made. It is not stored.",
    ),
    "wizard_special": ("Особливі випадки", "Special cases"),
    "wizard_server": ("Інший сервер податкової", "Another tax server"),
    "wizard_server_text": (
        "Лише для навчання: адреса симулятора, наприклад http://127.0.0.1:8609/fs",
        "For practice only: the address of a simulator, like http://127.0.0.1:8609/fs",
    ),
    "wizard_cabinet_server": ("Інший сервер кабінету", "Another server of the cabinet"),
    "wizard_cabinet_server_text": (
        "Лише для навчання протоколу Б, наприклад http://127.0.0.1:9443",
        "For practice of protocol B only, like http://127.0.0.1:9443",
    ),
    "wizard_by_hand": (
        "Ввести все вручну, або ключ тримає агент підпису",
        "Enter everything by hand, or a signing agent keeps the key",
    ),
    "wizard_examine": ("Перевірити ключ", "Check the key"),
    "wizard_examining": ("Читаю ключ і питаю податкову…", "Reading the key and asking the tax service…"),
    "wizard_key_good": ("Ключ підходить", "The key is good"),
    "wizard_key_bad": ("Ключ не підійшов", "The key is no use"),
    "wizard_key_bad_text": (
        "Перевірте розкладку й великі літери пароля, або оберіть інший файл: ключ зазвичай називається Key-6.dat чи "
        "закінчується на .pfx, .jks, .pk8.",
        "Check the keyboard layout and the capitals of the password, or choose another file: a key is usually called "
        "Key-6.dat, or ends with .pfx, .jks, .pk8.",
    ),
    "wizard_tax_silent": ("Податкова не сказала, які каси за ним", "The tax service did not tell its registers"),
    "wizard_tax_silent_text": (
        "Перевірте, чи є інтернет на цьому комп’ютері, і натисніть «Перевірити ключ» ще раз за кілька хвилин: файл і "
        "пароль залишаються у формі.",
        "See that this computer has internet, and press “Check the key” again in a few minutes: file and password "
        "stay in the form.",
    ),
    "wizard_go_cabinet": ("Касу зареєстровано на сервері кабінету", "The register is at the cabinet's server"),
    "wizard_cabinet": ("Каса на сервері кабінету (протокол Б)", "A register at the cabinet's server (protocol B)"),
    "wizard_cabinet_text": (
        "Касу зареєстровано там, або її немає серед показаних? Введіть її фіскальний номер: списку кас цей сервер не "
        "має.",
        "Is the register registered there, or not among those shown? Enter its fiscal number: this server has no "
        "list of registers.",
    ),
    "wizard_number": ("Фіскальний номер каси", "Fiscal number of the register"),
    "wizard_ask_cabinet": ("Запитати сервер кабінету", "Ask the cabinet's server"),
    "wizard_cabinet_refused": ("Сервер кабінету не показав каси", "The cabinet's server did not show the register"),
    "wizard_cabinet_refused_text": (
        "Звірте номер з кабінетом і перевірте, чи подано ключ за формою № 5-ПРРО. Якщо сервер не відповів, повторіть "
        "за кілька хвилин.",
        "Compare the number with the cabinet, and see that the key was announced by form № 5-ПРРО. If the server did "
        "not answer, repeat in a few minutes.",
    ),
    "wizard_other_key": ("Інший ключ", "Another key"),
    "wizard_choose": ("Каса", "The register"),
    "wizard_choose_text": (
        "Ось що податкова знає за цим ключем. Оберіть касу, яка працюватиме на цьому комп’ютері.",
        "This is what the tax service has for the key. Choose the register that this computer is for.",
    ),
    "wizard_here_already": ("уже додано", "already added"),
    "wizard_open_elsewhere": (
        "Зміна цієї каси відкрита: нею працює інша програма або комп’ютер. Закрийте зміну там (Z-звіт), а потім "
        "відкривайте тут.",
        "The shift of this register is open: another program or computer uses it. Close it there (Z-report), then "
        "open it here.",
    ),
    "wizard_no_registers": (
        "На цій точці немає діючих кас. Зареєструйте касу в електронному кабінеті й поверніться сюди.",
        "This outlet has no active register. Register one in the taxpayer's cabinet and come back.",
    ),
    "wizard_key_unknown": (
        "Податкова не знає цього ключа. Перевірте, що це ключ вашої фірми, і подайте його за формою № 5-ПРРО в "
        "електронному кабінеті; після прийняття натисніть «Інший ключ» і перевірте ще раз.",
        "The tax service does not know this key. See that it is your firm's, and announce it by form № 5-ПРРО in the "
        "taxpayer's cabinet; once it is accepted, press “Another key” and check again.",
    ),
    "wizard_other_firm": (
        "Інші каси тут належать іншому платнику. Перевірте, що це ключ вашої фірми. Податкові номери інших кас",
        "The other registers here belong to another taxpayer. See that this is your firm's key. Their tax numbers",
    ),
    "wizard_register": ("Каса", "Register"),
    "wizard_other_register": ("Інша каса", "Another register"),
    "wizard_save": ("Зберегти", "Save"),
    "wizard_save_text": (
        "Сервіс запише касу з даними податкової і свій ключ, зашифрований. Назву бачать касири; нею касу називають і "
        "програми.",
        "The service stores the register with the data of the tax service, and its key, sealed. Cashiers see the "
        "name; programs name the register by it.",
    ),
    "wizard_offline": ("Продавати й без зв’язку з податковою", "Sell without a link to the tax service, too"),
    "wizard_offline_text": (
        "Чеки отримають офлайн-номери й підуть до податкової, щойно зв’язок повернеться. Це можна змінити потім.",
        "Receipts get offline numbers and go to the tax service when it answers again. You can change this later.",
    ),
    "wizard_open": ("Відкрити зміну", "Open the shift"),
    "wizard_open_text": (
        "Касу збережено. Відкриття зміни є першим документом, який отримає податкова. Можна відкрити й пізніше.",
        "The register is stored. The opening of the shift is the first document that the tax service gets; it can "
        "wait.",
    ),
    "wizard_later": ("Відкрити пізніше", "Open it later"),
    "wizard_ready": ("Зміну відкрито, можна продавати", "The shift is open: the register can sell"),
    "wizard_ready_text": (
        "Касові дії та звіти є на сторінці каси. Додайте ще принтер і термінал, якщо вони є.",
        "Its page has the cash actions and reports. Add a printer and a terminal too, if you have them.",
    ),
}
"""Ukrainian and English text by key."""
