// The options of `roofline model`.
#include <unistd.h>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* model_examples = R"(examples:
  roofline model config.json                             parameters, FLOPs a token, KV cache, memory
  roofline model llama-3.1-70b --seq 8k                  one that the program knows; --list names them
  roofline model config.json --weights int8 --kv-dtype fp8
  roofline model config.json --md --layers               a line for each kind of layers
  roofline model config.json --png model.png             where parameters and FLOPs go
  roofline model model.safetensors.index.json            what files of weights hold, beside their configuration
  roofline model model-q4_k_m.gguf                       likewise: only headers are read
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

Result<WeightFile> load_head(const std::string& path) {
    ROOFLINE_TRY(auto file, FileHead::open(path));
    WeightFile weights{path, "", file.size()};
    std::uint64_t wanted = wanted_head("", weights.size);
    while (wanted > weights.head.size()) {
        ROOFLINE_TRY(weights.head, file.read(wanted));
        if (weights.head.size() < wanted) break;
        wanted = wanted_head(weights.head, weights.size);
    }
    return weights;
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
            if (names.size() > 1) error.hint = "the index names it: sizes by dtype are in the headers of all its files";
            return fail(std::move(error));
        }
        model.checkpoint.push_back(std::move(*head));
    }
    ROOFLINE_TRY(auto config, beside(path, "config.json"));
    model.config = std::move(config);
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
           "(results of products are kept), alternate (every second of them), full (what goes from layer to layer), or "
           "names of tensors")
        ->option_text("POLICY");
    app.add_flag("--list", model.list, "print the names and model types that are known, and nothing else");
    add_plots(app, line.plots, "where parameters and FLOPs go");
    add_formats(app, line.words);
}

Result<What> model_request(Line& line) {
    ModelRequest& model = line.request<ModelRequest>();
    const std::string& word = line.words.model;
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    model.plot = !line.plots.svg.empty() || !line.plots.png.empty();
    if (model.list) return What(std::move(model));
    if (model.training && !model.program) {
        return fail("usage", "--training says which program is printed", "add --program");
    }
    if (!model.remat.empty() && !model.training) {
        return fail("usage", "--remat is what a training step keeps", "add --program --training");
    }
    if (word.empty()) return fail("usage", "no model is named", "name its config.json; see roofline model --help");
    model.config.name = word;
    if (is_weight_file(word) || is_weight_index(word)) {
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
