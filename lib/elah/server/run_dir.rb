# frozen_string_literal: true

require_relative "patient_lock"
require_relative "scoreboard"
require_relative "../config/options/environment"

module Elah
  # The folder of one running server for its scoreboard and the sockets of its workers: `PID/` below a private folder of the user. A lock on the
  # scoreboard marks a running server; the next start removes other folders.
  class RunDir
    # The interval at which a server calls {#keep}.
    KEEP_SECONDS = 3600

    # Leaves room for the names of sockets: the path of a Unix socket may have 107 bytes.
    PATH_BYTES_MAX = 80

    class << self
      # @param configured [String, nil] the option `run_dir`
      # @return [String] the folder of all servers of this user
      def base(configured)
        return Text.path(configured) if configured

        runtime = Options::Environment.runtime_folder
        Text.path(runtime ? File.join(runtime, "elah") : File.join(Options::Environment.temporary_folder, "elah-#{Process.uid}"))
      end

      # Creates the folder of this process.
      #
      # @param configured [String, nil] the option `run_dir`
      # @return [Elah::RunDir]
      # @raise [Elah::RunDirError] when the folder cannot be created, other users may write there, or a server with the same process ID uses it
      def make(configured)
        base = base(configured)
        make_private(base)
        lock = locked(base)
        remove_stale(base)
        new(File.join(base, Process.pid.to_s)).tap { |dir| dir.claim(lock) && lock = nil }
      rescue SystemCallError => e
        raise RunDirError, "Cannot use the run folder #{base}: #{e.message}. Set another with --run-dir."
      ensure
        lock&.close
      end

      # @param configured [String, nil] the option `run_dir`
      # @return [Array<Elah::RunDir>] of running servers
      def all(configured)
        base = base(configured)
        dirs = Dir.glob("*/scoreboard", base: base).map { |scoreboard| new(File.join(base, File.dirname(scoreboard))) }
        dirs.select(&:in_use?).sort_by(&:process_id)
      end

      private

      def make_private(base)
        Dir.mkdir(base, 0o700)
      rescue Errno::EEXIST
        stat = File.lstat(base)
        return if stat.directory? && stat.owned? && (stat.mode & 0o022).zero?

        raise RunDirError, "Other users may write to the run folder #{base}: set another with --run-dir."
      end

      # Two containers may share the folder, and have processes with the same ID.
      def locked(base) = File.open(base).tap { |folder| PatientLock.take(folder) }

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
    # @raise [Elah::RunDirError] when the paths of its sockets would be too long
    def initialize(path)
      @path = path
      return if path.bytesize <= PATH_BYTES_MAX

      raise RunDirError, "The path of the run folder #{path} exceeds #{PATH_BYTES_MAX} bytes: set a shorter one with --run-dir."
    end

    # @return [Integer] of the server's main process
    def process_id = File.basename(@path).to_i

    # @return [String]
    def scoreboard_path = File.join(@path, "scoreboard")

    # @param slot [Integer]
    # @param generation [Integer]
    # @return [String] the socket on which the worker of that generation accepts calls of other workers
    def link_path(slot, generation) = File.join(@path, "#{slot}-#{generation.to_s(36)}.sock")

    # @return [String, nil] the addresses of the server, once it serves
    def addresses
      File.read(addresses_path)
    rescue SystemCallError
      nil
    end

    # Creates the folder, in place of that of a dead process with the same ID.
    #
    # @param lock [File] that of the folder of all servers, until {#hold}
    # @raise [Elah::RunDirError] when a server uses it, which then runs in another container
    def claim(lock)
      @claim = lock
      raise RunDirError, "A server with the same process ID uses the run folder #{@path}. Set another with --run-dir." if in_use?

      remove
      Dir.mkdir(@path, 0o700)
    end

    # Stores the addresses of the server for readers of the scoreboard. Ignores a full disk, which must not stop the server.
    #
    # @param text [String]
    def addresses=(text)
      File.write(addresses_path, text)
    rescue SystemCallError
      nil
    end

    # Marks the server as running until this process and its forks have exited.
    def hold
      @lock = File.open(scoreboard_path)
      @lock.flock(File::LOCK_SH)
      @claim&.close
    end

    # Lets others make their folders, because this server has none.
    def give_up = @claim&.close

    # Makes the files young again, because cleaners remove old ones from /tmp. A file system that does not allow it must not stop the server.
    #
    # @param log [Elah::Log]
    # @return [Boolean] false when they were removed
    def keep(log)
      failures = [scoreboard_path, *Dir.glob("*", base: @path).map { |name| File.join(@path, name) }].filter_map { |path| touch(path) }
      log.warn("The times of files in the run folder #{@path} cannot be set: #{failures.first.message}. A cleaner may remove them") if failures.any?
      File.exist?(scoreboard_path)
    end

    # @return [Boolean] whether a process of that server runs
    def in_use?
      File.open(scoreboard_path) { |file| !file.flock(File::LOCK_EX | File::LOCK_NB) }
    rescue SystemCallError
      false
    end

    # @return [Boolean] whether there is a process with its ID
    def process_lives?
      Process.kill(0, process_id)
      true
    rescue Errno::ESRCH
      false
    rescue Errno::EPERM
      true
    end

    # Removes the folder and the files in it. The next start tries it again.
    def remove
      Dir.each_child(@path) { |name| File.unlink(File.join(@path, name)) }
      Dir.rmdir(@path)
    rescue SystemCallError
      nil
    end

    private

    # @return [SystemCallError, nil] nil also when it was removed, as the socket of a worker that has exited
    def touch(path)
      File.utime(nil, nil, path)
      nil
    rescue Errno::ENOENT
      nil
    rescue SystemCallError => e
      e
    end

    def addresses_path = File.join(@path, "addresses")
  end
end
