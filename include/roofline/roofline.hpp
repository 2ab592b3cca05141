// How long deep-learning computations take, what limits them and why: all of the library.
//
// It starts no thread, reads no clock, no file and no environment, prints nothing and throws nothing of its own: what
// can go wrong comes back as a Result. All of it may be called from many threads at once.
#pragma once

#include "roofline/collective.hpp"
#include "roofline/dtype.hpp"
#include "roofline/machine.hpp"
#include "roofline/model.hpp"
#include "roofline/predict.hpp"
#include "roofline/program.hpp"
#include "roofline/result.hpp"
#include "roofline/serve.hpp"
#include "roofline/train.hpp"
#include "roofline/units.hpp"
