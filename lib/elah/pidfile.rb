# frozen_string_literal: true

require_relative "errors"

module Elah
  # Owns the file that holds the id of the serving process. It is written as the server starts and removed as it ends.
  class Pidfile
    # Raised when the file names a process that lives.
    class Held < Error; end

    # @param path [String, nil] nil writes no file
    # @yield while the file is held
    # @return [Object] what the block gives
    # @raise [Held] when another process that lives holds it
    # @raise [SystemCallError] when it cannot be written
    def self.hold(path, &block)
      path ? new(path).hold(&block) : yield
    end

    # @param path [String]
    def initialize(path)
      @path = File.expand_path(path)
    end

    # @see Pidfile.hold
    def hold
      write
      yield
    ensure
      File.delete(@path) if @written && owner == Process.pid
    end

    private

    # Creation is exclusive, so that of two servers that start together one is told of the other.
    def write
      File.open(@path, File::WRONLY | File::CREAT | File::EXCL) { |file| file.puts(Process.pid) }
      @written = true
    rescue Errno::EEXIST
      holder = owner
      raise Held, "The pid file #{@path} is held by process #{holder}, which is running." if holder && running?(holder)

      File.delete(@path)
      retry
    end

    def owner = Integer(File.read(@path), exception: false)

    # A process that was re-executed with the same id holds its own file.
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
