#pragma once

typedef void *_lock_t;

void _lock_acquire(_lock_t *lock);
void _lock_release(_lock_t *lock);
