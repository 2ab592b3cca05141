// The options of `roofline completion`.
#include "app/cli/commands.hpp"
#include "app/cli/completion.hpp"
#include "machine/catalogue.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* completion_examples = R"(examples:
  source <(roofline completion bash)                        in ~/.bashrc
  roofline completion zsh > "${fpath[1]}/_roofline"
  roofline completion fish > ~/.config/fish/completions/roofline.fish

)";

void add_completion(CLI::App& app, Line& line) {
    app.add_option("shell", line.shell, "bash, zsh or fish")->type_name("SHELL")->required();
}

Result<What> completion_request(Line& line) {
    ROOFLINE_TRY(auto script, completion_script(*line.app, line.shell, machine_ids()));
    return script;
}

}  // namespace

const Command completion_command{"completion", "completion of commands, options and machines for a shell",
                                 completion_examples, add_completion, completion_request};

}  // namespace roofline::core::cli
