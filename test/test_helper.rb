# frozen_string_literal: true

# Owns what every test needs: the load path, minitest, and the library.
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__), File.expand_path(__dir__))
require "minitest/autorun"
require "elah"
