# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "http_client"

# Owns one real server of a test: `exe/elah serve` in a process of its own, on a port of the system's choice, in a
# temporary folder. `start` returns when it listens; `stop` ends it by TERM and says whether it went well.
class ElahServer
  EXECUTABLE = File.expand_path("../../exe/elah", __dir__)
  # How long workers without a supervisor may take to notice.
  ORPHANS_SECONDS = 5
  LISTENING = %r{listening on ((?:tcp|unix)://\S+)}.freeze

  # Raised when the server does not come up, or does not end as it should.
  class Failure < StandardError; end

  # @return [String] where it listens, as tcp://127.0.0.1:41234
  attr_reader :url

  # @return [Integer] of the server, for signals and /proc
  attr_reader :pid

  # @return [String] its temporary folder and working directory; the data is below it
  attr_reader :folder

  # Starts a server. With a block it is stopped after the block, and the block's value is returned.
  #
  #   ElahServer.start("run ->(env) { [200, {}, ['hi']] }", request_seconds: 1) { |server| server.get("/") }
  #
  # @param app [String] the path of an app file, or the source of one
  # @param extension [String] ".rb" or ".ru", for a source
  # @param env [Hash{String=>String, nil}] added to the environment
  # @param arguments [Array<String>] added to the command line
  # @param under [Array<String>] a command that runs the server's command, as `strace` does
  # @param options [Hash{Symbol=>Object}] of Elah, by name
  # @return [ElahServer]
  # @raise [Failure] when it ends before it listens, or is silent
  def self.start(app, extension: ".rb", env: {}, arguments: [], under: [], **options)
    server = new(app, extension: extension, env: env, arguments: arguments, under: under, options: options)
    return server unless block_given?

    begin
      result = yield server
      server.stop
      result
    ensure
      server.kill
    end
  end

  def initialize(app, extension:, env:, arguments:, under:, options:)
    @folder = Dir.mktmpdir("elah-test")
    file = File.file?(app) ? File.expand_path(app) : File.join(@folder, "app#{extension}")
    File.write(file, app) unless File.file?(app)
    defaults = { bind: "tcp://127.0.0.1:0", data: File.join(@folder, "data"), run_dir: File.join(@folder, "run") }
    flags = defaults.merge(options).flat_map { |name, value| flag(name, value) }
    spawn(env, [*under, EXECUTABLE, "serve", file, *flags, *arguments])
    @url = wait_for(LISTENING)[1]
  rescue StandardError
    kill
    raise
  end

  # @return [Integer, nil] the TCP port
  def port = url[/:(\d+)\z/, 1]&.to_i

  # @return [String] http://HOST:PORT
  def http_url = url.sub("tcp:", "http:")

  # @return [String] all it wrote so far, also what nobody has read yet
  def log
    Thread.pass while @reader.alive? && !(@reader.stop? && @output.wait_readable(0).nil?)
    @lock.synchronize { @log.dup }
  end

  # @yieldparam client [HttpClient]
  def connect(**options, &block) = HttpClient.open(url, **options, &block)

  # Sends one request on a connection of its own.
  #
  # @return [HttpClient::Answer]
  def request(verb, target, **options) = connect { |client| client.request(verb, target, **options) }

  def get(target, **options) = request("GET", target, **options)

  # Waits until the log matches.
  #
  # @param pattern [Regexp]
  # @return [MatchData]
  # @raise [Failure] when the server ends first, or after `seconds`
  def wait_for(pattern, seconds: 120)
    give_up_at = monotonic + seconds
    @lock.synchronize do
      until (match = pattern.match(@log))
        left = give_up_at - monotonic
        raise Failure, "The server ended before its log matched #{pattern.inspect}:\n#{@log}" if @log_ended
        raise Failure, "The log did not match #{pattern.inspect} within #{seconds} s:\n#{@log}" if left <= 0

        @grown.wait(@lock, left)
      end
      match
    end
  end

  # Sends a signal, unless the server has ended.
  def signal(name)
    Process.kill(name, @pid) unless ended?
  rescue Errno::ESRCH
    @process.join
  end

  # Ends it and checks that it ended by itself, with status 0.
  #
  # @raise [Failure]
  def stop(with: :TERM, seconds: 60)
    signal(with)
    status = wait_until_ended(seconds)
    raise Failure, "The server ended with #{status}:\n#{log}" unless status.success?
  ensure
    kill
  end

  # @return [Process::Status] how it ended
  # @raise [Failure] when it runs on
  def wait_until_ended(seconds = 60)
    @process.join(seconds) or raise Failure, "The server did not end within #{seconds} s:\n#{log}"
    @reader.join
    @process.value
  end

  # Ends it at once, if it runs, with its workers, and removes its folder.
  def kill
    workers = children
    signal(:KILL)
    workers.each { |pid| kill_child(pid) }
    @process.join
    @reader.join(ORPHANS_SECONDS) # they hold its other end
    FileUtils.remove_entry(@folder, true)
  end

  # @return [Boolean]
  def ended? = !@process.alive?

  private

  def children
    return [] if ended?

    File.read("/proc/#{@pid}/task/#{@pid}/children").split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end

  def kill_child(pid)
    Process.kill(:KILL, pid)
  rescue Errno::ESRCH
    nil # it has ended by itself
  end

  def spawn(env, command)
    @output, input = IO.pipe
    @pid = Process.spawn(env, *command, chdir: @folder, %i[out err] => input, in: File::NULL)
    input.close
    @process = Process.detach(@pid)
    @log = +""
    @lock = Mutex.new
    @grown = ConditionVariable.new
    @reader = Thread.new { read_log }
  end

  def read_log
    loop do
      bytes = @output.readpartial(65_536).force_encoding(Encoding::UTF_8)
      grow { @log << bytes }
    end
  rescue EOFError
    nil # it has ended
  ensure
    grow { @log_ended = true }
  end

  def grow
    @lock.synchronize do
      yield
      @grown.broadcast
    end
  end

  def flag(name, value)
    option = "--#{name.to_s.tr('_', '-')}"
    case value
    when true then [option]
    when false then [option.sub("--", "--no-")]
    when Array then value.flat_map { |one| [option, one.to_s] }
    else [option, value.to_s]
    end
  end

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
