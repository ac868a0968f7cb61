# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/links.yml against the app of this repository, every case a test with every store.
class LinksContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/links.yml"))

  # What the option `store` is, by the name of the store.
  STORES = {
    "embedded" => -> { "embedded" },
    "redis" => -> { Servers::Redis.shared.url },
    "postgresql" => -> { Servers::PostgreSQL.shared.url },
    "mariadb" => -> { Servers::MariaDB.shared.url },
    "mongodb" => -> { Servers::MongoJavaServer.shared.url }
  }.freeze

  def self.server(store)
    (@servers ||= {})[store] ||=
      ElahServer.start(File.join(ROOT, "apps/links/app.rb"), store: STORES.fetch(store).call)
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
