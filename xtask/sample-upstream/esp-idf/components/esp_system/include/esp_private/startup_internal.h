#pragma once

void call_start_cpu0(void);
void start_cpu0(void);
