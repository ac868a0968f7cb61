# frozen_string_literal: true

require_relative "../native"

module Elah
  # The listening sockets of one server: inherited from a manager or the previous image, or bound by itself.
  class Sockets
    # Connections that the kernel keeps for a listener until they are accepted.
    BACKLOG = 4096

    # Replaces the address of a socket from the manager.
    GIVEN = "given"
    private_constant :GIVEN

    # Binds the addresses that a server would have to bind, and closes them again.
    #
    # @param addresses [Array<String>] to listen on
    # @param held [Array<String>] addresses on which the server listens already
    # @param frees_ports [Boolean] whether its exit frees a port on another host; workers keep theirs
    # @raise [Elah::ListenError]
    def self.try(addresses, held:, frees_ports:)
      return if held.include?(GIVEN)

      held = held.reject { |address| lost?(address) }
      ports = frees_ports ? held.filter_map { |address| Listener.parse(address)&.port } : []
      new(addresses.reject { |address| held.include?(address) || ports.include?(Listener.parse(address)&.port) }).remove
    end

    # @param address [String]
    # @return [Boolean] whether it is a Unix socket whose file is gone, so that no client reaches it
    def self.lost?(address)
      path = Listener.parse(address)&.path
      !path.nil? && !File.exist?(path)
    end

    # @param path [String, nil]
    # @return [Array(Integer, Integer), nil] device and inode of the file of a Unix socket, which tell it from another server's with the same path
    def self.file(path)
      stat = path && File.lstat(path)
      [stat.dev, stat.ino] if stat&.socket?
    rescue SystemCallError
      nil
    end

    # @param addresses [Array<String>] to listen on; not used when a manager passes sockets
    # @param inherited [Array<Array(String, Integer, Array)>] address, descriptor and file, from {#state} of the previous image
    # @param given [Array<Integer>] descriptors from the manager
    # @raise [Elah::ListenError] when an address is in use or invalid, or a descriptor does not listen
    def initialize(addresses, inherited: [], given: [])
      inherited += given.map { |descriptor| [GIVEN, descriptor] }
      is_given = inherited.any? { |address, _| address == GIVEN }
      @entries = []
      inherited.each { |address, descriptor, file| take(address, ListeningSocket.adopt(descriptor), file, is_given, addresses) }
      (is_given ? [] : addresses - @entries.map(&:first)).each { |address| bind(address) }
    rescue Error
      close
      raise
    end

    # @return [Array<Elah::ListeningSocket>]
    def all = @entries.map { |_, socket, _| socket }

    # @return [String] for the log
    def addresses = all.map(&:address).join(" and ")

    # @return [Array<Array(String, Integer, Array)>] for the next image of this process
    def state = @entries.map { |address, socket, file| [address, socket.fileno, file] }

    # @return [Array<Integer>]
    def descriptors = all.map(&:fileno)

    # Stops listening in this process; keeps the files of Unix sockets for other processes.
    def close
      @files = files
      all.each(&:close)
      @entries = []
    end

    # Stops listening in a fork, also on the loop's descriptors of the same sockets, so a fork never accepts connections.
    def leave_in_fork
      links = descriptors.filter_map { |descriptor| link(descriptor) }
      close
      Dir.children("/proc/self/fd").each { |descriptor| IO.for_fd(descriptor.to_i).close if links.include?(link(descriptor)) }
      @files = {} # they are not the fork's to remove
    end

    # Stops listening and removes the files of Unix sockets that this server bound.
    def remove
      close unless @files
      @files.each { |path, file| unlink(path, file) }
    end

    private

    def bind(address)
      sockets = ListeningSocket.bind(address, BACKLOG)
      @entries.concat(sockets.map { |socket| [address, socket, Sockets.file(socket.socket_path)] })
    end

    def take(address, socket, file, is_given, addresses)
      return @entries << [address, socket, file] if is_given || (addresses.include?(address) && !Sockets.lost?(address))

      path = socket.socket_path
      unlink(path, file)
      socket.close
    end

    # Leaves the file of another server that has taken the path over.
    def unlink(path, file)
      File.unlink(path) if file && Sockets.file(path) == file
    end

    def link(descriptor)
      File.readlink("/proc/self/fd/#{descriptor}")
    rescue SystemCallError
      nil
    end

    def files = @entries.filter_map { |address, socket, file| [socket.socket_path, file] unless address == GIVEN }
  end
end
