# frozen_string_literal: true

require "fileutils"
require "socket"

# The reference APIs of `bin/try`: each runs as `elah serve` on its port, with its data below tmp/try. An app's folder has its
# examples. `try.sh` has a curl line for every operation, at $URL and with files in $FOLDER. `sample.sh` sends the sample data to
# an app with a new store, at $URL or through the store in $DATA. `traffic.sh` sends something to $URL continuously.
class Try
  ROOT = File.expand_path("..", __dir__)
  PORTS = { "links" => 9301, "stats" => 9302, "items" => 9303, "ring_pools" => 9304, "leaderboards" => 9305 }.freeze
  START_SECONDS = 30

  # Raised when an app does not start, or exits by itself.
  class Failure < StandardError; end

  # A running app.
  App = Struct.new(:name, :url, :process, :log, keyword_init: true)

  # @return [Array<String>] the apps of this checkout
  def self.names = PORTS.keys.select { |name| File.file?(File.join(ROOT, "apps", name, "app.rb")) }

  # @param names [Array<String>]
  # @param folder [String] for data and logs
  def initialize(names, folder: File.join(ROOT, "tmp/try"))
    @names = names
    @folder = folder
    @apps = []
    @traffic = []
  end

  # Runs until INT, TERM or HUP.
  def run
    stop_requested = Queue.new
    %w[INT TERM HUP].each { |signal| trap(signal) { stop_requested << signal } }
    @names.each { |name| start(name) }
    @apps.each { |app| show(app) }
    puts "", "All run until ^C. Data and logs are in #{@folder}."
    @apps.each { |app| Thread.new { app.process.join && stop_requested << app } }
    ended = stop_requested.pop
    raise Failure, "#{ended.name} ended by itself:\n#{File.read(ended.log)}" if ended.is_a?(App)
  ensure
    stop
  end

  private

  def start(name)
    data = File.join(@folder, name)
    is_new = !File.exist?(data)
    FileUtils.mkdir_p(@folder)
    log = "#{data}.log"
    FileUtils.rm_f(log)
    url = "tcp://127.0.0.1:#{free_port(name)}"
    pid = Process.spawn(File.join(ROOT, "exe/elah"), "serve", File.join(ROOT, "apps", name, "app.rb"), "--bind", url, "--workers", "1",
                        "--data", data, chdir: ROOT, %i[out err] => [log, "a"], in: File::NULL, pgroup: true)
    app = App.new(name: name, process: Process.detach(pid), log: log, url: url.sub("tcp:", "http:"))
    @apps << app
    await(app)
    send_sample(app) if is_new
    send_traffic(app)
  end

  # The app's own port or, if that is taken, a free one.
  def free_port(name)
    TCPServer.open("127.0.0.1", PORTS.fetch(name)) { |server| server.addr[1] }
  rescue Errno::EADDRINUSE
    TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }.tap do |port|
      puts "Port #{PORTS.fetch(name)} is taken; #{name} takes #{port}."
    end
  end

  # Waits for the first response.
  def await(app)
    give_up_at = monotonic + START_SECONDS
    until responds?(app)
      raise Failure, "#{app.name} did not start:\n#{File.read(app.log)}" unless app.process.alive?
      raise Failure, "#{app.name} did not respond within #{START_SECONDS} s:\n#{File.read(app.log)}" if monotonic > give_up_at

      app.process.join(0.02)
    end
  end

  def responds?(app)
    host, port = app.url.match(%r{//(.+):(\d+)}).captures
    Socket.tcp(host, port.to_i) do |socket|
      socket.write("GET / HTTP/1.1\r\nHost: #{host}:#{port}\r\nConnection: close\r\n\r\n")
      socket.gets.to_s.start_with?("HTTP/1.1 ")
    end
  rescue Errno::ECONNREFUSED
    false
  end

  def send_sample(app)
    sample = File.join(ROOT, "apps", app.name, "sample.sh")
    return unless File.file?(sample)

    system({ "URL" => app.url, "DATA" => File.join(@folder, app.name) }, "sh", "-e", sample, chdir: File.dirname(sample), out: [app.log, "a"]) or
      raise Failure, "The sample data of #{app.name} was refused: #{sample} failed."
  end

  def send_traffic(app)
    traffic = File.join(ROOT, "apps", app.name, "traffic.sh")
    return unless File.file?(traffic)

    pid = Process.spawn({ "URL" => app.url }, "sh", traffic, in: File::NULL, out: File::NULL, err: [app.log, "a"], pgroup: true)
    @traffic << Process.detach(pid)
  end

  def show(app)
    puts "", "#{app.name}: #{app.url}"
    lines = File.join(ROOT, "apps", app.name, "try.sh")
    shown = File.readlines(lines).reject { |line| line.start_with?("#!") || line.strip.empty? }
    puts shown.map { |line| "  #{line.gsub('$URL', app.url).gsub('$FOLDER', @folder)}" }
  end

  def stop
    @traffic.each { |process| end_traffic(process) }
    @apps.each { |app| Process.kill(:TERM, app.process.pid) if app.process.alive? }
    @apps.each { |app| app.process.join }
  end

  def end_traffic(process)
    Process.kill(:TERM, -process.pid)
  rescue Errno::ESRCH
    nil # it has ended by itself
  ensure
    process.join
  end

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  unknown = ARGV - Try.names
  abort "There is no app #{unknown.join(', ')}; the apps are #{Try.names.join(', ')}." if unknown.any?
  begin
    Try.new(ARGV.empty? ? Try.names : ARGV).run
  rescue Try::Failure => e
    abort e.message
  end
end
