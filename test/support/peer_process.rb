# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# Owns one real process of a test that answers calls over a link, as `test/support/apps/peer.rb` does. It ends with the
# test, whatever becomes of that.
class PeerProcess
  APP = File.expand_path("apps/peer.rb", __dir__)
  LIBRARY = File.expand_path("../../lib", __dir__)

  # @return [String] of its socket
  attr_reader :path

  # @return [String, nil] on TCP; nil without `cluster_listen`
  attr_reader :address

  # @return [Integer]
  attr_reader :pid

  # @param options [Hash{Symbol=>Object}] of Elah, by name
  def self.start(path, **options) = new(path, options)

  def initialize(path, options)
    @path = path
    @options = options
    start
  end

  # Starts it again, after {kill}.
  def start
    arguments = @options.map { |name, value| "#{name}=#{value}" }
    output, child_output = IO.pipe
    child_input, @input = IO.pipe
    @pid = Process.spawn(RbConfig.ruby, "-I#{LIBRARY}", APP, @path, *arguments, in: child_input, out: child_output)
    [child_input, child_output].each(&:close)
    @process = Process.detach(@pid)
    ready, @address = output.gets&.split
    ready == "ready" or raise "The peer did not start."
    output.close
  end

  def pause = signal(:STOP)

  def continue = signal(:CONT)

  def kill
    signal(:KILL)
    @process.join
  end

  # Ends it as it ends by itself.
  def stop
    signal(:CONT)
    @input.close unless @input.closed?
    @process.join(20) or kill
  end

  private

  def signal(name)
    Process.kill(name, @pid)
  rescue Errno::ESRCH
    nil # it has ended
  end
end
