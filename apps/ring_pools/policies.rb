# frozen_string_literal: true

require_relative "policies/longest_idle"
require_relative "policies/random"
require_relative "policies/round_robin"
require_relative "policies/sticky"

module RingPools
  # Owns the ways to choose a free number, by the names that a pool calls them. All have the public methods of {LongestIdle}.
  module Policies
    BY_NAME = { "longest_idle" => LongestIdle, "round_robin" => RoundRobin, "random" => Random, "sticky" => Sticky }.freeze
    NAMES = BY_NAME.keys.freeze
    DEFAULT = NAMES.first
  end
end
