@echo off
rem Puts patched Arduino core libraries in the place of the stock ones. With /revert, as revert.cmd calls it: puts the
rem stock ones back. With /q it does not wait for a key at its end.
rem
rem The names are those of the tool (cargo xtask install): 3.3.12 is active, 3.3.12.stock is the kept original, .xip\new
rem is where work is done. A run may be cut off anywhere: the next one sees by these folders how far it came. Stock
rem libraries are only ever renamed between their two names.
rem
rem Names that a user chose may hold any character: they stand in quotes and are never given to "call". All else is named
rem relative to the current folder. Whether ren, move or rd did their work is seen by looking. Wine's cmd, under which this
rem is tested, takes the signs for "and" and "or" between commands for none: there is "if errorlevel" instead.
setlocal EnableExtensions DisableDelayedExpansion

rem >>> package: filled in by build-libs
set "CHIP=esp32s3"
set "CORE=3.3.12"
set "SUFFIX=xip-ecc"
rem SHA-256 of the zip; where it is empty, the .sha256 file beside the zip tells.
set "ZIP_SHA256="
rem SHA-256 of libs-manifest.json in the zip. That file lists all others with their hashes: it stands for the whole package.
set "MANIFEST_SHA256="
rem Number of files in the zip; where it is empty, its table tells.
set "FILES="
rem What to choose in the IDE's menu Tools, PSRAM.
set "PSRAM=OPI PSRAM"
rem <<< package

set "NAME=%CHIP%-libs-%CORE%-%SUFFIX%"
set "MANIFEST=libs-manifest.json"
rem Not what the PATH has: the tar of Git for Windows cannot unpack a zip.
set "TAR=%SystemRoot%\System32\tar.exe"
set "CERTUTIL=%SystemRoot%\System32\certutil.exe"
set "FINDSTR=%SystemRoot%\System32\findstr.exe"
set "HERE=%~dp0"
set "ACTION=install"
set "QUIET="
for %%a in (%*) do (
    if /i "%%~a"=="/revert" set "ACTION=revert"
    if /i "%%~a"=="/q" set "QUIET=1"
)
call :%ACTION%
set "CODE=%ERRORLEVEL%"
rem A double click opens a window that closes with the script.
if not defined QUIET pause
exit /b %CODE%

rem --- the two commands ---------------------------------------------------------------------------------------------------

:install
echo esp32 core %CORE%, %CHIP%: install the libraries with %SUFFIX%
call :enter_tools
if errorlevel 1 exit /b 1
call :look
if "%ACTIVE%"=="other" goto :not_libraries
if "%ACTIVE% %STOCK%"=="stock stock" (
    echo Not done: both %CORE% and %CORE%.stock hold unpatched libraries.
    echo Run this again. If it says the same, keep both, and move %CORE%.stock to another place.
    exit /b 1
)
if not "%ACTIVE%"=="patched" if not "%STOCK%"=="absent" if not "%STOCK%"=="stock" (
    echo Not done: %CORE%.stock does not hold stock libraries. Rename it and run this again.
    exit /b 1
)
if not exist "%TAR%" (
    echo Not done: this Windows has no tar.exe. Windows 10 has it from version 1803 on.
    exit /b 1
)
if not defined MANIFEST_SHA256 goto :install_package
call :hash %CORE%\%MANIFEST%
if /i "%HASH%"=="%MANIFEST_SHA256%" goto :already

:install_package
call :find_zip
if errorlevel 1 exit /b 1
call :begin
if errorlevel 1 exit /b 1
echo Unpacking
copy /b /y "%ZIP%" package.zip >nul
call :hash package.zip
if /i not "%HASH%"=="%EXPECTED%" goto :not_whole
%TAR% -xf package.zip
if errorlevel 1 goto :not_whole
echo Verifying
call :kind %CORE%
if not "%KIND%"=="patched" goto :not_whole
call :hash %CORE%\%MANIFEST%
set "NEW=%HASH%"
if not defined NEW goto :not_whole
if defined MANIFEST_SHA256 if /i not "%NEW%"=="%MANIFEST_SHA256%" goto :not_whole
if not defined FILES for /f %%l in ('%TAR% -tf package.zip') do set /a FILES+=1
set "UNPACKED=0"
for /r %CORE% %%f in (*) do set /a UNPACKED+=1
if not "%UNPACKED%"=="%FILES%" goto :not_whole
call :hash ..\..\%CORE%\%MANIFEST%
if /i "%HASH%"=="%NEW%" goto :already_begun

