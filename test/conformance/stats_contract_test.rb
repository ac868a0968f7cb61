# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/stats.yml against the app of this repository, every case a test: on one machine, and on a cluster against
# two servers in turn. The event that a schema parks, and the change that releases it, go to the same one then.
class StatsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/stats.yml"))
  # What the servers are started with.
  STORES = { "embedded" => -> { [{}] }, "cluster" => -> { [{ cluster: Servers::PostgreSQL.shared.url }] * 2 } }.freeze

  # @return [Array<String>] URLs of the servers
  def self.urls(store)
    (@urls ||= {})[store] ||= STORES.fetch(store).call.map do |options|
      server = ElahServer.start(File.join(ROOT, "apps/stats/app.rb"), **options)
      Minitest.after_run { server.stop }
      server.http_url
    end
  end

  STORES.each_key do |store|
    CONTRACT.cases.each do |one|
      define_method("test_#{store}_#{one.name.tr(' ', '_')}") do
        url, *others = self.class.urls(store)
        failure = Conformance::Player.new(url, others: others).play(one.steps)
        assert_nil failure, failure
      end
    end
  end
end
