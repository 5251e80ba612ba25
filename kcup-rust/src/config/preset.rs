//! The options that `--preset` decides (K-90, K-91).

use hyper::header::{CACHE_CONTROL, HeaderValue};

use super::options::{Given, Options};
use super::value::Compression;

impl Given {
    /// Sets the options that the preset decides, none of which may have been given.
    pub fn with_preset(&self, mut options: Options) -> Result<Options, String> {
        if options.preset.is_none() {
            return Ok(options);
        }
        for name in ["path", "status", "content-type", "compression"] {
            if let Some(value) = self.explicit(name) {
                return Err(self.fault(name, &value, "cannot be given with --preset mta-sts"));
            }
        }
        // RFC 8461 section 3.2: the well-known path, the media type.
        options.path = Some("/.well-known/mta-sts.txt".into());
        options.content_type = Some(HeaderValue::from_static("text/plain; charset=utf-8"));
        options.compression = Compression::Off;
        if !options.headers.iter().any(|(name, _)| name == CACHE_CONTROL) {
            options.headers.insert(0, (CACHE_CONTROL, HeaderValue::from_static("max-age=60")));
        }
        Ok(options)
    }

    /// The value of an option or its variable, but not a default.
    fn explicit(&self, name: &str) -> Option<Vec<u8>> {
        let row = self.rows.iter().find(|row| row.name == name)?;
        let by_option = self.matches.occurrences_of(name) > 0;
        let is_given = by_option || std::env::var_os(row.variable).is_some();
        self.matches.value_of(name).filter(|_| is_given).map(|value| value.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{options, parse_with};
    use super::*;

    const POLICY: [&str; 2] = ["--preset", "mta-sts"];

    #[test]
    fn a_policy_has_its_path_its_type_and_a_minute_in_caches() {
        let plain = options(&[("PRESET", "mta-sts")], &["--header", "X-A: b"]);
        assert_eq!(plain.path.as_deref(), Some("/.well-known/mta-sts.txt"));
        assert_eq!(plain.content_type.unwrap(), "text/plain; charset=utf-8");
        assert_eq!(plain.compression, Compression::Off);
        let names: Vec<_> = plain.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cache-control", "x-a"]);
        let own = options(&[], &["--preset=mta-sts", "--header", "Cache-Control: no-store"]);
        assert_eq!(own.headers, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))]);
    }

    #[test]
    fn what_the_preset_decides_cannot_be_given_as_well() {
        for (variables, args, want) in [
            (&[][..], &["--path", "/x"][..], "--path: \"/x\""),
            (&[("SERVE_PATH", "/x")], &[], "SERVE_PATH: \"/x\""),
            (&[], &["--content-type=a/b", "--compression=auto"], "--content-type: \"a/b\""),
            (&[], &["--compression=auto"], "--compression: \"auto\""),
            (&[("COMPRESSION", "off")], &[], "COMPRESSION: \"off\""),
        ] {
            let fault = parse_with(variables, &[&POLICY, args].concat()).unwrap_err();
            assert_eq!(fault, format!("{want} cannot be given with --preset mta-sts"));
        }
        assert_eq!(options(&[("COMPRESSION", "")], &POLICY).compression, Compression::Off);
    }

    #[test]
    fn a_bad_value_is_found_before_a_contradiction() {
        let fault = parse_with(&[], &["--preset=mta-sts", "--path=/x", "--log-level=x"]).unwrap_err();
        assert!(fault.starts_with("--log-level: "), "{fault}");
        let fault = parse_with(&[], &["--preset", "x"]).unwrap_err();
        assert_eq!(fault, "--preset: \"x\" is not one of mta-sts");
    }
}
