#pragma once

#define ROTATE(value, count) ((value) << (count) | (value) >> (32 - (count)))
