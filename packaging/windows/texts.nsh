; The texts of the installer: each in both languages, which a test compares.

!macro text name uk en
  LangString ${name} ${LANG_UKRAINIAN} "${uk}"
  LangString ${name} ${LANG_ENGLISH} "${en}"
!macroend

!insertmacro text HELP \
  "Параметри:$\n/S без вікон$\n/PORT=3939 порт$\n/STATE=ТЕКА база, ключі й копії$\n/CONFIG=ФАЙЛ власна конфігурація$\n/FIREWALL дозволити каси на інших комп’ютерах$\n/D=ТЕКА програма; останній, без лапок" \
  "Options:$\n/S without windows$\n/PORT=3939 the port$\n/STATE=FOLDER database, keys and backups$\n/CONFIG=FILE your own configuration$\n/FIREWALL allow tills on other computers$\n/D=FOLDER the program; the last one, without quotes"
!insertmacro text ONLY_ONE "Встановлення вже запущено." "The installer already runs."
!insertmacro text TOO_OLD "Потрібні Windows 10, Server 2016 або новіші." "Windows 10, Server 2016 or later is needed."
!insertmacro text SHOP_TITLE "Касові програми" "Tills"
!insertmacro text SHOP_TEXT "Як касові програми звертаються до служби." "How tills reach the service."
!insertmacro text PORT_LABEL "Порт:" "Port:"
!insertmacro text FIREWALL_LABEL "Дозволити каси на інших комп’ютерах (брандмауер)" "Allow tills on other computers (firewall)"
!insertmacro text OPEN_PAGE "Відкрити сторінку служби" "Open the page of the service"
!insertmacro text MENU_PAGE "dmtwisted" "dmtwisted"
!insertmacro text MENU_DOCTOR "Перевірка dmtwisted" "Check dmtwisted"
!insertmacro text MENU_LOG "Журнал dmtwisted" "Log of dmtwisted"
!insertmacro text MENU_UNINSTALL "Видалити dmtwisted" "Uninstall dmtwisted"
!insertmacro text REFUSED \
  "Нічого не встановлено. Причина: $INSTDIR\setup.log" \
  "Nothing was installed. The reason: $INSTDIR\setup.log"
!insertmacro text FORMER_SERVES \
  "Нова версія не запустилася, тому працює попередня. Причина: $INSTDIR\setup.log" \
  "The new version did not start, so the former one runs again. The reason: $INSTDIR\setup.log"
!insertmacro text NOTHING_SERVES \
  "Не запустилися ні нова версія, ні попередня. Причина: $INSTDIR\setup.log" \
  "Neither the new version nor the former one started. The reason: $INSTDIR\setup.log"
!insertmacro text NOT_READY \
  "Програму встановлено, але служба не запустилася. Причина: $INSTDIR\setup.log" \
  "The program is installed, but the service did not start. The reason: $INSTDIR\setup.log"
!insertmacro text DELETE_DATA \
  "Видалити також чеки, ключі й налаштування?" \
  "Delete receipts, keys and settings too?"
!insertmacro text DELETE_REALLY \
  "Чеки треба зберігати за законом. Їх і ключі буде видалено назавжди. Видалити?" \
  "The law requires you to keep receipts. They and the keys will be gone for ever. Delete them?"
!insertmacro text NOT_REMOVED \
  "Служба не зупинилася, тому нічого не видалено." \
  "The service did not stop, so nothing was removed."

!macro entry name what
  CreateShortcut "${MENU}\${name}.lnk" "$Version\pythonw.exe" "-X utf8 -m dmtwisted.commands.main service show ${what}" \
    "$INSTDIR\uninstall.exe" 0
!macroend
