"""What does the page of results look like? As those of `likewise.show` do, and on paper."""

from __future__ import annotations

# A room may not use those after it, so the colours stand here again; a test holds them together.
COLOURS = """\
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #fff; --ink: #1d2129; --soft: #5c6470; --faint: #8d949f;
  --line: #e4e1da; --t0: #0072b2; --t1: #009e73; --t2: #b3568f; --t3: #3a9bd9; --t: #7a86c2;
  --own: #d55e00; --back: #b9bec6; --tint: 13%;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --card: #1b1e24; --ink: #e6e8ec; --soft: #a0a8b4; --faint: #7b838f;
    --line: #2c313a; --t0: #4aa8e0; --t1: #2fc59a; --t2: #e08fc0; --t3: #8fd0f5; --t: #9aa5e0;
    --own: #ff9a4d; --back: #565d69; --tint: 20%;
  }
}
"""

STYLE = (
    COLOURS
    + """\
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 74rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
header p { max-width: 46rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2, h3, p { overflow-wrap: anywhere; }
h2, h4 {
  font-size: .75rem; font-weight: 600; letter-spacing: .07em; text-transform: uppercase;
  color: var(--soft); margin: 0 0 .8rem;
}
.paper > h2 {
  font-size: 1.35rem; line-height: 1.3; letter-spacing: 0; text-transform: none;
  color: var(--ink); margin: 0;
}
h3 { font-size: 1.1rem; line-height: 1.4; margin: 0 0 .8rem; }
h3 .place { color: var(--soft); margin-right: .5em; }
h4 { margin: 0 0 .3rem; }
p { margin: 0 0 .8rem; }
a { color: inherit; text-decoration: underline; text-underline-offset: .15em; }
a:hover { text-decoration-thickness: 2px; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.about, .source { color: var(--soft); }
.source { margin: .2rem 0 1rem; }
.card {
  padding: 1.4rem; margin: 0 0 1.2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .7rem;
}
.paper { margin: 3rem 0 0; }
.tally {
  display: flex; flex-wrap: wrap; gap: .4rem 1.8rem; margin: 1.4rem 0; padding: 0;
  list-style: none; align-items: baseline;
}
.tally .whose { color: var(--soft); min-width: 10rem; }
.tally + .tally { margin-top: -1rem; }
.hashes + .note { margin: .8rem 0 0; }
.tally b { font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.yes { --c: var(--t1); }
.no { --c: var(--own); }
.open { --c: var(--back); }
.sign { display: inline-block; width: 1.1em; text-align: center; font-weight: 700; }
.tally .sign, .verdict .sign { color: var(--c); }
.verdict {
  display: inline-block; padding: .05rem .6rem .05rem .35rem; border-radius: 1rem;
  border: 1.5px solid var(--c); font-size: .85rem; white-space: nowrap;
  background: color-mix(in srgb, var(--c) var(--tint), transparent);
}
.open .sign { color: inherit; }
.verdict.no { border-style: dashed; }
.verdict.open { border-style: dotted; }
.scroll { overflow-x: auto; }
.scroll:has(table) {
  background:
    linear-gradient(to right, var(--card) 40%, transparent) 0 0 / 3rem 100%,
    linear-gradient(to left, var(--card) 40%, transparent) 100% 0 / 3rem 100%,
    linear-gradient(to right, var(--back), transparent) 0 0 / .5rem 100%,
    linear-gradient(to left, var(--back), transparent) 100% 0 / .5rem 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll;
}
.scroll:focus-visible { outline: 2px solid var(--t0); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .4rem .9rem .4rem 0; text-align: left; vertical-align: top; }
tbody tr { border-top: 1px solid var(--line); }
thead th { font-size: .87em; font-weight: 600; color: var(--soft); vertical-align: bottom; }
.claims { min-width: 32rem; }
.claims .group th { padding-top: 1rem; }
.claims tbody:first-of-type .group th { padding-top: .5rem; }
.claims .where { white-space: nowrap; }
.claims td:last-child, .claims th:last-child { padding-right: 0; }
.claims .group { border-top: 2px solid var(--line); }
.hashes {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr));
  gap: .2rem 2rem; margin: 0; padding: 0; list-style: none; font-size: .9rem;
}
.hashes code { color: var(--soft); overflow-wrap: anywhere; }
.in-place-of { color: var(--soft); }
.in-place-of b { color: var(--ink); font-weight: 600; }
.verdicts { list-style: none; margin: 0 0 1.4rem; padding: 0; display: grid; gap: .7rem; }
.verdicts li { display: grid; grid-template-columns: 10.5rem minmax(0, 1fr); gap: .2rem 1rem; }
.verdicts p { margin: 0; }
.verdicts .verdict { justify-self: start; align-self: start; }
.reason { color: var(--soft); font-size: .92rem; }
.values { width: auto; margin: 0 0 .4rem; }
.values caption { text-align: left; font-weight: 600; padding: 0 0 .4rem; }
.values .unit { color: var(--soft); font-weight: 400; }
.values th[scope="row"] { font-weight: 400; line-height: 1.35; min-width: 9rem; max-width: 22rem; }
.values th[scope="col"], .values tbody td { text-align: right; font-variant-numeric: tabular-nums; }
.values th[scope="col"] { padding-left: .4rem; }
.values td { white-space: nowrap; line-height: 1.35; padding-left: .4rem; }
.values th:last-child, .values td:last-child { padding-right: .2rem; }
.values small { display: block; color: var(--soft); font-size: .8em; }
.values .mean { font-weight: 600; }
.published { font-style: italic; }
td .published { display: block; font-size: .88em; }
.ours {
  padding: .05rem .35rem; border: 1px solid var(--t0); border-radius: .3rem; font-size: .75em;
  white-space: nowrap;
}
.note { color: var(--soft); font-size: .88rem; margin: 0 0 1.4rem; }
.scroll:has(.values) { margin: 0 0 .4rem; }
.scroll:has(.values):not(:has(+ .note)) { margin-bottom: 1.4rem; }
figure {
  margin: 0 0 1.4rem; padding: .6rem; background: #fff; border: 1px solid var(--line);
  border-radius: .5rem; color: #1d2129;
}
figure svg { display: block; min-width: 26rem; margin: 0 auto; }
figcaption { color: #5c6470; font-size: .88rem; padding: .4rem .4rem 0; }
.undrawn { background: none; border-style: dashed; color: inherit; padding: 1rem; }
.undrawn p { margin: 0; }
.tried { border-left: 3px solid var(--line); padding: 0 0 0 1rem; margin: 0 0 1.4rem; }
.tried p { margin: 0 0 .5rem; font-size: .95rem; }
.setting {
  display: flex; flex-wrap: wrap; gap: .15rem 1.4rem; margin: 0; padding: .8rem 0 0;
  border-top: 1px solid var(--line); font-size: .84rem; color: var(--soft);
}
.setting dt, .setting dd { display: inline; margin: 0; overflow-wrap: anywhere; }
.setting dt { font-weight: 600; }
@media (max-width: 36rem) {
  main { padding: 1.4rem .9rem 3rem; }
  .card { padding: 1.1rem; }
  .verdicts li { grid-template-columns: minmax(0, 1fr); }
  .claims { min-width: 0; }
  .claims thead { display: none; }
  .claims tr, .claims td, .claims th { display: block; }
  .claims td { padding: 0; }
  .claims tr { padding: .5rem 0; }
  .claims .where { font-size: .85rem; }
  .claims .verdict { margin: .2rem 0 0; }
}
@media print {
  @page { margin: 14mm; }
  :root { color-scheme: light; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  html { font-size: 9.5pt; }
  body { background: none; }
  main { padding: 0; max-width: none; }
  .card { border: 0; padding: 0; margin: 0 0 1.4rem; background: none; }
  .paper { break-before: page; margin: 0; }
  .paper > .card { border-top: 1px solid var(--line); padding: .8rem 0 0; border-radius: 0; }
  h2, h3, h4, caption, .source { break-after: avoid; }
  thead { display: table-header-group; }
  tr, .values, .verdicts li, figure, .in-place-of { break-inside: avoid; }
  .scroll, .scroll:has(table) { overflow: visible; background: none; }
  .claims, .values { min-width: 0; }
  .values th[scope="row"] { min-width: 0; max-width: none; }
  .values th, .values td { padding-right: .5rem; overflow-wrap: anywhere; }
  .wide { font-size: 7.5pt; }
  .widest { font-size: 6pt; }
  .widest th, .widest td { padding-right: .25rem; }
  figure { padding: 0; border: 0; }
  figure svg { min-width: 0; max-width: 14cm !important; }
}
"""
)
