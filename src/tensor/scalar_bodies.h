// Includes the scalar bodies, each file after those it uses.
#pragma once

#include "tensor/scalar_math.h"

#include "tensor/scalar_functions.h"

#include "tensor/random_math.h"
