# frozen_string_literal: true

require "test_helper"
require "support/elah_server"

# Calls of entities by other threads of a worker than that of its loop.
class EntityThreadsTest < Minitest::Test
  APP = <<~RUBY
    require "elah"
    class Tally < Elah::Entity
      def restore = @count = state.get("count").to_i
      def add = (@count += 1).tap { |count| state.put("count", count.to_s) }
    end
    TALLIES = Tally.in(Elah::Store.open(Elah.config.data))
    KEYS = %w[a b c d e f g h]
    EARLY = Class.new(Tally) { entity_name "early" }.in(TALLIES.store)
    EARLY_OUTCOME = Queue.new.then do |done|
      Thread.new { done << (EARLY["a"].add rescue $!.class.name) && sleep } && done.pop
    end

    class Tallies < Elah::API
      format :json

      helpers do
        def add_all = KEYS.map { |key| TALLIES[key].add rescue $!.class.name }
      end

      get(:early) { [EARLY_OUTCOME, EARLY["a"].add] }
      get(:add) { add_all }
      get(:offload) { Elah.offload { add_all } }
      get(:lasting) { Queue.new.then { |done| Thread.new { done << add_all; sleep } && done.pop } }
      get(:loop) { Thread.new { Elah.run { add_all } }.value }
    end
    run Tallies
  RUBY

  # The first thread that called a class had it for as long as it lived, and a thread of Elah.offload lives as long as
  # the worker: no handler could call the class any more. In a thread with a loop of its own, calls of entities of other
  # workers ended with a NoMethodError.
  [1, 2].each do |workers|
    define_method(:"test_with_#{workers}_workers_a_thread_is_refused_and_keeps_no_handler_from_its_entities") do
      ElahServer.start(APP, workers: workers) do |server|
        client = server.connect # one worker, in which no handler has called the class
        %w[offload lasting loop].each do |way|
          assert_equal ["Elah::OutsideLoop"] * 8, client.request("GET", "/#{way}").json, way
        end
        assert_equal [1] * 8, client.request("GET", "/add").json
        assert_equal ["Elah::OutsideLoop"] * 8, client.request("GET", "/offload").json
        assert_equal [2] * 8, client.request("GET", "/add").json
        assert_equal ["Elah::OutsideLoop", 1], client.request("GET", "/early").json, "its thread of the load lives"
      ensure
        client&.close
      end
    end
  end
end
