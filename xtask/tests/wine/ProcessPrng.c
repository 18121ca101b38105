/* bcryptprimitives.dll for tests under Wine 8, which has none: the one function that Rust's standard library takes from it. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
    return RtlGenRandom(data, (ULONG)length);
}
