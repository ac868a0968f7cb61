# frozen_string_literal: true

# Loads what every test needs: minitest and the library.
require "minitest/autorun"
require "elah/errors"
require "elah/elah"
