# frozen_string_literal: true

require "tmpdir"
require_relative "patience"
require_relative "peer_process"

# Owns what tests of links share: a folder, peers in processes of their own, and a worker in this one.
class PeerLinksCase < Minitest::Test
  include Patience

  # A call that waits for a gather to send it.
  Deferred = Struct.new(:route, :message)

  # What both sides of a link say first.
  HELLO = [11, 0, "ELAHLINK", 1].pack("VCa8v").freeze

  # Without it minitest would run this class itself.
  def self.runnable_methods = equal?(PeerLinksCase) ? [] : super

  def setup
    @folder = Dir.mktmpdir("elah-links")
    @peers = []
    @complaints = []
  end

  def teardown
    @peers.each(&:stop)
    FileUtils.remove_entry(@folder, true)
  end

  # @param options [Hash] of Elah, by name
  # @return [PeerProcess]
  def start_peer(**options)
    PeerProcess.start(File.join(@folder, "peer-#{@peers.size}.sock"), **options).tap { |peer| @peers << peer }
  end

  # Runs the block as a worker that may call peers, and answers calls with `[:called, message]`.
  #
  # @param options [Hash] of Elah, by name
  # @yieldparam links [Elah::PeerLinks]
  def as_worker(**options)
    Elah.run do
      config = Elah::Config.build(**options)
      port = Elah::PeerLinks::Port.bind(config)
      path = File.join(@folder, "test.sock")
      links = Elah::PeerLinks.open(Elah.current_loop, path, config: config, log: self, port: port) do |message|
        [:called, message]
      end
      yield links
    ensure
      links&.close
    end
  end

  # Stands for the log.
  def warn(complaint) = @complaints << complaint

  # @return [String] the bytes of a call
  def call_frame(id, payload, seconds: 60)
    [21 + payload.bytesize, 1, id, 1, seconds * 1_000_000].pack("VCQ<VQ<") + payload
  end

  # A call that may be late.
  def call_in_time(peer, message, limited: :raise)
    peer.call(message, 0.05)
  rescue Elah::DeadlineExceeded
    nil
  rescue Elah::PeerLimited
    raise if limited == :raise
  end

  # Lets the loop turn.
  def turn
    Fiber.scheduler.yield
    true
  end
end
