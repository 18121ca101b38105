/* Stands for a program of Windows that Wine 8 lacks (tar, certutil, findstr): NAME.exe runs the shell script NAME.sh beside it
 * with the same arguments, in the same folder, and ends with its exit code. */
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

typedef char *(CDECL *unix_name)(const WCHAR *path);
typedef LONG (CDECL *unix_spawn)(char *const words[], int wait);

int wmain(int argc, WCHAR **argv)
{
    unix_name name = (unix_name)(void *)GetProcAddress(GetModuleHandleA("kernel32"), "wine_get_unix_file_name");
    unix_spawn spawn = (unix_spawn)(void *)GetProcAddress(GetModuleHandleA("ntdll"), "__wine_unix_spawnvp");
    static char text[32][4096];
    char *words[34] = {"/bin/sh"};
    WCHAR self[MAX_PATH];

    if (!name || !spawn || argc > 32) {
        fprintf(stderr, "this runs under Wine only, with up to 31 arguments\n");
        return 99;
    }
    GetModuleFileNameW(NULL, self, MAX_PATH);
    wcscpy(wcsrchr(self, L'.'), L".sh");
    words[1] = name(self);
    for (int i = 1; i < argc; i++) {
        WideCharToMultiByte(CP_UTF8, 0, argv[i], -1, text[i], sizeof text[i], NULL, NULL);
        words[i + 1] = text[i];
    }
    return (int)spawn(words, 1);
}
