# frozen_string_literal: true

require_relative "../errors"

module Elah
  # The file with the ID of the server process, written at its start and removed at its exit.
  class Pidfile
    # The file contains the ID of a running process.
    class Held < Error; end

    # The file cannot be written.
    class NotWritable < Error; end

    # @param path [String, nil] nil writes no file
    # @yield while the file is held
    # @return [Object] the value of the block
    # @raise [Held] when another running process holds it
    # @raise [NotWritable]
    def self.hold(path, &block)
      path ? new(path).hold(&block) : yield
    end

    # @param path [String]
    def initialize(path)
      @path = Text.path(path)
    end

    # @see Pidfile.hold
    def hold
      write
      yield
    ensure
      File.delete(@path) if @written && owner == Process.pid
    end

    private

    def write
      until create
        holder = owner
        raise Held, "Process #{holder} of the pid file #{@path} is running: stop it, or set another --pidfile." if holder && running?(holder)

        File.delete(@path)
      end
      @written = true
    rescue SystemCallError => e
      raise NotWritable, "The pid file #{@path} cannot be written: #{e.class.new.message}. Make its folder, or set another --pidfile."
    end

    # Exclusive, so of two servers that start together one fails.
    def create
      File.open(@path, File::WRONLY | File::CREAT | File::EXCL) { |file| file.puts(Process.pid) }
      true
    rescue Errno::EEXIST
      false
    end

    def owner
      Integer(File.read(@path), exception: false)
    rescue Errno::ENOENT
      nil
    end

    # A process that executed itself again keeps its ID and its file.
    def running?(pid)
      return false if pid == Process.pid || !pid.positive?

      Process.kill(0, pid)
      true
    rescue Errno::ESRCH
      false
    rescue Errno::EPERM
      true
    end
  end
end
