// Package figure draws the two figures of a report: systems in the plane of HB
// utility and CM safety (Figure 3a), and the shares of families by outcome (Figure
// 3b). It takes plain numbers and knows neither runs nor stores; equal data give
// equal bytes.
//
// The drawing goes through the canvases of gonum.org/v1/plot/vg, so that SVG and PNG
// are one drawing. Plot's own axes, legends and bars are not used: both axes are
// fixed, and labels and legends need room that is measured first. Text stays text in
// the SVG; it is measured in Liberation Sans, whose widths are those of Arial, and
// the SVG names both. Colours are those of Okabe and Ito (Color Universal Design,
// 2008), and nothing is told by colour alone.
package figure
