# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "contract"

# Plays specs/ring_pools.yml against the app of this repository, every case a test, with each durability.
class RingPoolsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/ring_pools.yml"))
  DURABILITIES = %w[disk memory].freeze

  def self.server(durability)
    (@servers ||= {})[durability] ||=
      ElahServer.start(File.join(ROOT, "apps/ring_pools/app.rb"),
                       arguments: ["--set", "ring_pools_durability=#{durability}"])
                .tap { |server| Minitest.after_run { server.stop } }
  end

  DURABILITIES.each do |durability|
    CONTRACT.cases.each do |one|
      define_method("test_#{durability}_#{one.name.tr(' ', '_')}") do
        failure = Conformance::Player.new(self.class.server(durability).http_url).play(one.steps)
        assert_nil failure, failure
      end
    end
  end
end
