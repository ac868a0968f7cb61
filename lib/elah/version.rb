# frozen_string_literal: true

# Owns the version of the gem; the crates carry the same number in Cargo.toml.
module Elah
  VERSION = "0.1.0"
end
