#include "report/page/page_style.hpp"

namespace roofline::core {

namespace {

// Colours are those of the pictures (plot_frame.cpp); text has a contrast of at least 4.5:1 against its background.
constexpr std::string_view style = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--weak:#57606a;--line:#d5d9df;--soft:#f4f6f8;--accent:#0072b2;
--link:#00609a;--bound:#b04a00}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6e9ed;--weak:#a3acb7;--line:#333a43;--soft:#1c222a;
--accent:#3d9fe0;--link:#6bbcf2;--bound:#ff9d57}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 "Helvetica Neue",Helvetica,Arial,"Liberation Sans",
"DejaVu Sans",sans-serif}
header,main,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.75rem}
.kind{margin:0;color:var(--weak);font-size:.875rem}
h1{margin:.15rem 0 .35rem;font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}
.question{margin:0 0 1rem;font-size:1.1rem;color:var(--weak);overflow-wrap:anywhere}
h2{margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--line);font-size:1.2rem;line-height:1.3;
overflow-wrap:anywhere}
h3{margin:1.1rem 0 .25rem;font-size:1rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
ul{margin:.5rem 0;padding-left:1.25rem}
li{margin:.3rem 0;overflow-wrap:anywhere}
a{color:var(--link)}
.headline{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.75rem;margin:1.25rem 0}
.headline>div{padding:.7rem .9rem;background:var(--soft);border:1px solid var(--line);border-radius:.5rem}
.headline dt{color:var(--weak);font-size:.875rem}
.headline dd{margin:0;font-size:1.5rem;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.headline dd.long{font-size:1.05rem;line-height:1.4}
.headline dd.remark{color:var(--weak);font-size:.8125rem;font-weight:400;line-height:1.4}
table{border-collapse:collapse;font-size:.9rem}
caption{padding:.3rem 0;text-align:left;color:var(--weak)}
th,td{padding:.28rem .7rem .28rem 0;text-align:left;vertical-align:top}
td,.facts th{font-variant-numeric:tabular-nums}
.r{text-align:right}
.facts{width:100%}
.facts th{width:9.5rem;color:var(--weak);font-weight:400}
.facts td.value{width:8rem;text-align:right;font-weight:600;white-space:nowrap}
.facts td.remark{padding-left:.4rem;overflow-wrap:anywhere}
.facts td.wide{overflow-wrap:anywhere}
.share{display:inline-block;width:7rem;height:.6rem;margin-right:.5rem;background:var(--soft);vertical-align:baseline}
.share rect{fill:var(--accent)}
.scroll{overflow-x:auto;margin:.6rem 0}
.scroll:focus-visible,button:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.data{min-width:100%}
.data th{border-bottom:2px solid var(--line);color:var(--weak);font-weight:600;vertical-align:bottom;white-space:nowrap}
.data td{border-bottom:1px solid var(--line);white-space:nowrap}
.data td.words{min-width:11rem;max-width:26rem;white-space:normal;overflow-wrap:anywhere}
.data th:last-child,.data td:last-child{padding-right:0}
.data th button{all:unset;cursor:pointer;font:inherit;color:inherit}
.data th button::after{content:"";display:inline-block;width:.9em;text-align:center}
.data th[aria-sort=ascending] button::after{content:"\2191"}
.data th[aria-sort=descending] button::after{content:"\2193"}
.data th button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
figure{margin:1rem 0}
.picture{overflow-x:auto}
.picture svg{display:block;width:100%;max-width:56rem;min-width:30rem;height:auto}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--link)}
code,pre,.lines{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace}
pre{margin:.6rem 0;padding:.7rem .9rem;background:var(--soft);border:1px solid var(--line);border-radius:.4rem;
font-size:.8125rem;line-height:1.45;white-space:pre-wrap;overflow-wrap:anywhere}
.lines{font-size:.8125rem;line-height:1.5}
.lines p{margin:.15rem 0;white-space:pre-wrap}
.lines h3{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif}
.l2{padding-left:1.5rem}
.l3{padding-left:3rem}
.l4{padding-left:4.5rem}
.warning{padding:.6rem .9rem;border-left:4px solid var(--bound);background:var(--soft)}
footer{margin-top:2.5rem;padding-top:.75rem;padding-bottom:2.5rem;color:var(--weak);font-size:.8125rem}
#tip{position:absolute;z-index:9;max-width:22rem;padding:.35rem .6rem;border-radius:.35rem;background:var(--ink);
color:var(--paper);font-size:.8125rem;line-height:1.4;overflow-wrap:anywhere;pointer-events:none}
#tip[hidden]{display:none}
@media (max-width:40rem){
body{font-size:15px}
header,main,footer{padding-left:.9rem;padding-right:.9rem}
h1{font-size:1.3rem}
.headline{grid-template-columns:repeat(2,minmax(0,1fr));gap:.5rem}
.headline>div{padding:.55rem .65rem}
.headline dd{font-size:1.2rem}
.facts,.facts tbody{display:block}
.facts tr{display:grid;grid-template-columns:1fr auto;padding:.3rem 0;border-bottom:1px solid var(--line)}
.facts th,.facts td{width:auto;padding:0}
.facts td.value{width:auto}
.facts td.remark,.facts td.wide{grid-column:1/-1;padding-left:0;font-size:.875rem}
.facts td.remark:empty,.facts th:empty,.facts td.value:empty{display:none}
.facts th:empty+td.value{grid-column:1/-1;text-align:left}
.data td.words{min-width:8rem}
}
@media print{
:root{--paper:#fff;--ink:#000;--weak:#444;--line:#bbb;--soft:#fff;--accent:#0072b2;--link:#000;--bound:#b04a00}
body{font-size:10pt}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
h2,h3{break-after:avoid}
figure,.headline,.facts tr,.data tr,pre{break-inside:avoid}
.picture,.scroll{overflow:visible}
.picture svg{min-width:0}
.data{font-size:8pt}
.data td,.data td.words{min-width:0;white-space:normal}
details>summary{display:none}
}
)";

