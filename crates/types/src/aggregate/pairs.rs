//! Aggregates of pairs of floats: covariance, correlation, and the line that fits them best. Sums are kept as
//! PostgreSQL keeps them (Youngs and Cramer), so that results have the same digits.

/// What is asked of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    CovariancePopulation,
    CovarianceSample,
    Correlation,
    AverageX,
    AverageY,
    SquaresX,
    SquaresY,
    Products,
    Slope,
    Intercept,
    Fit,
}

/// The signatures, and what each asks.
pub(super) const ALL: [(&str, Asked); 11] = [
    ("covar_pop(float8,float8) float8", Asked::CovariancePopulation),
    ("covar_samp(float8,float8) float8", Asked::CovarianceSample),
    ("corr(float8,float8) float8", Asked::Correlation),
    ("regr_avgx(float8,float8) float8", Asked::AverageX),
    ("regr_avgy(float8,float8) float8", Asked::AverageY),
    ("regr_sxx(float8,float8) float8", Asked::SquaresX),
    ("regr_syy(float8,float8) float8", Asked::SquaresY),
    ("regr_sxy(float8,float8) float8", Asked::Products),
    ("regr_slope(float8,float8) float8", Asked::Slope),
    ("regr_intercept(float8,float8) float8", Asked::Intercept),
    ("regr_r2(float8,float8) float8", Asked::Fit),
];

/// Sums over pairs: of the values, of squared distances from their means, and of products of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    n: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl Sums {
    /// Adds a pair; `None` if finite values add up to no finite sum.
    pub(super) fn add(&mut self, y: f64, x: f64) -> Option<()> {
        let before = *self;
        self.n += 1.0;
        self.x += x;
        self.y += y;
        if before.n == 0.0 {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
            return Some(());
        }
        let from_x = x * self.n - self.x;
        let from_y = y * self.n - self.y;
        let scale = 1.0 / (self.n * before.n);
        self.xx += from_x * from_x * scale;
        self.yy += from_y * from_y * scale;
        self.xy += from_x * from_y * scale;
        let all = [self.x, self.xx, self.y, self.yy, self.xy];
        if all.iter().any(|sum| sum.is_infinite()) {
            let finite_x = !before.x.is_infinite() && !x.is_infinite();
            let finite_y = !before.y.is_infinite() && !y.is_infinite();
            let overflows = (self.x.is_infinite() || self.xx.is_infinite()) && finite_x
                || (self.y.is_infinite() || self.yy.is_infinite()) && finite_y
                || self.xy.is_infinite() && finite_x && finite_y;
            if overflows {
                return None;
            }
            for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
                if sum.is_infinite() {
                    *sum = f64::NAN;
                }
            }
        }
        Some(())
    }

    /// The answer; `None` is NULL.
    pub(super) fn result(&self, asked: Asked) -> Option<f64> {
        let Self { n, x, xx, y, yy, xy } = *self;
        if n < 1.0 {
            return None;
        }
        match asked {
            Asked::CovariancePopulation => Some(xy / n),
            Asked::CovarianceSample => (n >= 2.0).then(|| xy / (n - 1.0)),
            Asked::Correlation => (xx != 0.0 && yy != 0.0).then(|| xy / (xx * yy).sqrt()),
            Asked::AverageX => Some(x / n),
            Asked::AverageY => Some(y / n),
            Asked::SquaresX => Some(xx),
            Asked::SquaresY => Some(yy),
            Asked::Products => Some(xy),
            Asked::Slope => (xx != 0.0).then(|| xy / xx),
            Asked::Intercept => (xx != 0.0).then(|| (y - x * xy / xx) / n),
            // a level line fits pairs on it
            Asked::Fit if yy == 0.0 => (xx != 0.0).then_some(1.0),
            Asked::Fit => (xx != 0.0).then(|| xy * xy / (xx * yy)),
        }
    }
}
