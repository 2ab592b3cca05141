// The options of `roofline model`.
#include <unistd.h>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* model_examples = R"(examples:
  roofline model config.json                             parameters, FLOPs per token, KV cache, memory
  roofline model llama-3.1-70b --seq 8k                  a built-in model; --list names them
  roofline model config.json --weights int8 --kv-dtype fp8
  roofline model config.json --md --layers               one row per kind of layer
  roofline model config.json --png model.png             where parameters and FLOPs go
  roofline model model.safetensors.index.json            parameters in weight files, compared with the configuration
  roofline model model-q4_k_m.gguf                       the same; only headers are read
  roofline model config.json --seq 4k --program | roofline op - --on h100-sxm
  roofline model config.json --seq 4k --program --training --remat selective | roofline op - --on h100-sxm

)";

/// Reads a file in the same folder as `path`; returns an empty text if it does not exist.
Result<NamedText> beside(const std::string& path, const char* name) {
    const std::size_t slash = path.find_last_of('/');
    NamedText file{(slash == std::string::npos ? "" : path.substr(0, slash + 1)) + name, ""};
    if (::access(file.name.c_str(), F_OK) != 0) return NamedText{};
    ROOFLINE_TRY(file.text, read_file(file.name));
    return file;
}

/// Reads the headers of one weight file, or of all files that an index names, and the configuration next to them.
Status load_checkpoint(const std::string& path, ModelRequest& model) {
    std::vector<std::string> names{path};
    if (is_weight_index(path)) {
        ROOFLINE_TRY(auto text, read_file(path));
        ROOFLINE_TRY(auto shards, shard_names(text, path));
        model.checkpoint_index = {path, std::move(text)};
        names = std::move(shards);
        const std::size_t slash = path.find_last_of('/');
        for (std::string& name : names) name.insert(0, slash == std::string::npos ? "" : path.substr(0, slash + 1));
    }
    for (const std::string& name : names) {
        auto head = load_head(name);
        if (!head) {
            Error error = head.error();
            if (names.size() > 1) error.hint = "the index names it, and the headers of all files are needed";
            return fail(std::move(error));
        }
        model.checkpoint.push_back(std::move(*head));
    }
    ROOFLINE_TRY(auto config, beside(path, "config.json"));
    model.config = std::move(config);
    if (model.config.text.empty() && path.ends_with(".gguf")) {
        // the file describes its model itself, unless its architecture is one that has no program here
        if (auto own = load_model(path)) model.config = std::move(*own);
    }
    if (model.quantisation.name.empty() && !model.config.text.empty()) {
        ROOFLINE_TRY(model.quantisation, beside(path, "hf_quant_config.json"));
    }
    return {};
}

void add_model(CLI::App& app, Line& line) {
    ModelRequest& model = line.request<ModelRequest>();
    app.add_option("model", line.words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, a name, or files of weights: "
                   ".safetensors, their\n"
                   ".index.json, .gguf")
        ->type_name("CONFIG.json|NAME|WEIGHTS");
    app.add_option("--seq", model.sequence, "sequence length in tokens; default: the context of the configuration")
        ->type_name("TOKENS");
    app.add_option("--kv-dtype", model.kv_dtype, "dtype of the KV cache; default bf16")->type_name("DTYPE");
    app.add_option("--weights", model.weights,
                   "dtype of all parameters, or a file type of llama.cpp, such as Q4_K_M; default: as stored in the "
                   "checkpoint")
        ->type_name("DTYPE|FILETYPE");
    app.add_option("--quantisation", line.words.quantisation, "quantization configuration, if it is in a separate file")
        ->type_name("hf_quant_config.json");
    app.add_flag("--layers", model.layers, "with --csv or --md: one row per kind of layer instead of one per part");
    app.add_flag("--program", model.program, "print only the sized program in the notation");
    app.add_flag("--training", model.training, "with --program: a training step: forward, backward and Adam");
    app.add_option(
           "--remat", model.remat,
           "with --training: recomputation: none (default), selective (matmul results are kept), alternate (every "
           "second one is kept), full (only the inputs of layers are kept), or names of tensors that are kept")
        ->option_text("POLICY");
    app.add_flag("--list", model.list, "print only the known names and model types");
    add_plots(app, line.plots, "where parameters and FLOPs go");
    add_formats(app, line.words);
}

Result<What> model_request(Line& line) {
    ModelRequest& model = line.request<ModelRequest>();
    const std::string& word = line.words.model;
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    model.plot = line.plots.plot();
    model.page = line.plots.page();
    if (model.list) return What(std::move(model));
    if (model.training && !model.program) {
        return fail("usage", "--training requires --program", "add --program");
    }
    if (!model.remat.empty() && !model.training) {
        return fail("usage", "--remat requires --training", "add --program --training");
    }
    if (word.empty()) return fail("usage", "no model is given", "name its config.json; see roofline model --help");
    model.config.name = word;
    const bool of_model =
        !model.sequence.empty() || !model.kv_dtype.empty() || !model.weights.empty() || model.program || model.plot;
    if ((is_weight_file(word) || is_weight_index(word)) && !(of_model && word.ends_with(".gguf"))) {
        ROOFLINE_CHECK(load_checkpoint(word, model));
    } else {
        ROOFLINE_TRY(model.config, load_model(word));
    }
    if (!line.words.quantisation.empty()) {
        ROOFLINE_TRY(auto text, read_file(line.words.quantisation));
        model.quantisation = {line.words.quantisation, std::move(text)};
    }
    return What(std::move(model));
}

}  // namespace

const Command model_command{"model", "parameters, FLOPs and memory of a Transformer", model_examples, add_model,
                            model_request};

}  // namespace roofline::core::cli