call :set_aside
if errorlevel 1 goto :in_use
move %CORE% ..\..\%CORE% >nul 2>nul
if exist %CORE%\ (
    ren ..\..\%ASIDE% %CORE% 2>nul
    goto :in_use
)
call :finish
echo.
echo Installed: core %CORE% builds for the %CHIP% with the patched libraries, %SUFFIX%, now.
echo Those that it had before are kept in %ASIDE%.
echo.
echo Next: start the Arduino IDE again.
if defined PSRAM echo For your board choose Tools, PSRAM: %PSRAM%.
echo The first compile takes longer, since the core is compiled anew. To go back, run revert.cmd.
exit /b 0

rem The end of a run that found its package in place; one that was cut off after that is finished.
:already
if not exist .xip\new\ if not exist .xip\old.script\ goto :already_said
call :begin
if errorlevel 1 exit /b 1
:already_begun
call :finish
:already_said
echo.
echo Already installed: these very libraries, %SUFFIX%, are in place.
exit /b 0

:revert
echo esp32 core %CORE%, %CHIP%: put the stock libraries back
call :enter_tools
if errorlevel 1 exit /b 1
call :look
if "%ACTIVE%"=="other" goto :not_libraries
if "%ACTIVE%"=="stock" goto :nothing_to_revert
if not "%STOCK%"=="stock" (
    echo Not done: there are no stock libraries to go back to in %CORE%.stock. Nothing was changed.
    echo To have them again: close the IDE, delete %CORE% in this folder, and in the Boards Manager remove and install
    echo esp32 %CORE%.
    exit /b 1
)
call :begin
if errorlevel 1 exit /b 1
call :kind ..\..\%CORE%
if "%KIND%"=="stock" goto :reverted
call :set_aside
if errorlevel 1 goto :in_use
ren ..\..\%CORE%.stock %CORE% 2>nul
if exist ..\..\%CORE%.stock\ (
    ren ..\..\%ASIDE% %CORE% 2>nul
    goto :in_use
)
echo The patched libraries are kept in %ASIDE%. Delete that folder if you do not want them again.
:reverted
call :finish
echo.
echo Reverted: the stock libraries of core %CORE% are back. Start the Arduino IDE again.
exit /b 0

rem A run that was cut off after its renames is finished.
:nothing_to_revert
if not exist .xip\new\ if not exist .xip\old.script\ goto :nothing_to_revert_said
call :begin
if errorlevel 1 exit /b 1
call :finish
:nothing_to_revert_said
echo.
echo Nothing to revert: the stock libraries are in place.
exit /b 0

rem --- how they end where they cannot do their work -----------------------------------------------------------------------

:not_libraries
echo Not done: %CORE% in this folder holds no libraries. It is left as it is.
exit /b 1

:not_whole
call :leave
echo Not done: the package could not be unpacked whole. Nothing was changed. Is the disk full?
exit /b 1

:in_use
call :leave
if exist %CORE%\ (
    echo Not done: a folder could not be renamed. Nothing was changed. Close the Arduino IDE and try again.
) else (
    echo Not done: a folder could not be renamed. Close the Arduino IDE and run this again: it puts all in order.
)
exit /b 1

rem --- what stands there --------------------------------------------------------------------------------------------------

rem Goes into the folder of this chip's libraries.
:enter_tools
set "DATA=%ARDUINO_DIRECTORIES_DATA%"
if not defined DATA set "DATA=%LOCALAPPDATA%\Arduino15"
set "TOOLS=packages\esp32\tools\%CHIP%-libs"
if not exist "%DATA%\" goto :no_core
cd /d "%DATA%"
if not exist "%TOOLS%\" goto :no_core
cd "%TOOLS%"
if not exist %CORE% if not exist %CORE%.stock goto :no_core
echo Libraries: "%CD%"
exit /b 0
:no_core
echo Not done: core esp32 %CORE% is not installed.
echo Install esp32 %CORE% in the Boards Manager, then run this again. Looked in
echo "%DATA%"
exit /b 1

rem Sets ACTIVE and STOCK to what the two folders hold.
:look
call :kind %CORE%
set "ACTIVE=%KIND%"
call :kind %CORE%.stock
set "STOCK=%KIND%"
exit /b 0

