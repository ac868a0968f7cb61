# frozen_string_literal: true

# A worker that does for others what the tests ask of it, until its standard input ends. Arguments: the path of its
# socket, and options of Elah as name=value.
require "elah"
require "io/wait"
require "elah/entity/peer_links"

class OnlyHere < StandardError; end

# Who gets it knows another release of the class.
class Changed
  def marshal_dump = []
end

class Peer
  def initialize(path, options)
    @path = path
    @options = options
    @notes = []
  end

  def run
    Elah.run do
      config = Elah::Config.build(**@options)
      port = Elah::PeerLinks::Port.bind(config)
      @links = Elah::PeerLinks.open(Elah.current_loop, @path, config: config, port: port) do |name, *rest|
        public_send(name, *rest)
      end
      @links.identify("shop", Process.pid) if @links.address
      puts "ready #{@links.address}"
      $stdout.flush
      $stdin.wait_readable
      @links.close
    end
  end

  def echo(value) = value

  def length(text) = text.bytesize

  def text(bytes) = "x" * bytes

  def seconds_left = Elah.deadline

  def note(value) = @notes << value

  def notes = @notes

  def wait(seconds, value)
    sleep(seconds)
    value
  end

  def wait_noting_the_end(seconds)
    @notes << :begun
    sleep(seconds)
    @notes << :completed
  rescue Elah::Error => e
    @notes << e.class.name
    raise
  end

  def fail(name, message)
    raise ArgumentError, "the cause"
  rescue ArgumentError
    raise Object.const_get(name), message
  end

  def fail_as_bad_request = raise(Elah::BadRequest.new("no such pool", 404, "no_pool"))

  def fail_with_an_object_that_cannot_be_written
    error = ArgumentError.new("it holds a Proc")
    error.instance_variable_set(:@proc, -> {})
    error.instance_variable_set(:@number, 7)
    raise error
  end

  def a_proc = -> {}

  def changed = Changed.new

  def keep_in_the_fiber(value)
    Thread.current.keys.tap { Thread.current[:kept] = value }
  end

  def forward(path, message, seconds) = @links.peer(path).call(message, seconds)

  def links = [@links.open_incoming, @links.unread_bytes]

  # Leaves the process this much address space for more.
  def leave_room(bytes)
    used = Integer(File.read("/proc/self/status")[/^VmSize:\s+(\d+)/, 1]) * 1024
    Process.setrlimit(:AS, used + bytes, Process.getrlimit(:AS).last)
  end

  def stress
    GC.stress = true
  end
end

path, *options = ARGV
Peer.new(path, options.to_h { |option| option.split("=", 2) }.transform_keys(&:to_sym)).run
