// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
auto sum = Seconds{1} + Bytes{1};
#else
auto sum = Seconds{1} + Bytes{1} / Bandwidth{1};
#endif