rem Sets KIND to what a folder holds: absent, stock, patched, or other, which is never touched.
:kind
set "KIND=absent"
if not exist %1 exit /b 0
set "KIND=other"
if not exist %1\flags\ exit /b 0
if not exist %1\include\ exit /b 0
if not exist %1\lib\ exit /b 0
for /d %%v in (%1\*_*) do if exist %%v\include\sdkconfig.h set "KIND=stock"
if "%KIND%"=="other" exit /b 0
call :setting %1 CONFIG_SPIRAM_XIP_FROM_PSRAM
if defined IS_ON set "KIND=patched"
rem Upstream's build leaves the last two, and no release has them: somebody built this.
for %%f in (%MANIFEST% dependencies.lock pioarduino-build.py) do if exist %1\%%f set "KIND=patched"
exit /b 0

rem Sets IS_ON where a setting is on in any memory variant of a libraries folder.
:setting
set "IS_ON="
for /d %%v in (%1\*_*) do (
    %FINDSTR% /r /c:"^#define %2 1" %%v\include\sdkconfig.h >nul 2>nul
    if not errorlevel 1 set "IS_ON=1"
)
exit /b 0

rem Sets HASH to the SHA-256 of a file. Older Windows puts blanks between its bytes.
:hash
set "HASH="
if not exist %1 exit /b 0
for /f "skip=1 delims=" %%h in ('%CERTUTIL% -hashfile %1 SHA256') do if not defined HASH set "HASH=%%h"
if defined HASH set "HASH=%HASH: =%"
exit /b 0

rem --- the package --------------------------------------------------------------------------------------------------------

rem Finds the zip by its content, for browsers change its name. Sets ZIP, and EXPECTED to its SHA-256.
:find_zip
set "DOWNLOADS="
set "KEY=HKCU\Software\Microsoft\Windows\CurrentVersion\Explorer\Shell Folders"
for /f "tokens=2*" %%a in ('reg query "%KEY%" /v {374DE290-123F-4565-9164-39C4925E467B} 2^>nul') do set "DOWNLOADS=%%b"
if not exist "%DOWNLOADS%\" set "DOWNLOADS=%USERPROFILE%\Downloads"
set "SUM=%TEMP%\xip-%RANDOM%.txt"
set "EXPECTED=%ZIP_SHA256%"
set "ZIP="
set "WRONG="
set "HINT="
set "FOLDER=%HERE%"
call :find_sum
set "FOLDER=%DOWNLOADS%"
call :find_sum
if not defined EXPECTED (
    echo Not done: nothing says what SHA-256 the package must have. Put %NAME%.zip.sha256 beside this script.
    exit /b 1
)
set "FOLDER=%HERE%"
call :search
set "FOLDER=%DOWNLOADS%"
if not defined ZIP call :search
if exist "%SUM%" del "%SUM%"
if defined ZIP exit /b 0
if defined WRONG (
    echo Not done: the package is not what it should be; its SHA-256 is wrong.
    echo Download it again, and this script too if the package is newer.
) else (
    echo Not done: there is no %NAME%.zip, neither beside this script nor in
    echo "%DOWNLOADS%"
)
if defined HINT echo %HINT%
exit /b 1

rem Takes the expected SHA-256 from the .sha256 file in FOLDER, where the script does not bring it.
:find_sum
if defined EXPECTED exit /b 0
if not exist "%FOLDER%\" exit /b 0
pushd "%FOLDER%"
if exist %NAME%.zip.sha256 for /f "usebackq" %%h in ("%NAME%.zip.sha256") do set "EXPECTED=%%h"
popd
exit /b 0

rem Looks at every zip in FOLDER whose name has ours in it.
:search
if not exist "%FOLDER%\" exit /b 0
pushd "%FOLDER%"
for %%f in (*%NAME%*.zip) do (
    set "FOUND=%%f"
    set "FULL=%%~ff"
    call :candidate
)
if exist *%NAME%*.crdownload set "HINT=It seems to be downloading still."
if exist *%NAME%*.zip.part set "HINT=It seems to be downloading still."
popd
exit /b 0

:candidate
if defined ZIP exit /b 0
echo Checking: "%FULL%"
set "HASH="
%CERTUTIL% -hashfile "%FOUND%" SHA256 >"%SUM%" 2>nul
for /f "usebackq skip=1 delims=" %%h in ("%SUM%") do if not defined HASH set "HASH=%%h"
if defined HASH set "HASH=%HASH: =%"
if /i "%HASH%"=="%EXPECTED%" (set "ZIP=%FULL%") else set "WRONG=1"
exit /b 0

rem --- the change ---------------------------------------------------------------------------------------------------------

