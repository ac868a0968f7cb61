# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/gems"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/items.yml against the app of this repository on each of its stores, and against the same API in Grape and
# ActiveRecord, every case a test.
module ItemsContractTest
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/items.yml"))
  APP = File.join(ROOT, "apps/items/app.rb")
  GRAPE = File.join(ROOT, "apps/items/grape_active_record/config.ru")
  SERVERS = {
    "Embedded" => -> { ElahServer.start(APP) },
    "PostgreSQL" => -> { ElahServer.start(APP, store: Servers::PostgreSQL.shared.url) },
    "MariaDB" => -> { ElahServer.start(APP, store: Servers::MariaDB.shared.url) },
    "MongoJavaServer" => -> { ElahServer.start(APP, store: Servers::MongoJavaServer.shared.url) },
    "GrapeOnPostgreSQL" => lambda {
      ElahServer.start(GRAPE, env: { "ITEMS_DATABASE_URL" => Servers::PostgreSQL.shared.url })
    },
    "GrapeOnMariaDB" => lambda {
      ElahServer.start(GRAPE, env: { "ITEMS_DATABASE_URL" => Servers::MariaDB.shared.url })
    }
  }.freeze

  SERVERS.each do |name, start|
    test = Class.new(Minitest::Test) do
      define_singleton_method(:server) do
        @server ||= start.call.tap { |server| Minitest.after_run { server.stop } }
      end

      define_method(:setup) { Gems.missing("grape")&.then { |reason| skip reason } } if name.start_with?("Grape")

      CONTRACT.cases.each do |one|
        define_method("test_#{one.name.tr(' ', '_')}") do
          failure = Conformance::Player.new(self.class.server.http_url).play(one.steps)
          assert_nil failure, failure
        end
      end
    end
    const_set("Items#{name}ContractTest", test)
  end
end
