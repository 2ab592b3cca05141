#include "import/profile/public_text.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("paths are shown without the folders that tell who recorded a profile") {
    CHECK(public_path("/usr/lib/python3/site-packages/flax/linen/linear.py:259") == "flax/linen/linear.py:259");
    CHECK(public_path("/home/alice/venv/lib/python3.12/dist-packages/jax/_src/lax.py:1") == "jax/_src/lax.py:1");
    CHECK(public_path("/home/alice/run/train.py:4") == "run/train.py:4");
    CHECK(public_path("/home/alice/train.py:4") == "train.py:4");
    CHECK(public_path("/alice/train.py:4") == "train.py:4");
    CHECK(public_path("/shared/users/alice/train.py") == "train.py");
    CHECK(public_path("/root/train.py") == "train.py");
    CHECK(public_path("~/train.py") == "train.py");
    CHECK(public_path("C:\\Users\\alice\\train.py") == "train.py");
    CHECK(public_path("C:\\Users\\alice\\run\\train.py") == "run/train.py");
    CHECK(public_path("src/model/train.py:4") == "model/train.py:4");
    CHECK(public_path("train.py:42") == "train.py:42");
    CHECK(public_path("/") == "");
    CHECK(public_path("") == "");
}

TEST_CASE("paths in other texts are shown so, and names of layers stay") {
    CHECK(without_paths("forward (/home/alice/run/train.py: step)") == "forward (run/train.py: step)");
    CHECK(without_paths("/tmp/torchinductor_alice/ab/cab.py: call") == "ab/cab.py: call");
    CHECK(without_paths("load C:\\Users\\alice\\w.bin") == "load w.bin");
    CHECK(without_paths("/model/layers.0/self_attn/MatMul") == "/model/layers.0/self_attn/MatMul");
    CHECK(without_paths("jit(step)/layer/dot_general") == "jit(step)/layer/dot_general");
    CHECK(without_paths("void f<int, 4>(float const*, float / 2)") == "void f<int, 4>(float const*, float / 2)");
    CHECK(without_paths("a / b /") == "a / b /");
}
