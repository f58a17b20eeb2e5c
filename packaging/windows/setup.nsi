; The installer for Windows, made by packaging/windows/build.sh. It lays files out and shows windows; what happens to the
; service is Python: dmtwisted/windows/setup.py. A version lies in a folder of its own beside the former one, which is
; deleted when the new one serves.
;
; Defined by the caller: VERSION, NUMBER (four parts), TREE (the folder to install), OUT, SIZE (of the tree, in KiB).

; A 32-bit one would do nothing under a Wine that is only for 64 bits.
Target amd64-unicode
!include MUI2.nsh
!include FileFunc.nsh
!include LogicLib.nsh
!include WinVer.nsh
!include nsDialogs.nsh

Name "dmtwisted ${VERSION}"
OutFile "${OUT}"
InstallDir "$PROGRAMFILES64\dmtwisted"
InstallDirRegKey HKLM Software\dmtwisted Folder
RequestExecutionLevel admin
ManifestSupportedOS all
ManifestDPIAware true
ShowInstDetails show
BrandingText "dmtwisted ${VERSION}"
!ifdef QUICK
  SetCompress off
!else
  SetCompressor /SOLID lzma
  SetCompressorDictSize 64
!endif
!ifdef SIGN
  !finalize '${SIGN} "%1"' = 0
  !uninstfinalize '${SIGN} "%1"' = 0
!endif

VIProductVersion ${NUMBER}
VIFileVersion ${NUMBER}
VIAddVersionKey ProductName dmtwisted
VIAddVersionKey ProductVersion ${VERSION}
VIAddVersionKey FileVersion ${VERSION}
VIAddVersionKey FileDescription "dmtwisted: fiscal registers, terminals, printers"
VIAddVersionKey CompanyName dmtwisted
VIAddVersionKey LegalCopyright "MIT licence"

!define ENTRY Software\Microsoft\Windows\CurrentVersion\Uninstall\dmtwisted
!define MENU "$SMPROGRAMS\dmtwisted"

Var Version   ; the folder of this version
Var Options   ; the command line for Python
Var Port
Var Firewall
Var Status

!define MUI_ICON dmtwisted.ico
!define MUI_UNICON dmtwisted.ico
!define MUI_ABORTWARNING
!insertmacro MUI_PAGE_WELCOME
Page custom showShop leaveShop
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN
!define MUI_FINISHPAGE_RUN_TEXT $(OPEN_PAGE)
!define MUI_FINISHPAGE_RUN_FUNCTION openPage
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
; The first one is for a Windows in any third language.
!insertmacro MUI_LANGUAGE Ukrainian
!insertmacro MUI_LANGUAGE English
!include texts.nsh

; Runs a command of `dmtwisted service` with $Options; its exit status, or "error", is then in $Status.
!macro service command
  StrCpy $9 $Options
  System::Call 'kernel32::SetEnvironmentVariable(t "DMTWISTED_SETUP", t r9)'
  SetOutPath $Version
  nsExec::ExecToLog '"$Version\python.exe" -X utf8 -m dmtwisted.commands.main service ${command}'
  Pop $Status
  SetOutPath $TEMP
!macroend

; An error with its exit status; silently only that.
!macro fail status text
  SetErrorLevel ${status}
  MessageBox MB_OK|MB_ICONSTOP "${text}" /SD IDOK
  Abort
!macroend

Function .onInit
  System::Call 'kernel32::CreateMutex(p 0, i 0, t "dmtwisted-setup") p .r1 ?e'
  Pop $0
  ${If} $0 = 183
    !insertmacro fail 5 $(ONLY_ONE)
  ${EndIf}
  ${IfNot} ${AtLeastWin10}
    !insertmacro fail 5 $(TOO_OLD)
  ${EndIf}
  ${GetParameters} $Options
  ClearErrors
  ${GetOptions} $Options "/?" $0
  ${IfNot} ${Errors}
    MessageBox MB_OK $(HELP) /SD IDOK
    Abort
  ${EndIf}
  ClearErrors
  ${GetOptions} $Options "/PORT=" $Port
FunctionEnd

; Port and firewall are asked when there is nothing yet that says them.
Function showShop
  ReadRegStr $0 HKLM Software\dmtwisted Version
  ReadEnvStr $1 PROGRAMDATA
  ClearErrors
  ${GetOptions} $Options "/CONFIG=" $2
  ${If} $0 != ""
  ${OrIf} ${FileExists} "$1\dmtwisted\dmtwisted.toml"
  ${OrIfNot} ${Errors}
    StrCpy $Port ""
    Abort
  ${EndIf}
  ${If} $Port == ""
    StrCpy $Port 3939
  ${EndIf}
  !insertmacro MUI_HEADER_TEXT $(SHOP_TITLE) $(SHOP_TEXT)
  nsDialogs::Create 1018
  Pop $0
  ${NSD_CreateLabel} 0 0 100% 12u $(PORT_LABEL)
  Pop $0
  ${NSD_CreateNumber} 0 14u 40u 12u $Port
  Pop $1
  ${NSD_CreateCheckbox} 0 40u 100% 12u $(FIREWALL_LABEL)
  Pop $2
  nsDialogs::Show
