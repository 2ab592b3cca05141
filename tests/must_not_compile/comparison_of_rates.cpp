// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
bool faster = FlopRate{1} < Bandwidth{1};
#else
bool faster = FlopRate{1} < Bandwidth{1} * Intensity{1};
#endif
