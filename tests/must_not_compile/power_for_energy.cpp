// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
Joules energy = Power{1};
#else
Joules energy = Power{1} * Seconds{1};
#endif