rem Begins work: puts in order what an earlier run left, and goes into .xip\new. While a script is in there, Windows lets
rem nobody rename that folder: that is the lock between two scripts. The tool's lock makes a write to its file fail.
:begin
if not exist .xip\ md .xip 2>nul
if not exist .xip\ goto :read_only
call :write_lock 2>nul
if errorlevel 1 goto :busy
if exist .xip\old.script\ rd /s /q .xip\old.script 2>nul
if exist .xip\new\ ren .xip\new old.script 2>nul
if exist .xip\new\ goto :busy
if not exist %CORE% (
    ren %CORE%.stock %CORE% 2>nul
    echo An earlier run was cut off: %CORE%.stock is %CORE% again.
)
if not exist %CORE%\ (
    echo Not done: %CORE%.stock could not be renamed to %CORE%. Close the Arduino IDE and try again.
    exit /b 1
)
if exist .xip\old.script\ rd /s /q .xip\old.script 2>nul
md .xip\new 2>nul
if not exist .xip\new\ goto :read_only
cd .xip\new
exit /b 0
:read_only
echo Not done: this folder cannot be written to.
exit /b 1
:busy
echo Not done: another run is at work in this folder, or a program has .xip open. Wait for it, or close it.
exit /b 1

:write_lock
ver >nul
echo.>.xip\lock
exit /b %ERRORLEVEL%

rem Makes the name of the active folder free: stock libraries become CORE.stock, patched ones get their own name, and an
rem older patched folder of that name makes room. Sets ASIDE to the new name.
:set_aside
call :kind ..\..\%CORE%
set "ASIDE=%CORE%.stock"
if "%KIND%"=="patched" call :own_name
call :kind ..\..\%ASIDE%
if "%KIND%"=="patched" move ..\..\%ASIDE% old >nul 2>nul
if exist ..\..\%ASIDE% exit /b 1
ren ..\..\%CORE% %ASIDE% 2>nul
if not exist ..\..\%CORE% exit /b 0
if exist old\ move old ..\..\%ASIDE% >nul 2>nul
exit /b 1

rem Sets ASIDE to what the patched active folder is called when it is set aside.
:own_name
set "OWN="
if not exist ..\..\%CORE%\%MANIFEST% goto :own_name_by_hand
for /f "usebackq tokens=1,2 delims=:, " %%a in ("..\..\%CORE%\%MANIFEST%") do (
    if not defined OWN if "%%~a"=="suffix" set "OWN=%%~b"
)
:own_name_by_hand
if defined OWN goto :own_name_known
set "OWN=by-hand"
call :setting ..\..\%CORE% CONFIG_SPIRAM_ECC_ENABLE
if defined IS_ON set "OWN=xip-ecc"
:own_name_known
set "ASIDE=%CORE%.%OWN%"
exit /b 0

rem What follows the renames; the next run does it again where this one is cut off.
:finish
set "REMOVED=0"
set "CACHE=%ARDUINO_BUILD_CACHE_PATH%"
call :clear_cache
set "CACHE=%LOCALAPPDATA%\arduino"
call :clear_cache
set "CACHE=%TEMP%\arduino"
call :clear_cache
echo Compiled cores and sketches removed from the IDE's cache: %REMOVED%
:leave
cd ..\..
ren .xip\new old.script 2>nul
rd /s /q .xip\old.script 2>nul
exit /b 0

rem Removes from CACHE what was compiled with this core; the IDE would go on linking it.
:clear_cache
if not defined CACHE exit /b 0
if not exist "%CACHE%\" exit /b 0
pushd "%CACHE%"
for /d %%d in (cores\* sketches\*) do (
    set "ENTRY=%%d"
    call :clear_entry
)
popd
exit /b 0

rem An entry is known by its name, or, where that was too long and is a hash, by what it holds.
:clear_entry
set "OURS="
if /i "%ENTRY:~0,18%"=="cores\esp32_esp32_" set "OURS=1"
rem A name with an underscore is no hash.
if not "%ENTRY:_=%"=="%ENTRY%" goto :clear_ours
set "HAS=esp32-hal-"
set "FILE=%ENTRY%\core.a"
call :has
set "HAS=esp32:esp32:"
set "FILE=%ENTRY%\build.options.json"
call :has
:clear_ours
if not defined OURS exit /b 0
rd /s /q "%ENTRY%" 2>nul
if exist "%ENTRY%\" (
    echo Remove this yourself, it was compiled with the libraries before: "%CD%\%ENTRY%"
) else (
    set /a REMOVED+=1
)
exit /b 0

rem Sets OURS where FILE is there and has the text HAS in it.
:has
if not exist "%FILE%" exit /b 0
%FINDSTR% /m /c:"%HAS%" "%FILE%" >nul 2>nul
if not errorlevel 1 set "OURS=1"
exit /b 0
