#include "report/plot/png.hpp"

#ifdef ROOFLINE_HAVE_RSVG

#include <dlfcn.h>
#include <fmt/format.h>
#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

namespace roofline::core {
namespace {

constexpr double kMaxPixels = 16384;  // maximum length of a side; the limit of cairo is 32767

struct SharedLibrary {
    void* handle = nullptr;
    std::string missing;  ///< the reason if it could not be loaded

    explicit SharedLibrary(const char* name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (handle == nullptr) {
            const char* reason = dlerror();
            missing = reason == nullptr ? name : reason;
        }
    }
};

/// The functions of the libraries under their own names. The libraries are never unloaded because GLib registers types
/// that must outlive them.
struct Renderer {
    std::string missing;
    decltype(&rsvg_handle_new_from_data) new_from_data = nullptr;
    decltype(&rsvg_handle_get_intrinsic_size_in_pixels) get_size = nullptr;
    decltype(&rsvg_handle_render_document) render = nullptr;
    decltype(&cairo_image_surface_create) create_surface = nullptr;
    decltype(&cairo_surface_status) surface_status = nullptr;
    decltype(&cairo_surface_destroy) destroy_surface = nullptr;
    decltype(&cairo_surface_write_to_png_stream) write_png = nullptr;
    decltype(&cairo_create) create_context = nullptr;
    decltype(&cairo_destroy) destroy_context = nullptr;
    decltype(&cairo_set_source_rgb) set_colour = nullptr;
    decltype(&cairo_paint) paint = nullptr;
    decltype(&g_object_unref) unref = nullptr;
    decltype(&g_error_free) free_error = nullptr;

    Renderer();

private:
    template <class F>
    void find(const SharedLibrary& library, const char* name, F& function) {
        if (library.handle == nullptr) {
            missing = library.missing;
            return;
        }
        function = reinterpret_cast<F>(dlsym(library.handle, name));
        if (function == nullptr) missing = fmt::format("{} is not in the installed library", name);
    }
};

Renderer::Renderer() {
    const SharedLibrary rsvg("librsvg-2.so.2");
    const SharedLibrary cairo("libcairo.so.2");
    const SharedLibrary gobject("libgobject-2.0.so.0");
    const SharedLibrary glib("libglib-2.0.so.0");
    find(rsvg, "rsvg_handle_new_from_data", new_from_data);
    find(rsvg, "rsvg_handle_get_intrinsic_size_in_pixels", get_size);
    find(rsvg, "rsvg_handle_render_document", render);
    find(cairo, "cairo_image_surface_create", create_surface);
    find(cairo, "cairo_surface_status", surface_status);
    find(cairo, "cairo_surface_destroy", destroy_surface);
    find(cairo, "cairo_surface_write_to_png_stream", write_png);
    find(cairo, "cairo_create", create_context);
    find(cairo, "cairo_destroy", destroy_context);
    find(cairo, "cairo_set_source_rgb", set_colour);
    find(cairo, "cairo_paint", paint);
    find(gobject, "g_object_unref", unref);
    find(glib, "g_error_free", free_error);
}

const Renderer& renderer() {
    static const Renderer loaded;
    return loaded;
}

cairo_status_t append(void* closure, const unsigned char* data, unsigned int length) {
    static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
}

tl::unexpected<Error> bad_svg(const Renderer& r, GError* error) {
    std::string message = "the SVG cannot be drawn";
    if (error != nullptr) {
        message += fmt::format(": {}", error->message);
        r.free_error(error);
    }
    return fail("bad_svg", std::move(message));
}

/// Draws on a white surface of this many pixels and encodes it as PNG.
Result<std::string> draw(const Renderer& r, RsvgHandle* handle, int width, int height) {
    const std::unique_ptr<cairo_surface_t, decltype(r.destroy_surface)> surface(
        r.create_surface(CAIRO_FORMAT_RGB24, width, height), r.destroy_surface);
    const std::unique_ptr<cairo_t, decltype(r.destroy_context)> context(r.create_context(surface.get()),
                                                                        r.destroy_context);
    if (r.surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
        return fail("picture_too_large", "no memory for the picture");
    r.set_colour(context.get(), 1, 1, 1);
    r.paint(context.get());
    const RsvgRectangle viewport{0, 0, static_cast<double>(width), static_cast<double>(height)};
    GError* error = nullptr;
    if (r.render(handle, context.get(), &viewport, &error) == FALSE) return bad_svg(r, error);
    std::string png;
    if (r.write_png(surface.get(), append, &png) != CAIRO_STATUS_SUCCESS)
        return fail("bad_svg", "the PNG cannot be encoded");
    return png;
}

}  // namespace

Result<std::string> svg_to_png(std::string_view svg, double scale) {
    if (!(scale > 0 && scale <= 16)) return fail("bad_scale", "the scale of a PNG must be above 0 and at most 16");
    const Renderer& r = renderer();
    if (!r.missing.empty()) {
        return fail("no_png", fmt::format("PNG needs librsvg, which cannot be loaded: {}", r.missing),
                    "install it (Debian: apt install librsvg2-2), or write SVG");
    }
    if (svg.empty()) return fail("bad_svg", "the SVG is empty");
    GError* error = nullptr;
    const std::unique_ptr<RsvgHandle, decltype(r.unref)> handle(
        r.new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error), r.unref);
    if (!handle) return bad_svg(r, error);
    double width = 0;
    double height = 0;
    if (r.get_size(handle.get(), &width, &height) == FALSE) return fail("bad_svg", "the SVG has no size in pixels");
    width = std::ceil(width * scale);
    height = std::ceil(height * scale);
    if (!(width >= 1 && height >= 1)) return fail("bad_svg", "the SVG has no area");
    if (width > kMaxPixels || height > kMaxPixels) {
        return fail("picture_too_large", fmt::format("a PNG of {:.0f} x {:.0f} pixels is too large", width, height),
                    fmt::format("the longer side may have at most {:.0f} pixels; choose a smaller scale", kMaxPixels));
    }
    return draw(r, handle.get(), static_cast<int>(width), static_cast<int>(height));
}

}  // namespace roofline::core

#else

namespace roofline::core {

Result<std::string> svg_to_png(std::string_view, double) {
    return fail("no_png", "this build has no PNG output: librsvg's headers were not found when it was built",
                "install them (Debian: apt install librsvg2-dev) and build again, or write SVG");
}

}  // namespace roofline::core

#endif
