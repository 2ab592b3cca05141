// A project that uses roofline only through find_package.
#include <cstdio>
#include <string>

#include "units/dtype.hpp"

int main() {
    const auto dtype = roofline::find_dtype("bfloat16");
    if (!dtype) return 1;
    const roofline::DtypeInfo& facts = roofline::info(*dtype);
    std::printf("%s takes %d bits\n", std::string(facts.name).c_str(), facts.bits);
}
