# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/ring_pools.yml against the app of this repository, every case a test, with each durability, and on the
# database of a cluster.
class RingPoolsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/ring_pools.yml"))
  # What the app is started with.
  STORES = {
    "disk" => -> { { arguments: %w[--set ring_pools_durability=disk] } },
    "memory" => -> { { arguments: %w[--set ring_pools_durability=memory] } },
    "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url, arguments: %w[--set ring_pools_deadline_ms=20000] } }
  }.freeze

  def self.server(store)
    (@servers ||= {})[store] ||=
      ElahServer.start(File.join(ROOT, "apps/ring_pools/app.rb"), **STORES.fetch(store).call)
                .tap { |server| Minitest.after_run { server.stop } }
  end

  STORES.each_key do |store|
    CONTRACT.cases.each do |one|
      define_method("test_#{store}_#{one.name.tr(' ', '_')}") do
        failure = Conformance::Player.new(self.class.server(store).http_url).play(one.steps)
        assert_nil failure, failure
      end
    end
  end
end
