// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
Seconds duration = 1.0;
#else
Seconds duration{1.0};
#endif
