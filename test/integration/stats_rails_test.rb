# frozen_string_literal: true

# The collector inside an existing Rails app, under Elah and under Puma: the app's own routes stay, and events are
# recorded.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "puma")

require "support/elah_server"
require "support/patience"
require "open3"
require "socket"
require "tmpdir"

class StatsRailsTest < Minitest::Test
  include Patience

  ROOT = File.expand_path("../..", __dir__)
  APP = File.join(ROOT, "test/support/apps/rails_stats.ru")
  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def test_under_elah
    ElahServer.start(APP) { |server| assert_collects(server.url) }
  end

  def test_under_puma
    Dir.mktmpdir do |folder|
      port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      environment = { "ELAH_DATA" => File.join(folder, "data"), "RUBYLIB" => File.join(ROOT, "lib") }
      command = %W[puma --bind tcp://127.0.0.1:#{port} --threads 4:4 --quiet --dir #{folder} #{APP}]
      Open3.popen2e(environment, *command) do |_, output, process|
        nil until (line = output.gets).nil? || line.include?("Use Ctrl-C")
        assert line, "Puma ended before it listened"
        assert_collects("tcp://127.0.0.1:#{port}")
      ensure
        Process.kill(:TERM, process.pid)
        process.value
      end
    end
  end

  private

  def assert_collects(url)
    HttpClient.open(url, seconds: 60) do |client|
      assert_equal "hello", client.request("GET", "/hello").body
      assert_equal({ "durability" => "memory" }, client.request("GET", "/collect/stats?path=/cart").json)
      delivered = client.request("POST", "/collect/stats",
                                 headers: { **JSON_TYPE, "Prefer" => "durability=delivered, wait=30" },
                                 body: '{"path": "/order"}')
      assert_equal [200, "delivered"], [delivered.status, delivered.json["durability"]]
      mixed = client.request("POST", "/collect/stats/batch", headers: JSON_TYPE, body: '[{"path": "/a"}, 7]')
      assert_equal [207, 1], [mixed.status, mixed.json["accepted"]]
      assert_equal "image/gif", client.request("GET", "/collect/stats/pixel.gif")["content-type"]
      assert_equal 400, client.request("POST", "/collect/stats", headers: JSON_TYPE, body: "{").status
      wait_until("all are in the sums") do
        client.request("GET", "/collect/stats/rollups?per=day").json["as_of"] == { "offset" => 4, "queued" => 0 }
      end
      assert client.request("GET", "/collect/sinks").json["holds"]
      assert_equal "hello", client.request("GET", "/hello").body
    end
  end
end
