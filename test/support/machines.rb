# frozen_string_literal: true

require "open3"

# Machines of a test: network namespaces of this one, on a bridge, each with an address of its own. Only root can make them.
class Machines
  # Raised when the system refuses.
  class Refused < StandardError; end

  HOST = 254

  # @return [String, nil] why this system cannot have them
  def self.obstacle
    return "network namespaces need root" unless Process.uid.zero?

    ip("netns", "add", "elah-#{Process.pid}")
    ip("netns", "delete", "elah-#{Process.pid}")
    nil
  rescue Refused, Errno::ENOENT => e
    "network namespaces are refused: #{e.message}"
  end

  def self.ip(*arguments)
    output, status = Open3.capture2e("ip", *arguments)
    status.success? or raise Refused, "ip #{arguments.join(' ')}: #{output}"
  end

  # Makes so many, and removes them after the block.
  def self.start(count)
    machines = new(count)
    yield machines
  ensure
    machines&.remove
  end

  def initialize(count)
    @net = "10.77.#{Process.pid % 250}"
    @bridge = "elah#{Process.pid % 100_000}"
    @names = []
    ip("link", "add", @bridge, "type", "bridge")
    ip("address", "add", "#{address(HOST)}/24", "dev", @bridge)
    ip("link", "set", @bridge, "up")
    count.times { |number| add(number + 1) }
  rescue StandardError
    remove
    raise
  end

  # @return [String] the network in the form of pg_hba.conf
  def network = "#{@net}.0/24"

  # @param number [Integer] of a machine, from 1
  # @return [String]
  def address(number) = "#{@net}.#{number}"

  # @return [Array<String>] a command that runs another one on the machine
  def on(number) = ["ip", "netns", "exec", @names[number - 1]]

  # Takes the machine off the network.
  def cut(number) = ip("link", "set", port(number), "down")

  # Puts it back.
  def join(number) = ip("link", "set", port(number), "up")

  def remove
    @names.each { |name| quietly { ip("netns", "delete", name) } }
    quietly { ip("link", "delete", @bridge) }
  end

  private

  def ip(...) = Machines.ip(...)

  def quietly
    yield
  rescue Refused
    nil # gone already
  end

  # The end of the machine's cable in the bridge.
  def port(number) = "#{@bridge}-#{number}"

  def add(number)
    name = "elah-#{Process.pid}-#{number}"
    ip("netns", "add", name)
    @names << name
    ip("link", "add", port(number), "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", port(number), "master", @bridge, "up")
    ip("-n", name, "address", "add", "#{address(number)}/24", "dev", "eth0")
    %w[lo eth0].each { |device| ip("-n", name, "link", "set", device, "up") }
  end
end
