// Includes the scalar bodies, each file after those it uses.
#pragma once

#include "tensor/bodies/scalar_math.h"

#include "tensor/bodies/scalar_double.h"

#include "tensor/bodies/scalar_functions.h"

#include "tensor/bodies/scalar_angles.h"

#include "tensor/bodies/scalar_special.h"

#include "tensor/bodies/random_math.h"
