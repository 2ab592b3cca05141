// refused: conversion from .* requested|could not convert|no viable conversion|no match for|invalid operands
#include "roofline/units.hpp"

using namespace roofline;

#ifdef MUST_NOT_COMPILE
Seconds duration = Bytes{1} / FlopRate{1};
#else
Seconds duration = Bytes{1} / Bandwidth{1};
#endif