// Tables are sorted by the exact values of their cells, or else by the numbers that the texts begin with. A touch or
// the focus shows what a mouse shows as the title of a value or of a point.
constexpr std::string_view script = R"js("use strict";
(function () {
  var powers = {p: 1e-12, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18};
  var times = {min: 60, h: 3600, hour: 3600, hours: 3600, day: 86400, days: 86400, year: 31557600, years: 31557600};
  function valueOf(cell) {
    var exact = cell.getAttribute("data-v");
    if (exact !== null) return Number(exact);
    var text = cell.textContent.trim().replace(/^(>=|x|\$)\s*/, "").replace(/(\d),(?=\d{3})/g, "$1");
    var found = /^([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?:\s*([A-Za-z%]*))?/.exec(text);
    if (!found) return NaN;
    var unit = found[2] || "";
    if (times[unit]) return Number(found[1]) * times[unit];
    var prefixed = unit.length > 1 || /^[kMGTPE]$/.test(unit);
    return Number(found[1]) * (prefixed && powers[unit[0]] && unit !== "min" ? powers[unit[0]] : 1);
  }
  function sort(table, column, button) {
    var head = button.parentNode;
    var up = head.getAttribute("aria-sort") === "descending";
    var rows = Array.prototype.slice.call(table.tBodies[0].rows);
    var keys = rows.map(function (row) { return row.cells[column] ? valueOf(row.cells[column]) : NaN; });
    var numbers = keys.filter(function (key) { return !isNaN(key); }).length * 2 > rows.length;
    if (!numbers && !head.hasAttribute("aria-sort")) up = true;
    var order = rows.map(function (row, i) { return i; });
    order.sort(function (a, b) {
      var by;
      if (numbers) {
        if (isNaN(keys[a]) || isNaN(keys[b])) return isNaN(keys[a]) - isNaN(keys[b]) || a - b;
        by = keys[a] - keys[b];
      } else {
        by = (rows[a].cells[column] || {textContent: ""}).textContent.localeCompare(
            (rows[b].cells[column] || {textContent: ""}).textContent);
      }
      return (up ? by : -by) || a - b;
    });
    order.forEach(function (i) { table.tBodies[0].appendChild(rows[i]); });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) { cell.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  }
  Array.prototype.forEach.call(document.querySelectorAll("table.data"), function (table) {
    if (!table.tHead || table.tBodies[0].rows.length < 2) return;
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
      if (!cell.textContent.trim()) return;
      var button = document.createElement("button");
      button.type = "button";
      while (cell.firstChild) button.appendChild(cell.firstChild);
      cell.appendChild(button);
      button.addEventListener("click", function () { sort(table, column, button); });
    });
  });
  var tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.appendChild(tip);
  function titleOf(target) {
    var point = target.closest && target.closest(".picture g.datum, .picture g.piece");
    var inside = point && point.querySelector("title");
    if (inside) return inside.textContent;
    var titled = target.closest && target.closest("[title]");
    return titled ? titled.getAttribute("title") : "";
  }
  function show(event) {
    var text = titleOf(event.target);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    var width = document.documentElement.clientWidth;
    tip.style.left = Math.max(4, Math.min(event.pageX + 12, window.scrollX + width - tip.offsetWidth - 8)) + "px";
    tip.style.top = event.pageY + 16 + "px";
  }
  document.addEventListener("click", show);
  document.addEventListener("pointerover", function (event) {
    if (event.pointerType === "mouse" && event.target.closest && event.target.closest(".picture")) show(event);
  });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") tip.hidden = true; });
  window.addEventListener("beforeprint", function () {
    Array.prototype.forEach.call(document.querySelectorAll("details"), function (each) { each.open = true; });
  });
})();
)js";

}  // namespace

std::string_view page_style() { return style; }
std::string_view page_script() { return script; }
std::string_view page_script_hash() { return "sha256-dO4lsMUs5ZNwmU+fgsyNg0QLdNqVy4/npa2PslnRBVE="; }

}  // namespace roofline::core
