#include "app/handle_serve.hpp"

#include "app/serve_answer_of.hpp"
#include "report/op/explain.hpp"
#include "report/serve/serve_json.hpp"
#include "report/serve/serve_picture.hpp"
#include "report/serve/serve_text.hpp"

namespace roofline {

Result<Response> handle_serve(const ServeRequest& request, Format format) {
    if (request.machines.size() != 1) {
        return request.machines.empty()
                   ? fail("no_machine", "no machine is named",
                          "say which, with its slice: --on tpu-v5e:4x4; `roofline machine` lists them")
                   : fail("bad_request", "a model is served on one slice", "name one; ask again for another");
    }
    if (request.explain && format != Format::text) {
        return fail("bad_request", "--explain derives an answer in words", "leave --json, --csv or --md out");
    }
    auto answer = serve_answer_of(request);
    if (!answer) return fail(answer.error());
    Response response;
    response.exit_code = answer->capacity && !answer->fits ? 1 : 0;
    if (request.plot) response.svg = serve_picture(*answer);
    response.out = format == Format::json       ? serve_json(*answer)
                   : format == Format::csv      ? table_csv(frontier_table(*answer))
                   : format == Format::markdown ? table_markdown(frontier_table(*answer))
                                                : serve_text(*answer);
    if (request.explain) response.out += "\n" + explain_text(answer->decode);
    return response;
}

}  // namespace roofline
