// The whole public interface: predictions of how long deep-learning computations take, what limits them, and why.
//
// The library starts no threads but those that PlanSearch::threads asks for, reads no clock, files or environment
// variables, prints nothing and throws no exceptions of its own; failures are returned as a Result. All functions may
// be called from several threads at once.
#pragma once

#include "roofline/collective.hpp"
#include "roofline/dtype.hpp"
#include "roofline/machine.hpp"
#include "roofline/model.hpp"
#include "roofline/plan.hpp"
#include "roofline/predict.hpp"
#include "roofline/program.hpp"
#include "roofline/result.hpp"
#include "roofline/serve.hpp"
#include "roofline/train.hpp"
#include "roofline/units.hpp"
