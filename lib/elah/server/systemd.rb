# frozen_string_literal: true

require "socket"
require_relative "../config/options/environment"

module Elah
  # The protocols sd_notify(3) and sd_listen_fds(3) between this process and the service manager that started it. Without a manager it sends
  # nothing.
  class Systemd
    # The first descriptor that a manager passes.
    FIRST_DESCRIPTOR = 3

    # @param process_id [Integer]
    # @return [Array<Integer>] the descriptors of listening sockets that were passed to this process
    def self.take_descriptors(process_id = Process.pid)
      pid, count = Options::Environment.take_listen_descriptors
      pid == process_id ? Array.new(count) { |position| FIRST_DESCRIPTOR + position } : []
    end

    # @return [Float, nil] seconds between two watchdog signals that the manager expects
    attr_reader :watchdog_seconds

    # @param address [String, nil] of the manager's socket: a path, or an abstract name that begins with @
    # @param watchdog_seconds [Float, nil] seconds between two watchdog signals that the manager expects
    def initialize(address = Options::Environment.notify_socket, watchdog_seconds: Options::Environment.watchdog_seconds)
      @address = address
      @watchdog_seconds = watchdog_seconds
      @next_watchdog = 0.0
    end

    # The server is ready, also after a restart, which keeps the main process.
    def ready = notify("READY=1", "MAINPID=#{Process.pid}", "STATUS=Serving")

    # The server begins to restart.
    def reloading = notify("RELOADING=1", "MONOTONIC_USEC=#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond)}")

    # The process executes its next image, which sends no watchdog signal before it has loaded the app: the manager waits longer for the next one.
    #
    # @param seconds [Numeric] that the app may take
    def loading(seconds) = @watchdog_seconds && notify("WATCHDOG=1", interval(@watchdog_seconds + seconds))

    # The server begins to stop.
    def stopping = notify("STOPPING=1", "STATUS=Draining")

    # Sends the watchdog signal at half of the manager's interval, if the block is true. It ends the longer wait of {#loading}.
    #
    # @param now [Float] seconds of the monotonic clock
    def watchdog(now)
      return unless @watchdog_seconds && now >= @next_watchdog && yield

      @next_watchdog = now + @watchdog_seconds / 2
      notify("WATCHDOG=1", interval(@watchdog_seconds))
    end

    private

    def interval(seconds) = "WATCHDOG_USEC=#{(seconds * 1_000_000).round}"

    # Ignores a manager that does not listen: its exit must not stop the server.
    def notify(*lines)
      return unless @address

      Socket.open(:UNIX, :DGRAM) do |socket|
        socket.sendmsg_nonblock(lines.join("\n"), 0, Addrinfo.unix(@address.sub(/\A@/, "\0"), :DGRAM), exception: false)
      end
    rescue SystemCallError
      nil
    end
  end
end
