# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# A server whose Ruby compiles: what is compiled after some calls waits in its fiber, raises, is cancelled and is
# collected as before.
class YJITTest < Minitest::Test
  FLAGS = { "RUBYOPT" => "--yjit --yjit-exec-mem-size=16 --yjit-call-threshold=2" }.freeze
  APP = <<~RUBY
    class Counter < Elah::Entity
      def restore = @count = state.get("count").to_i

      def add(number)
        @count += number
        state.put("count", @count.to_s)
        @count
      end
    end

    COUNTERS = Counter.in(Elah::Store.open(File.join(Elah.config.data, "counters")))

    class Compiled < Elah::API
      format :json

      get(:compiler) { { "on" => RubyVM::YJIT.enabled? } }

      params { requires :number, type: Integer }
      get :waits do
        sleep 0.001
        number = params["number"]
        parts = Elah.gather(deadline: 30) do |g|
          (1..3).each { |factor| g.call(factor) { sleep(0.001) && number * factor } }
        end
        { "sum" => parts.to_h.values.sum }
      end

      params { requires :number, type: Integer }
      post(:counts) { { "count" => COUNTERS["one"].add(params["number"]) } }

      get(:raises) { raise ArgumentError, "as it should" }

      get :collects do
        GC.start if rand(10).zero?
        { "words" => Array.new(50) { |index| "word \#{index}" }.last }
      end
    end

    run Compiled
  RUBY
  CLIENTS = 4

  def setup
    skip "This Ruby has no YJIT." unless defined?(RubyVM::YJIT)
  end
  REQUESTS = 100

  def test_an_api_on_two_workers
    ElahServer.start(APP, env: FLAGS, workers: 2) do |server|
      assert_equal({ "on" => true }, server.get("/compiler").json)
      clients = Array.new(CLIENTS) do
        Thread.new { server.connect { |client| REQUESTS.times { |number| ask(client, number) } } }
      end
      clients.each(&:join)
      assert_equal CLIENTS * REQUESTS, server.request("POST", "/counts", **json(0)).json["count"]
    end
  end

  def test_an_app_of_sinatra
    ElahServer.start(File.expand_path("../support/apps/sinatra.ru", __dir__), env: FLAGS) do |server|
      server.connect do |client|
        REQUESTS.times do |number|
          assert_equal({ "a" => number.to_s, "name" => "x" }, client.get("/params/x?a=#{number}").json)
        end
      end
    end
  end

  private

  def ask(client, number)
    assert_equal number * 6, client.get("/waits?number=#{number}").json["sum"]
    client.request("POST", "/counts", **json(1))
    assert_equal 500, client.get("/raises").status
    assert_equal "word 49", client.get("/collects").json["words"]
  end

  def json(number) = { headers: { "Content-Type" => "application/json" }, body: %({"number":#{number}}) }
end