FunctionEnd

Function leaveShop
  ${NSD_GetText} $1 $Port
  ${NSD_GetState} $2 $Firewall
FunctionEnd

Function openPage
  ; By the desktop's own process: ours has an administrator's rights, and the browser must not.
  Exec '"$WINDIR\explorer.exe" "${MENU}\$(MENU_PAGE).lnk"'
FunctionEnd

Section
  SetShellVarContext all
  StrCpy $Version "$INSTDIR\versions\${VERSION}"
  StrCpy $1 1
  ${While} ${FileExists} "$Version\*.*"
    IntOp $1 $1 + 1
    StrCpy $Version "$INSTDIR\versions\${VERSION}-$1"
  ${EndWhile}
  SetOutPath $Version
  ClearErrors
  File /r "${TREE}/*"
  ${If} ${Errors}
    StrCpy $Status 5
  ${Else}
    ${IfNot} ${Silent}
    ${AndIf} $Port != ""
      ${GetOptions} $Options "/PORT=" $0
      ${If} ${Errors}
        StrCpy $Options "$Options /PORT=$Port"
      ${EndIf}
      ${If} $Firewall = 1
        StrCpy $Options "$Options /FIREWALL"
      ${EndIf}
    ${EndIf}
    !insertmacro service setup
  ${EndIf}
  ${If} $Status != 0
  ${AndIf} $Status != 6
    RMDir /r $Version
    ${If} $Status == 3
      !insertmacro fail 3 $(FORMER_SERVES)
    ${ElseIf} $Status == 4
      !insertmacro fail 4 $(NOTHING_SERVES)
    ${EndIf}
    !insertmacro fail 5 $(REFUSED)
  ${EndIf}

  FileOpen $0 "$INSTDIR\dmtwisted.cmd" w
  FileWrite $0 '@"$Version\python.exe" -X utf8 -m dmtwisted.commands.main %*$\r$\n'
  FileClose $0
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKLM Software\dmtwisted Folder $INSTDIR
  WriteRegStr HKLM Software\dmtwisted Version $Version
  RMDir /r "${MENU}"
  CreateDirectory "${MENU}"
  !insertmacro entry $(MENU_PAGE) page
  !insertmacro entry $(MENU_DOCTOR) doctor
  !insertmacro entry $(MENU_LOG) log
  CreateShortcut "${MENU}\$(MENU_UNINSTALL).lnk" "$INSTDIR\uninstall.exe"
  WriteRegStr HKLM ${ENTRY} DisplayName dmtwisted
  WriteRegStr HKLM ${ENTRY} DisplayVersion ${VERSION}
  WriteRegStr HKLM ${ENTRY} Publisher dmtwisted
  WriteRegStr HKLM ${ENTRY} DisplayIcon "$INSTDIR\uninstall.exe"
  WriteRegStr HKLM ${ENTRY} InstallLocation $INSTDIR
  WriteRegStr HKLM ${ENTRY} UninstallString '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKLM ${ENTRY} QuietUninstallString '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKLM ${ENTRY} EstimatedSize ${SIZE}
  WriteRegDWORD HKLM ${ENTRY} NoModify 1
  WriteRegDWORD HKLM ${ENTRY} NoRepair 1
  ${If} $Status == 6
    !insertmacro fail 6 $(NOT_READY)
  ${EndIf}
SectionEnd

Function un.onInit
  ${GetParameters} $Options
FunctionEnd

Section Uninstall
  SetShellVarContext all
  ; The receipts go only if a person says so twice, or /DELETE-DATA does.
  MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 $(DELETE_DATA) /SD IDNO IDNO keep
  MessageBox MB_YESNO|MB_ICONEXCLAMATION|MB_DEFBUTTON2 $(DELETE_REALLY) IDNO keep
  StrCpy $Options "$Options /DELETE-DATA"
  keep:
  ReadRegStr $Version HKLM Software\dmtwisted Version
  !insertmacro service uninstall
  ${If} $Status != 0
    ; Without the interpreter nobody could ever remove the rest.
    ${If} ${FileExists} "$Version\python.exe"
      !insertmacro fail 5 $(NOT_REMOVED)
    ${EndIf}
    nsExec::ExecToLog 'sc.exe delete dmtwisted'
    Pop $0
  ${EndIf}
  RMDir /r "$INSTDIR\versions"
  Delete "$INSTDIR\dmtwisted.cmd"
  Delete "$INSTDIR\setup.log"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  RMDir /r "${MENU}"
  DeleteRegKey HKLM ${ENTRY}
  DeleteRegKey HKLM Software\dmtwisted
SectionEnd
