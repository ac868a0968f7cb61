# frozen_string_literal: true

# A server that listens on a name with several addresses.
require "tempfile"
require "test_helper"
require "support/elah_server"

class ListeningNameTest < Minitest::Test
  HOSTS = "127.0.0.1 pair\n127.0.0.2 pair\n127.0.0.2 pair\n192.0.2.1 pair\n"
  # The machine has no 192.0.2.1, and one line of the file is written twice.
  UNDER = ["unshare", "--map-root-user", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""].freeze

  def setup
    @hosts = Tempfile.new("hosts").tap { |file| file.write(HOSTS) && file.close }
    skip "namespaces are not allowed here" unless system(*UNDER, @hosts.path, "true", err: File::NULL)
  end

  def teardown = @hosts.unlink

  # Only the first one was bound: `rackup -s elah`, which listens on localhost, was not reached at 127.0.0.1 where that
  # name has the address ::1 too.
  def test_it_listens_on_every_address_of_the_name
    serve do |server|
      assert_equal %w[hi hi], bodies(server)
      assert_match(/listening on tcp:\S+:#{server.port} and tcp:\S+:#{server.port}$/, server.log)
    end
  end

  def test_a_restart_keeps_all_of_them
    serve do |server|
      Process.kill(:USR2, server.pid)
      server.wait_for(/listening on .*listening on/m)
      assert_equal %w[hi hi], bodies(server)
    end
  end

  private

  def serve(&block)
    app = "run ->(_env) { [200, {}, [%q(hi)]] }"
    ElahServer.start(app, extension: ".ru", bind: "tcp://pair:0", under: [*UNDER, @hosts.path], &block)
  end

  def bodies(server)
    urls = %w[127.0.0.1 127.0.0.2].map { |host| "tcp://#{host}:#{server.port}" }
    urls.map { |url| HttpClient.open(url) { |client| client.get("/hi").body } }
  end
end
