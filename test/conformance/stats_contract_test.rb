# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "contract"

# Plays specs/stats.yml against the app of this repository, every case a test.
class StatsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/stats.yml"))

  def self.server
    @server ||= ElahServer.start(File.join(ROOT, "apps/stats/app.rb")).tap { |server| Minitest.after_run { server.stop } }
  end

  CONTRACT.cases.each do |one|
    define_method("test_#{one.name.tr(' ', '_')}") do
      failure = Conformance::Player.new(self.class.server.http_url).play(one.steps)
      assert_nil failure, failure
    end
  end
end
