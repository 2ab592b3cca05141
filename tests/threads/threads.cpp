// Calls the library from many threads that share its objects: each thread must get the answers that a single thread
// gets. The preset `threads` builds it with ThreadSanitizer, which also detects races that did no harm in this run.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "roofline/roofline.hpp"

namespace {

using namespace roofline;

using Question = std::function<std::string()>;

std::string answer(const Result<Prediction>& prediction) {
    return prediction ? prediction->to_json() : to_text(prediction.error());
}

std::vector<Question> questions() {
    const Machine chip = Machine::find("h100-sxm").value();
    const Machine other = Machine::find("tpu-v5e").value().with("hbm.bandwidth", "1TB/s").value();
    const System slice = System::slice(chip, "8x2").value();
    const Program matmul = Program::parse("bf16[B, D] * bf16[D, F] -> bf16[B, F]").value();
    const Program sized = matmul.with_sizes({{"B", 256}, {"D", 4096}, {"F", 4096}}).value();
    const Program sharded = Program::parse("bf16[B, D] * bf16[D, F_X] -> bf16[B, F]")
                                .value()
                                .with_sizes({{"B", 4096}, {"D", 8192}, {"F", 8192}})
                                .value();
    const System meshed = slice.with_mesh({{"X", 16}}).value();
    const Model model = Model::find("llama-3.1-8b").value();
    const Prediction shared = predict(sharded, meshed).value();
    TrainingOptions training;
    training.batch_tokens = 1 << 19;
    ServingSetup serving;
    return {
        [=] { return answer(predict(sized, chip)); },
        [=] { return answer(predict(sized, other)); },
        [=] { return answer(predict(matmul, chip)); },
        [=] { return answer(predict(sharded, meshed)); },
        [=] { return answer(predict(sharded, chip)); },  // fails with an error
        [=] { return shared.to_json(); },
        [=] { return Machine::find("b200-sxm").value().name() + Machine::find("h100-sxn").error().hint; },
        [=] { return Model::find("mixtral-8x7b").value().program().text(); },
        [=] { return predict_training(model, slice, training).value().to_json(); },
        [=] { return predict_serving(model, chip, serving).value().to_json(); },
    };
}

}  // namespace

int main() {
    const std::vector<Question> all = questions();
    std::vector<std::string> alone;
    for (const Question& question : all) alone.push_back(question());
    constexpr std::size_t threads = 8;
    std::vector<std::vector<std::string>> together(threads, std::vector<std::string>(all.size()));
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            // Each thread begins with another question.
            for (std::size_t i = 0; i < all.size(); ++i) {
                const std::size_t which = (i + thread) % all.size();
                together[thread][which] = all[which]();
            }
        });
    }
    for (std::thread& thread : running) thread.join();
    const auto wrong =
        std::count_if(together.begin(), together.end(), [&](const auto& answers) { return answers != alone; });
    std::printf("%d passed, %d failed\n", static_cast<int>(threads) - static_cast<int>(wrong), static_cast<int>(wrong));
    return wrong == 0 ? 0 : 1;
}
