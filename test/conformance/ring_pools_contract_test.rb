# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/ring_pools.yml against the app of this repository, every case a test, with each durability, and on a
# cluster against two servers in turn.
class RingPoolsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/ring_pools.yml"))
  # What the app is started with.
  STORES = {
    "disk" => -> { { arguments: %w[--set ring_pools_durability=disk] } },
    "memory" => -> { { arguments: %w[--set ring_pools_durability=memory] } },
    "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url, arguments: %w[--set ring_pools_deadline_ms=20000] } }
  }.freeze

  # @return [Array<String>] URLs of the servers: two on a cluster
  def self.urls(store)
    (@urls ||= {})[store] ||= Array.new(store == "cluster" ? 2 : 1) do
      server = ElahServer.start(File.join(ROOT, "apps/ring_pools/app.rb"), **STORES.fetch(store).call)
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
