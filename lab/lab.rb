# frozen_string_literal: true

# What bin/lab runs.
require_relative "lib/lab"

exit Lab::CommandLine.new.run(ARGV)
