# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

module Conformance
  # Makes a test of every case of a contract of specs/ and every store of the app of this repository that keeps it.
  module AppContract
    ROOT = File.expand_path("../..", __dir__)

    # @param app [String] name of the app and of its contract
    # @param stores [Hash{String=>Proc}] of each store the options of {ElahServer.start}, made when a test needs them;
    #   the cases of `cluster` are played against two servers in turn
    # @param except [Proc] which cases of a store are left out
    def plays(app, stores, except: ->(_store, _name) { false })
      urls = Hash.new { |started, store| started[store] = AppContract.start(app, store, stores.fetch(store)) }
      cases = Contract.new(File.join(ROOT, "specs", "#{app}.yml")).cases
      stores.keys.product(cases).each do |store, one|
        next if except.call(store, one.name)

        define_method("test_#{store}_#{one.name.tr(' ', '_')}") do
          url, *others = urls[store]
          failure = Player.new(url, others: others).play(one.steps)
          assert_nil failure, failure
        end
      end
    end

    # @return [Array<String>] URLs of the servers, which run until the tests have ended
    def self.start(app, store, options)
      Array.new(store == "cluster" ? 2 : 1) do
        server = ElahServer.start(File.join(ROOT, "apps", app, "app.rb"), **options.call)
        Minitest.after_run { server.stop }
        server.http_url
      end
    end
  end
end
