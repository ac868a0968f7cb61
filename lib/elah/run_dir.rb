# frozen_string_literal: true

require_relative "board"
require_relative "options/environment"

module Elah
  # The folder in which one running server keeps its board and the sockets of its workers: `PID/` below a folder that is private to the
  # user. A lock on the board says that somebody of that server lives; folders of those that do not are removed by the next start.
  class RunDir
    # What is left for the names of sockets of the 107 bytes that the path of a Unix socket may have.
    PATH_BYTES_MAX = 80

    class << self
      # @param configured [String, nil] the option `run_dir`
      # @return [String] the folder of all servers of this user
      def base(configured)
        return File.expand_path(configured) if configured

        runtime = Options::Environment.runtime_folder
        runtime ? File.join(runtime, "elah") : File.join(Options::Environment.temporary_folder, "elah-#{Process.uid}")
      end

      # Makes the folder of this process.
      #
      # @param configured [String, nil] the option `run_dir`
      # @return [Elah::RunDir]
      # @raise [Elah::RunDirError] when the folder cannot be made, or others may write there
      def make(configured)
        base = base(configured)
        make_private(base)
        remove_stale(base)
        path = File.join(base, Process.pid.to_s)
        new(path).tap do |dir|
          dir.remove # that of a dead process with the same number
          Dir.mkdir(path, 0o700)
        end
      rescue SystemCallError => e
        raise RunDirError, "The folder #{base} for what runs cannot be used: #{e.message}."
      end

      # @param configured [String, nil] the option `run_dir`
      # @return [Array<Elah::RunDir>] those of the servers that live
      def all(configured)
        Dir[File.join(base(configured), "*", "board")].map { |board| new(File.dirname(board)) }.select(&:in_use?).sort_by(&:process_id)
      end

      private

      def make_private(base)
        Dir.mkdir(base, 0o700)
      rescue Errno::EEXIST
        stat = File.lstat(base)
        return if stat.directory? && stat.owned? && (stat.mode & 0o022).zero?

        raise RunDirError, "The folder #{base} for what runs is not this user's alone: name another with --run-dir."
      end

      def remove_stale(base)
        Dir.children(base).grep(/\A\d+\z/).each do |name|
          dir = new(File.join(base, name))
          dir.remove unless dir.process_lives? || dir.in_use?
        end
      end
    end

    # @return [String]
    attr_reader :path

    # @param path [String]
    # @raise [Elah::RunDirError] when sockets in it would have too long a name
    def initialize(path)
      @path = path
      return if path.bytesize <= PATH_BYTES_MAX

      raise RunDirError, "The folder #{path} for what runs is longer than #{PATH_BYTES_MAX} bytes: name a shorter one with --run-dir."
    end

    # @return [Integer] of the server's main process
    def process_id = File.basename(@path).to_i

    # @return [String]
    def board_path = File.join(@path, "board")

    # @param slot [Integer]
    # @param incarnation [Integer]
    # @return [String] where the worker of that incarnation takes the calls of others
    def link_path(slot, incarnation) = File.join(@path, "#{slot}-#{incarnation.to_s(36)}.sock")

    # @return [String, nil] where the server listens, once it serves
    def addresses
      File.read(addresses_path)
    rescue SystemCallError
      nil
    end

    # Notes where the server listens, for whoever reads the board. A disk without room is no reason not to serve.
    #
    # @param text [String]
    def addresses=(text)
      File.write(addresses_path, text)
    rescue SystemCallError
      nil
    end

    # Says that this process and its forks live, until all of them have ended.
    def hold
      @lock = File.open(board_path)
      @lock.flock(File::LOCK_SH)
    end

    # @return [Boolean] whether a process of that server lives
    def in_use?
      File.open(board_path) { |file| !file.flock(File::LOCK_EX | File::LOCK_NB) }
    rescue SystemCallError
      false
    end

    # @return [Boolean] whether there is a process of its number
    def process_lives?
      Process.kill(0, process_id)
      true
    rescue Errno::ESRCH
      false
    rescue Errno::EPERM
      true
    end

    # Removes the folder and the files in it.
    def remove
      Dir.each_child(@path) { |name| File.unlink(File.join(@path, name)) }
      Dir.rmdir(@path)
    rescue Errno::ENOENT
      nil
    end

    private

    def addresses_path = File.join(@path, "addresses")
  end
end
