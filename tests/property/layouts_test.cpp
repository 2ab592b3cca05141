// Tests that no program with hand-written reshardings is faster than the chosen layout, by brute force over everything
// that the notation can express.
//
// ROOFLINE_LAYOUT_PROGRAMS=N tests N programs of each kind instead of a few; ROOFLINE_LAYOUT_SEED=N sets the random
// seed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bound/analysis.hpp"
#include "layout/lay_out.hpp"
#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

std::size_t from_environment(const char* name, std::size_t otherwise) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? otherwise : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

struct Place {
    const char* machine;
    const char* shape;
    std::vector<MeshAxis> mesh;
};

// Open and closed tori, NVLink, and nodes on a second tier; a mesh axis occupies one or several of their axes.
const std::vector<Place> places{
    {"tpu-v5e", "4x4", {{"X", 4}, {"Y", 4}}},
    {"tpu-v5e", "16x16", {{"X", 16}, {"Y", 16}}},
    {"tpu-v5e", "2x8", {{"X", 2}, {"Y", 8}}},
    {"tpu-v5p", "4x4x4", {{"X", 4}, {"Y", 16}}},
    {"tpu-v5p", "2x2x4", {{"X", 4}, {"Y", 4}}},
    {"h100-sxm", "8", {{"X", 2}, {"Y", 4}}},
    {"h100-sxm", "8x4", {{"X", 8}, {"Y", 4}}},
    {"h100-sxm", "8x2", {{"X", 4}, {"Y", 4}}},
    {"tpu-v5e", "4x4", {{"X", 16}}},
    {"h100-sxm", "8", {{"X", 8}}},
    {"h100-sxm", "8x2", {{"X", 16}}},
    {"tpu-v5e", "8x8", {{"X", 64}}},
};

const Place three_axes{"tpu-v5p", "4x4x4", {{"X", 4}, {"Y", 4}, {"Z", 4}}};

/// Mesh axes per dimension, in order, and mesh axes of partial sums.
struct Split {
    std::vector<std::string> dims;
    std::string sums;
};

struct Tensor {
    std::string name;
    std::vector<std::string> dims;
    Split split;
    std::string dtype = "bf16";
};

std::string type_of(const Tensor& tensor) {
    std::string text = tensor.dtype + "[";
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
        text += (d == 0 ? "" : ", ") + tensor.dims[d];
        if (!tensor.split.dims[d].empty()) text += "_" + tensor.split.dims[d];
    }
    return text + "]" + (tensor.split.sums.empty() ? "" : "{U_" + tensor.split.sums + "}");
}

// Assigns each axis to one dimension or to none, in random order.
Split random_split(Random& random, std::size_t rank, std::string axes, bool sums = false) {
    Split split{std::vector<std::string>(rank), ""};
    std::shuffle(axes.begin(), axes.end(), random);
    for (const char axis : axes) {
        const std::size_t place = below(random, rank + (sums ? 3 : 2));
        if (place < rank) split.dims[place] += axis;
        if (place == rank && sums) split.sums += axis;
    }
    return split;
}

// Enumerates all assignments of axes to dimensions or to none.
void all_splits(std::size_t rank, const std::string& axes, std::size_t next, Split& split, std::vector<Split>& all) {
    if (next == axes.size()) {
        all.push_back(split);
        return;
    }
    all_splits(rank, axes, next + 1, split, all);
    for (std::size_t d = 0; d < rank; ++d) {
        const std::string before = split.dims[d];
        for (std::size_t at = 0; at <= before.size(); ++at) {
            split.dims[d] = before.substr(0, at) + axes[next] + before.substr(at);
            all_splits(rank, axes, next + 1, split, all);
        }
        split.dims[d] = before;
    }
}

/// A matmul, or two matmuls where the second uses the result of the first.
struct Question {
    std::string head;  ///< declarations of the mesh and the sizes
    std::string axes;  ///< all axes that types may use
    Tensor a, w, v, o;
    std::vector<std::string> inner;  ///< dimensions of the result of the first of two matmuls
    bool two = false;
};

std::string declared(const Question& q) {
    std::string text = q.head + fmt::format("A : {}\nW : {}\n", type_of(q.a), type_of(q.w));
    return q.two ? text + fmt::format("V : {}\n", type_of(q.v)) : text;
}

std::string asked(const Question& q) {
    if (!q.two) return declared(q) + fmt::format("O : {} = A * W\n", type_of(q.o));
    return declared(q) + fmt::format("H = A *_D W\nO : {} = H * V\n", type_of(q.o));
}

// Returns the part of a split of all dimensions that applies to one tensor; axes of summed dimensions become partial
// sums of a result.
Split part_of(const Split& whole, const std::vector<std::string>& all, const std::vector<std::string>& dims,
              bool result) {
    Split part{std::vector<std::string>(dims.size()), ""};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto place = std::find(dims.begin(), dims.end(), all[i]) - dims.begin();
        if (static_cast<std::size_t>(place) < dims.size()) {
            part.dims[static_cast<std::size_t>(place)] = whole.dims[i];
        } else if (result) {
            part.sums += whole.dims[i];
        }
    }
    return part;
}

