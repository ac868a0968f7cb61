# frozen_string_literal: true

require_relative "native"

module Elah
  # The listening sockets of one server: those that a manager or the image before this one left open, and those it binds itself.
  class Sockets
    # Connections that the kernel keeps for a listener until they are accepted.
    BACKLOG = 4096

    # What stands for an address where the manager chose it.
    GIVEN = "given"
    private_constant :GIVEN

    # Binds what a server would have to bind, and lets it go.
    #
    # @param addresses [Array<String>] to listen on
    # @param held [Array<String>] where the server listens already
    # @param frees_ports [Boolean] whether a port that it has on another host is free once it has let go of that; workers keep theirs
    # @raise [Elah::ListenError]
    def self.try(addresses, held:, frees_ports:)
      return if held.include?(GIVEN)

      ports = frees_ports ? held.filter_map { |address| Listener.parse(address)&.port } : []
      new(addresses.reject { |address| held.include?(address) || ports.include?(Listener.parse(address)&.port) }).remove
    end

    # @param addresses [Array<String>] to listen on; not used when a manager gives sockets
    # @param inherited [Array<Array(String, Integer)>] address and descriptor, from {#state} of the image before this one
    # @param given [Array<Integer>] descriptors from the manager
    # @raise [Elah::ListenError] when an address is taken or wrong, or a descriptor does not listen
    def initialize(addresses, inherited: [], given: [])
      inherited += given.map { |descriptor| [GIVEN, descriptor] }
      is_given = inherited.any? { |address, _| address == GIVEN }
      @entries = []
      inherited.each { |address, descriptor| take(address, ListeningSocket.adopt(descriptor), is_given, addresses) }
      (is_given ? [] : addresses - @entries.map(&:first)).each { |address| @entries << [address, ListeningSocket.bind(address, BACKLOG)] }
    rescue Error
      close
      raise
    end

    # @return [Array<Elah::ListeningSocket>]
    def all = @entries.map(&:last)

    # @return [String] for the log
    def addresses = all.map(&:address).join(" and ")

    # @return [Array<Array(String, Integer)>] what a next image of this process takes them by
    def state = @entries.map { |address, socket| [address, socket.fileno] }

    # @return [Array<Integer>]
    def descriptors = all.map(&:fileno)

    # Stops listening in this process; files of Unix sockets stay for those that listen on.
    def close
      @paths = paths
      all.each(&:close)
      @entries = []
    end

    # Stops listening in a fork, also by the descriptors that the loop has for the same sockets: no server of this process takes connections there.
    def leave_in_fork
      links = descriptors.filter_map { |descriptor| link(descriptor) }
      close
      Dir.children("/proc/self/fd").each { |descriptor| IO.for_fd(descriptor.to_i).close if links.include?(link(descriptor)) }
    end

    # Stops listening and removes the files of Unix sockets that this server bound.
    def remove
      close unless @paths
      @paths.each { |path| File.unlink(path) if File.socket?(path) }
    end

    private

    def take(address, socket, is_given, addresses)
      return @entries << [address, socket] if is_given || addresses.include?(address)

      path = socket.socket_path
      socket.close
      File.unlink(path) if path && File.socket?(path)
    end

    def link(descriptor)
      File.readlink("/proc/self/fd/#{descriptor}")
    rescue SystemCallError
      nil
    end

    def paths = @entries.filter_map { |address, socket| socket.socket_path unless address == GIVEN }
  end
end
