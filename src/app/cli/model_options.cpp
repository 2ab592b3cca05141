// The words of `roofline model`.
#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::cli {

const char model_examples[] = R"(examples:
  roofline model config.json                             parameters, FLOPs a token, KV cache, memory
  roofline model llama-3.1-70b --seq 8k                  one that the program knows; --list names them
  roofline model config.json --weights int8 --kv-dtype fp8
  roofline model config.json --md --layers               a line for each kind of layers
  roofline model config.json --png model.png             where parameters and FLOPs go
  roofline model config.json --seq 4k --program | roofline op - --on h100-sxm
  roofline model config.json --seq 4k --program --training --remat selective | roofline op - --on h100-sxm

)";

void add_model(CLI::App& app, Line& line) {
    ModelRequest& model = line.model;
    app.add_option("model", line.words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME");
    app.add_option("--seq", model.sequence, "tokens of a sequence; the configuration's context if it is not given")
        ->type_name("TOKENS");
    app.add_option("--kv-dtype", model.kv_dtype, "the dtype of the KV cache; bf16 if it is not given")
        ->type_name("DTYPE");
    app.add_option("--weights", model.weights,
                   "the dtype of every parameter; as the checkpoint has them if it is not given")
        ->type_name("DTYPE");
    app.add_option("--quantisation", line.words.quantisation, "what is quantised, where a file of its own says it")
        ->type_name("hf_quant_config.json");
    app.add_flag("--layers", model.layers, "with --csv or --md: a line for each kind of layers, not for each part");
    app.add_flag("--program", model.program, "print the sized program in the notation, and nothing else");
    app.add_flag("--training", model.training, "with --program: a training step: forward, backward and Adam");
    app.add_option(
           "--remat", model.remat,
           "with --training: what the forward pass keeps: none is computed again (if it is not given), selective "
           "(results of products are kept), full (what goes from layer to layer), or names of tensors")
        ->option_text("POLICY");
    app.add_flag("--list", model.list, "print the names and model types that are known, and nothing else");
    add_plots(app, line.plots, "where parameters and FLOPs go");
    add_formats(app, line.words);
}

Result<What> model_request(Line& line) {
    ModelRequest& model = line.model;
    const std::string& word = line.words.model;
    if (auto status = check_plots(line.words, line.plots); !status) return fail(status.error());
    model.plot = !line.plots.svg.empty() || !line.plots.png.empty();
    if (model.list) return What(std::move(model));
    if (model.training && !model.program) {
        return fail("usage", "--training says which program is printed", "add --program");
    }
    if (!model.remat.empty() && !model.training) {
        return fail("usage", "--remat is what a training step keeps", "add --program --training");
    }
    if (word.empty()) return fail("usage", "no model is named", "name its config.json; see roofline model --help");
    model.config.name = word == "-" ? "standard input" : word;
    if (word == "-" || word.ends_with(".json") || word.find('/') != std::string::npos) {
        auto text = read_file(word);
        if (!text) return fail(text.error());
        model.config.text = std::move(*text);
    }
    if (!line.words.quantisation.empty()) {
        auto text = read_file(line.words.quantisation);
        if (!text) return fail(text.error());
        model.quantisation = {line.words.quantisation, std::move(*text)};
    }
    return What(std::move(model));
}

}  // namespace roofline::cli