class Writer {
public:
    Writer(const Question& question, Random& random) : question_(question), random_(random) {
        text_ = declared(question);
    }

    // Reshards to another split, directly or through a random intermediate one.
    std::string resharded(const Tensor& tensor, const std::string& from, const Split& split, const std::string& last) {
        std::string name = from;
        if (below(random_, 3) == 0) {
            Split between = random_split(random_, tensor.dims.size(), question_.axes);
            name = assigned(tensor, between, name, "");
        }
        return assigned(tensor, split, name, last);
    }

    std::string product(const Tensor& a, const std::string& at, const Tensor& b, const std::string& bt, Tensor result,
                        const Split& split, const std::vector<std::string>& dims) {
        const std::string left = resharded(a, at, part_of(split, dims, a.dims, false), "");
        const std::string right = resharded(b, bt, part_of(split, dims, b.dims, false), "");
        result.split = part_of(split, dims, result.dims, true);
        const std::string name = fmt::format("T{}", next_++);
        text_ += fmt::format("{} : {} = {} * {}\n", name, type_of(result), left, right);
        return name;
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string assigned(Tensor tensor, const Split& split, const std::string& from, const std::string& last) {
        tensor.split = split;
        const std::string name = last.empty() ? fmt::format("T{}", next_++) : last;
        text_ += fmt::format("{} : {} = {}\n", name, type_of(tensor), from);
        return name;
    }

    const Question& question_;
    Random& random_;
    std::string text_;
    int next_ = 0;
};

double lower_of(const std::string& text, const Place& place, LayoutFreedom freedom) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), (to_text(program.error()) + text));
    System system;
    system.slice = make_slice(find_machine(place.machine).value(), place.shape).value();
    system.mesh = place_mesh(system.slice, place.mesh).value();
    Program local = *program;
    if (program->sharded()) {
        auto laid = lay_out(*program, system, {}, freedom);
        REQUIRE_MESSAGE(laid.has_value(), (to_text(laid.error()) + text));
        local = std::move(laid->local);
    }
    const auto analysis = analyse(*program, local, system, {{}, false, false});
    REQUIRE_MESSAGE(analysis.has_value(), (to_text(analysis.error()) + text));
    return analysis->total.bounds.lower;
}

Question random_question(Random& random, const Place& place, bool two) {
    Question q;
    q.two = two;
    std::string mesh;
    for (const MeshAxis& axis : place.mesh) {
        mesh += fmt::format("{}{}={}", mesh.empty() ? "mesh " : ", ", axis.name, axis.size);
        q.axes += axis.name;
    }
    const bool batched = below(random, 4) == 0;
    const auto dims = [&](std::vector<std::string> own) {
        if (batched) own.insert(own.begin(), "N");
        return own;
    };
    q.a = {"A", dims({"B", "D"}), {}};
    q.w = {"W", dims({"D", "F"}), {}};
    q.inner = dims({"B", "F"});
    q.v = {"V", dims({"F", "E"}), {}};
    q.o = {"O", two ? dims({"B", "E"}) : q.inner, {}};
    if (below(random, 4) == 0) q.w.dtype = "int8";
    std::string sizes;
    for (const char* dim : {"N", "B", "D", "F", "E"}) {
        const bool used = (*dim != 'N' || batched) && (*dim != 'E' || two);
        if (!used) continue;
        const std::size_t power = *dim == 'N' ? below(random, 7) : 5 + below(random, 11);
        sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ", ", dim, std::size_t{1} << power);
    }
    q.head = mesh + "\n" + sizes + "\n";
    std::string used;
    for (Tensor* tensor : {&q.a, &q.w, &q.v, &q.o}) {
        tensor->split = random_split(random, tensor->dims.size(), q.axes);
        if (tensor == &q.v && !two) continue;
        for (const std::string& axes : tensor->split.dims) used += axes;
    }
    std::erase_if(q.axes, [&](char axis) { return used.find(axis) == std::string::npos; });
    return q;
}

// Returns the best hand-written program, over all splits for one matmul and over `tries` random splits for two.
std::pair<double, std::string> best_by_hand(const Question& q, const Place& place, Random& random, std::size_t tries) {
    std::vector<std::string> first = q.inner;
    first.insert(first.end() - 1, "D");
    std::vector<std::string> second = q.inner;
    second.emplace_back("E");
    const auto splits = [&](std::size_t rank) {
        std::vector<Split> all;
        Split split{std::vector<std::string>(rank), ""};
        all_splits(rank, q.axes, 0, split, all);
        return all;
    };
    const std::vector<Split> firsts = splits(first.size());
    const std::vector<Split> seconds = splits(second.size());
    const Tensor inner{"H", q.inner, {}};
    std::pair<double, std::string> best{1e30, ""};
    for (std::size_t i = 0; i < (q.two ? tries : 2 * firsts.size()); ++i) {
        Writer writer(q, random);
        const Split& split = q.two ? firsts[below(random, firsts.size())] : firsts[i % firsts.size()];
        std::string made = writer.product(q.a, "A", q.w, "W", q.two ? inner : q.o, split, first);
        if (q.two) {
            const Split& then = seconds[below(random, seconds.size())];
            made = writer.product(inner, made, q.v, "V", q.o, then, second);
        }
        (void)writer.resharded(q.o, made, q.o.split, "O");
        const double lower = lower_of(writer.text(), place, LayoutFreedom::as_written);
        if (lower < best.first) best = {lower, writer.text()};
    }
    return best;
}

