#include "report/plot/shares.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot/plot_frame.hpp"

namespace roofline::core {

namespace {

constexpr double kLeft = 130;
constexpr double kBar = 34;
constexpr double kPitch = 62;
constexpr double kRow = 18;
constexpr std::size_t kMaxColours = 6;

constexpr std::string_view kSharesStyle = R"(
.rl-plot .piece{stroke:#fff;stroke-width:1.5;fill-opacity:.75}
.rl-plot .later{fill-opacity:.35}
@media (prefers-color-scheme:dark){.rl-plot .piece{stroke:#0d1117}}
)";

class SharesDrawing {
public:
    explicit SharesDrawing(const SharesPlot& plot) : plot_(plot) {
        for (const SharesBar& bar : plot.bars) {
            for (const SharesSegment& piece : bar.pieces) {
                const bool known = std::find(labels_.begin(), labels_.end(), piece.label) != labels_.end();
                if (drawable(piece.amount) && !known) labels_.push_back(piece.label);
            }
        }
    }

    std::string run() {
        double y = kFrameTop + 6;
        for (const SharesBar& bar : plot_.bars) {
            this->bar(bar, y);
            y += kPitch;
        }
        legend(y);
        const std::size_t rows = (labels_.size() + 3) / 4;
        const double height = y + kRow * static_cast<double>(rows) + 20;
        return plot_document(plot_.title, plot_.subtitle, description(), svg_.str(), {height, kSharesStyle});
    }

private:
    [[nodiscard]] std::string css(const std::string& label) const {
        const auto place = static_cast<std::size_t>(std::find(labels_.begin(), labels_.end(), label) - labels_.begin());
        return fmt::format("piece f{}{}", place % kMaxColours, place >= kMaxColours ? " later" : "");
    }

    static double whole(const SharesBar& bar) {
        double sum = 0;
        for (const SharesSegment& piece : bar.pieces) sum += drawable(piece.amount) ? piece.amount : 0;
        return sum;
    }

    void bar(const SharesBar& bar, double y) {
        svg_.text("label", {kLeft - 8, y + kBar / 2 - 7}, Anchor::end, fitted(bar.label, kFontSize, kLeft - 14));
        svg_.text("weak", {kLeft - 8, y + kBar / 2 + 8}, Anchor::end, fitted(bar.total, kFontSize, kLeft - 14));
        const double sum = whole(bar);
        if (sum <= 0) return;
        double x = kLeft;
        for (const SharesSegment& piece : bar.pieces) {
            if (!drawable(piece.amount)) continue;
            const double width = piece.amount / sum * (kFrameRight - kLeft);
            svg_.open_group("", fmt::format("{}: {} ({:.1f} %)", piece.label, piece.text, 100 * piece.amount / sum));
            svg_.rect(css(piece.label), x, y, width, kBar);
            const std::string text = fmt::format("{} {:.0f} %", piece.label, 100 * piece.amount / sum);
            if (text_width(text, kFontSize) < width - 6) {
                svg_.text("label", {x + width / 2, y + kBar / 2}, Anchor::middle, text);
            }
            svg_.close_group();
            x += width;
        }
    }

    void legend(double y) {
        for (std::size_t i = 0; i < labels_.size(); ++i) {
            const double x = kLeft + static_cast<double>(i % 4) * 142;
            const std::size_t above = i / 4;
            const double row = y + kRow * static_cast<double>(above);
            svg_.rect(css(labels_[i]), x, row - 5, 12, 10);
            svg_.text("label", {x + 18, row}, Anchor::start, fitted(labels_[i], kFontSize, 118));
        }
    }

    [[nodiscard]] std::string description() const {
        std::string text;
        for (const SharesBar& bar : plot_.bars) {
            const double sum = whole(bar);
            text += fmt::format("{}: {}\n", bar.label, bar.total);
            for (const SharesSegment& piece : bar.pieces) {
                if (!drawable(piece.amount)) continue;
                text += fmt::format("{} | {} | {:.2f} %\n", piece.label, piece.text, 100 * piece.amount / sum);
            }
        }
        return text;
    }

    const SharesPlot& plot_;
    std::vector<std::string> labels_;
    SvgWriter svg_;
};

}  // namespace

std::string to_svg(const SharesPlot& plot) { return SharesDrawing(plot).run(); }

}  // namespace roofline::core
