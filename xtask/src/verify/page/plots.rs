//! The plots of a phase, as SVG that stands in the page. Colours are stand-ins which the page's style sheet replaces.

use anyhow::{Result, anyhow};
use flightlog::report::read::Phase;
use flightlog::stats::{BUCKETS, bucket, bucket_floor_us};
use plotters::prelude::*;

use crate::verify::board::WORST_GAP_US;

/// Size in pixels: fits a phone's width without being scaled.
const SIZE: (u32, u32) = (350, 220);
/// Stand-ins: see style.css.
const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);
const RUN: RGBColor = RGBColor(3, 3, 3);
const STOCK: RGBColor = RGBColor(4, 4, 4);
const LIMIT: RGBColor = RGBColor(5, 5, 5);
/// The shortest gap that a plot has room for, in ms.
const LEAST_MS: f64 = 0.5;
/// Where bars begin on a logarithmic scale of counts.
const BELOW_ONE: f64 = 0.7;

/// Axes and grid of either plot.
macro_rules! style {
    ($mesh:ident) => {
        $mesh
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(("sans-serif", 11).into_font().color(&INK))
            .axis_desc_style(("sans-serif", 11).into_font().color(&INK))
            .draw()
            .map_err(broken)?
    };
}
/// A phase with the libraries that were verified, with stock ones, or with both.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) run: Option<&'a Phase>,
    pub(super) stock: Option<&'a Phase>,
}

impl<'a> Pair<'a> {
    /// Those that are there, each with its colour; the last is drawn on top.
    fn phases(self) -> impl Iterator<Item = (&'a Phase, RGBColor)> {
        let stock = self.stock.map(|phase| (phase, STOCK));
        stock.into_iter().chain(self.run.map(|phase| (phase, RUN)))
    }

    /// Room for the longest gap and the limit, in ms.
    fn longest_ms(self) -> f64 {
        let gaps = self.phases().map(|(phase, _)| phase.worst_gap_us);
        ms(gaps.fold(WORST_GAP_US, u32::max).into()) * 2.0
    }

    /// How often gaps of each length came, both on logarithmic scales.
    pub(super) fn histogram(self) -> Result<String> {
        let counts = self.phases().flat_map(|(phase, _)| &phase.histogram);
        let most = f64::from(counts.map(|(_, count)| *count).max().unwrap_or(1)) * 2.0;
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let mut chart = frame(&area)
                .build_cartesian_2d(
                    (LEAST_MS..self.longest_ms()).log_scale(),
                    (BELOW_ONE..most).log_scale(),
                )
                .map_err(broken)?;
            let mut mesh = chart.configure_mesh();
            mesh.x_desc("gap, ms").y_desc("gaps");
            style!(mesh);
            for (phase, colour) in self.phases() {
                let bars = phase.histogram.iter().map(|(floor, count)| {
                    let next = bucket_floor_us((bucket(*floor) + 1).min(BUCKETS - 1));
                    let left = (ms(*floor).max(LEAST_MS), BELOW_ONE);
                    let right = (ms(next).max(LEAST_MS), f64::from(*count));
                    Rectangle::new([left, right], colour.mix(0.65).filled())
                });
                chart.draw_series(bars).map_err(broken)?;
            }
            let limit = ms(WORST_GAP_US.into());
            chart
                .draw_series(LineSeries::new([(limit, BELOW_ONE), (limit, most)], LIMIT))
                .map_err(broken)?;
            area.present().map_err(broken)?;
        }
        Ok(svg)
    }

    /// The worst gap of each slice of time, on a logarithmic scale.
    pub(super) fn time_line(self) -> Result<String> {
        let end = |phase: &Phase| seconds(phase.slice_us) * phase.slices.len() as f64;
        let last = self
            .phases()
            .map(|(phase, _)| end(phase))
            .fold(0.001, f64::max);
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let mut chart = frame(&area)
                .build_cartesian_2d(0.0..last, (LEAST_MS..self.longest_ms()).log_scale())
                .map_err(broken)?;
            let mut mesh = chart.configure_mesh();
            mesh.x_desc("time, s").y_desc("worst gap, ms");
            style!(mesh);
            for (phase, colour) in self.phases() {
                let steps = phase.slices.iter().enumerate().flat_map(|(index, worst)| {
                    let at = |index: usize| seconds(phase.slice_us) * index as f64;
                    let worst = ms(u64::from(*worst)).max(LEAST_MS);
                    [(at(index), worst), (at(index + 1), worst)]
                });
                chart
                    .draw_series(LineSeries::new(steps, colour.stroke_width(2)))
                    .map_err(broken)?;
            }
            let limit = ms(WORST_GAP_US.into());
            chart
                .draw_series(LineSeries::new([(0.0, limit), (last, limit)], LIMIT))
                .map_err(broken)?;
            area.present().map_err(broken)?;
        }
        Ok(svg)
    }
}

/// Room for the axes around a plot.
fn frame<'a, 'b>(
    area: &'a DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut frame = ChartBuilder::on(area);
    frame
        .margin(6)
        .margin_right(14)
        .x_label_area_size(36)
        .y_label_area_size(52);
    frame
}

/// A number on an axis, without digits that say nothing.
fn short(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

fn ms(us: u64) -> f64 {
    us as f64 / 1e3
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn broken(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("drawing a plot: {error}")
}
