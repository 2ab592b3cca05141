// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
Intensity intensity = Bytes{1} / Flops{1};
#else
Intensity intensity = Flops{1} / Bytes{1};
#endif
