@echo off
rem Puts the stock libraries back. install.cmd, which has to be beside this file, knows how.
if exist "%~dp0install.cmd" goto :there
echo Not done: install.cmd has to be beside revert.cmd.
pause
exit /b 1
:there
"%~dp0install.cmd" /revert %*
