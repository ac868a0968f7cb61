# frozen_string_literal: true

require "test_helper"
require "support/gems"
return unless Gems.present?("mysql2")

require "mysql2"
require "socket"
require "support/patience"

# Connecting by mysql2, in threads. A replica that was silent held up new connections to all other servers.
class Mysql2AdapterTest < Minitest::Test
  include Patience

  def setup
    Elah::Adapters.install
    @silent, @refusing = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
    @refuser = Thread.new { loop { @refusing.accept.close } }
  end

  def teardown
    @refuser.kill.join
    [@silent, @refusing].each(&:close)
  end

  def test_a_silent_server_holds_up_no_connection_to_another
    Elah.run do
      waiting = Array.new(Elah::Adapters::Mysql2::CONNECTING_MAX) { connecting(@silent) }
      Timeout.timeout(patience_seconds) { assert_kind_of Mysql2::Error, connecting(@refusing).wait.error }
      refute waiting.any?(&:done?)
    ensure
      @silent.close
      waiting.each { |fiber| fiber.wait.error }
    end
  end

  private

  def connecting(server)
    Elah.async { Mysql2::Client.new(host: "127.0.0.1", port: server.local_address.ip_port, connect_timeout: 90) }
  end
end