void try_programs(bool two, std::size_t count, std::size_t tries) {
    const std::size_t seed = from_environment("ROOFLINE_LAYOUT_SEED", 19);
    count = from_environment("ROOFLINE_LAYOUT_PROGRAMS", count);
    for (std::size_t i = 0; i < count; ++i) {
        Random random(seed * 1'000'000 + i);
        const Place& place = places[below(random, places.size())];
        const Question question = random_question(random, place, two);
        const std::string text = asked(question);
        const double answer = lower_of(text, place, LayoutFreedom::any);
        const auto [by_hand, program] = best_by_hand(question, place, random, tries);
        CHECK_MESSAGE(answer <= by_hand * (1 + 1e-9), place.machine << ":" << place.shape << " program " << i << "\n"
                                                                    << text << answer << " s, but by hand " << by_hand
                                                                    << " s:\n"
                                                                    << program);
    }
}

}  // namespace

TEST_CASE("no program with hand-written reshardings is faster than the chosen layout of one matmul") {
    try_programs(false, 60, 0);
}

TEST_CASE("no program with hand-written reshardings is faster than the chosen layout of two matmuls") {
    try_programs(true, 30, 40);
}

TEST_CASE(
    "over three mesh axes, where not all layouts are looked at, two products are laid out no worse than by hand") {
    struct Example {
        const char* declared;
        const char* asked;
        const char* by_hand;
    };
    const std::vector<Example> examples{
        {"B=4096, D=4096, F=512, E=64\nA : bf16[B_Y, D_X]\nW : bf16[D_Z, F]\nV : bf16[F, E_XZY]\n",
         "O : bf16[B, E_Y] = H * V\n",
         "A1 : bf16[B_Y, D_Z] = A\nW1 : bf16[D_Z, F_X] = W\nH1 : bf16[B_Y, F_X]{U_Z} = A1 * W1\n"
         "H2 : bf16[B_YX, F] = H1\nV1 : bf16[F, E] = V\nO1 : bf16[B_YX, E] = H2 * V1\nO : bf16[B, E_Y] = O1\n"},
        {"B=1000, D=16384, F=8192, E=24\nA : bf16[B, D_Z]{U_X}\nW : bf16[D_Y, F_Z]\nV : bf16[F, E_X]\n",
         "O : bf16[B, E_Z] = H * V\n",
         "A1 : bf16[B, D_Y] = A\nH1 : bf16[B, F_Z]{U_Y} = A1 * W\nH2 : bf16[B, F_Y] = H1\nV1 : bf16[F_Y, E] = V\n"
         "O1 : bf16[B, E]{U_Y} = H2 * V1\nO : bf16[B, E_Z] = O1\n"},
        {"B=8192, D=2048, F=7168, E=4096\nA : bf16[B_Y, D]\nW : bf16[D_ZX, F_Y]\nV : bf16[F_Y, E_X]\n",
         "O : bf16[B_ZX, E] = H * V\n",
         "A1 : bf16[B_YX, D] = A\nW1 : bf16[D_ZY, F_X] = W\nW2 : bf16[D, F_Z] = W1\nH1 : bf16[B_YX, F_Z] = A1 * W2\n"
         "H2 : bf16[B_X, F_Z] = H1\nV1 : bf16[F_Z, E_Y] = V\nO1 : bf16[B_X, E_Y]{U_Z} = H2 * V1\n"
         "O : bf16[B_ZX, E] = O1\n"},
        {"B=4096, D=1024, F=4096, E=256\nA : bf16[B_ZX, D]\nW : bf16[D_ZY, F]\nV : bf16[F_ZX, E_Y]\n",
         "O : bf16[B_Z, E_Y] = H * V\n",
         "A1 : bf16[B, D_Z] = A\nW1 : bf16[D_Z, F_X] = W\nH1 : bf16[B, F_X]{U_Z} = A1 * W1\n"
         "H2 : bf16[B_ZY, F_X] = H1\nV1 : bf16[F_X, E] = V\nO1 : bf16[B_ZY, E]{U_X} = H2 * V1\n"
         "O : bf16[B_Z, E_Y] = O1\n"},
    };
    for (const Example& each : examples) {
        const std::string head = std::string("mesh X=4, Y=4, Z=4\n") + each.declared;
        const double answer = lower_of(head + "H = A *_D W\n" + each.asked, three_axes, LayoutFreedom::any);
        const double by_hand = lower_of(head + each.by_hand, three_axes, LayoutFreedom::as_written);
        CHECK_MESSAGE(answer <= by_hand * (1 + 1e-9), each.declared << answer << " s, but by hand " << by_hand << " s");
    }
}
