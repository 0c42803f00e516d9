//! Conversions from and to integers and floats.

use super::{Numeric, POW10};
use crate::error::{Result, SqlError, SqlState};
use num_traits::ToPrimitive;

impl Numeric {
    /// Rounded to an integer.
    ///
    /// # Errors
    ///
    /// 0A000 of NaN and infinities, 22003 if it does not fit.
    pub(crate) fn to_int(&self, type_name: &'static str) -> Result<i64> {
        let rounded = match self {
            Self::Small { mantissa, scale: 0 } => return Ok(*mantissa),
            Self::NaN => return Err(SqlError::unsupported(format!("cannot convert NaN to {type_name}"))),
            Self::Infinity | Self::NegInfinity => {
                return Err(SqlError::unsupported(format!("cannot convert infinity to {type_name}")));
            }
            _ => self.rounded(0),
        };
        match rounded {
            Self::Small { mantissa, .. } => Ok(mantissa),
            _ => Err(SqlError::out_of_range(format!("{type_name} out of range"))),
        }
    }

    /// As float8.
    ///
    /// # Errors
    ///
    /// 22003 if it is too large.
    pub fn to_f64(&self) -> Result<f64> {
        /// Integers up to here are exact floats, as are powers of ten up to 10^22.
        const EXACT: u64 = 1 << 53;
        match self {
            Self::Small { mantissa, scale } if mantissa.unsigned_abs() <= EXACT => {
                if let Some(power) = POW10.get(usize::from(*scale)) {
                    // one correctly rounded division of two exact floats
                    return Ok(*mantissa as f64 / *power as f64);
                }
            }
            Self::NaN => return Ok(f64::NAN),
            Self::Infinity => return Ok(f64::INFINITY),
            Self::NegInfinity => return Ok(f64::NEG_INFINITY),
            _ => {}
        }
        let text = self.to_string();
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        if value.is_infinite() || (value == 0.0 && !self.is_zero()) {
            let message = format!("\"{text}\" is out of range for type double precision");
            return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        Ok(value)
    }

    /// As float4.
    ///
    /// # Errors
    ///
    /// 22003 if it is too large.
    pub fn to_f32(&self) -> Result<f32> {
        match self {
            Self::NaN => return Ok(f32::NAN),
            Self::Infinity => return Ok(f32::INFINITY),
            Self::NegInfinity => return Ok(f32::NEG_INFINITY),
            _ => {}
        }
        let text = self.to_string();
        let value: f32 = text.parse().unwrap_or(f32::NAN);
        if value.is_infinite() || (value == 0.0 && !self.is_zero()) {
            let message = format!("\"{text}\" is out of range for type real");
            return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        Ok(value)
    }

    /// The nearest float, infinite where it is too large: for estimates.
    pub(crate) fn approximate(&self) -> f64 {
        self.to_f64().unwrap_or_else(|_| match self.parts() {
            Some(parts) => parts.mantissa.to_f64().unwrap_or(f64::INFINITY),
            None => f64::NAN,
        })
    }

    /// From float8, with the 15 digits that it has at least.
    pub fn from_f64(v: f64) -> Self {
        Self::from_float(v, 15)
    }

    /// From float4, with the 6 digits that it has at least.
    pub fn from_f32(v: f32) -> Self {
        Self::from_float(v.into(), 6)
    }

    fn from_float(v: f64, digits: usize) -> Self {
        if v.is_nan() {
            return Self::NaN;
        }
        if v.is_infinite() {
            return if v > 0.0 { Self::Infinity } else { Self::NegInfinity };
        }
        let text = format!("{:.*e}", digits - 1, v);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        // a float has less than 400 digits either side of the point
        format!("{mantissa}e{exponent}").parse().unwrap_or(Self::NaN)
    }
}
