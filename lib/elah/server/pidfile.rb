# frozen_string_literal: true

require "etc"
require "fileutils"
require_relative "../errors"
require_relative "patient_lock"

module Elah
  # The file with the ID of the server process, written at its start and removed at its exit.
  class Pidfile
    # The file contains the ID of a running process.
    class Held < Error; end

    # The file cannot be written.
    class NotWritable < Error; end

    # How much younger than the file a process has to be: the clock of the system may be set a little.
    TOLERANCE_SECONDS = 2
    private_constant :TOLERANCE_SECONDS

    class << self
      # @param path [String, nil] nil and a device, such as /dev/null, write no file
      # @param earlier [String, nil] the file of the image that this process executed before, which is deleted
      # @yield while the file is held
      # @return [Object] the value of the block
      # @raise [Held] when another running process holds it
      # @raise [NotWritable]
      def hold(path, earlier: nil, &block)
        new(earlier).release if earlier && earlier != path
        path && !File.chardev?(path) ? new(path).hold(&block) : yield
      end

      # Finds out, for a trial run, whether the server could hold the file.
      #
      # @param path [String, nil]
      # @param server [Integer] its process ID
      # @raise [Held]
      # @raise [NotWritable]
      def check(path, server) = path && !File.chardev?(path) && new(path, server).check
    end

    # @param path [String]
    # @param server [Integer] ID of the process that holds it
    def initialize(path, server = Process.pid)
      @path = Text.path(path)
      @server = server
    end

    # @see Pidfile.hold
    def hold
      write
      yield
    ensure
      release if @written && @server == Process.pid # in a fork it stays
    end

    # @see Pidfile.check
    def check
      refuse_special
      refuse_held
      probe = "#{@path}.#{Process.pid}"
      create(probe)
      File.delete(probe)
    rescue SystemCallError => e
      raise not_writable(e)
    end

    # Deletes the file, if it is this process's.
    def release
      File.delete(@path) if owner == @server
    end

    private

    def write
      refuse_special
      owner == @server ? with_draft(@path) { |draft| File.rename(draft, @path) } : (delete_stale until create(@path))
      @written = true
    rescue SystemCallError => e
      raise not_writable(e)
    end

    # Of servers that start together, the lock keeps the second from deleting the file that the first has written meanwhile.
    def delete_stale
      refuse_special
      File.open(@path) do |stale|
        PatientLock.take(stale) or raise NotWritable, "The pid file #{@path} is locked by another process."
        refuse_held
        File.delete(@path) if File.identical?(stale, @path)
      end
    rescue Errno::ENOENT
      nil # another server has deleted it
    end

    # The file appears with its content, so of two servers that start together one fails.
    def create(path)
      with_draft(path) { |draft| File.link(draft, path) }
      true
    rescue Errno::EEXIST
      false
    end

    def with_draft(path)
      draft = "#{path}.#{Process.pid}.new"
      File.write(draft, "#{Process.pid}\n")
      yield draft
    ensure
      FileUtils.rm_f(draft)
    end

    def refuse_special
      return if %w[file directory].include?(File.ftype(@path))

      raise NotWritable, "The pid file #{@path} is no regular file: set another --pidfile."
    rescue Errno::ENOENT
      nil
    end

    def refuse_held
      holder = owner
      raise Held, "Process #{holder} of the pid file #{@path} is running: stop it, or set another --pidfile." if holder && running?(holder)
    end

    def not_writable(error)
      NotWritable.new("The pid file #{@path} cannot be written: #{error.class.new.message}. Make its folder, or set another --pidfile.")
    end

    def owner
      Integer(File.read(@path), exception: false)
    rescue Errno::ENOENT, Errno::ENOTDIR
      nil
    end

    # A process that executed itself again keeps its ID and its file.
    def running?(pid)
      return false if pid == @server || !pid.positive?

      Process.kill(0, pid)
      !other?(pid)
    rescue Errno::ESRCH, RangeError # no process has a number above 64 bits
      false
    rescue Errno::EPERM
      !other?(pid)
    end

    # After a crash of the machine, another program may have the number of the server. It began after the file was written. As the clock may have
    # been set since, the name counts as well.
    def other?(pid)
      return false if File.binread("/proc/#{pid}/cmdline").include?("elah")

      began = Integer(File.read("/proc/#{pid}/stat")[/.*\) (.*)/m, 1].split[19]) / Etc.sysconf(Etc::SC_CLK_TCK).to_f
      age = Process.clock_gettime(Process::CLOCK_BOOTTIME) - began
      age + TOLERANCE_SECONDS < Time.now - File.mtime(@path)
    rescue SystemCallError, NoMethodError, TypeError, ArgumentError # no such file, or of another form
      false
    end
  end
end
