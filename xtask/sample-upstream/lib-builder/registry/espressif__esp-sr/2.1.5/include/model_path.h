#pragma once

/* Name of the wake word model, or NULL where none was chosen. */
const char *esp_srmodel_wake_word(void);
