# frozen_string_literal: true

# Loads what the tests of the app's parts need.
require "minitest/autorun"
require "elah"
