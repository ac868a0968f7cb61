# frozen_string_literal: true

require "open3"

# Machines of a test: network namespaces of this one, on a bridge, each with an address of its own. Only root can make
# them.
class Machines
  # Raised when the system refuses.
  class Refused < StandardError; end

  # What a machine drops: what comes from an address, or what it sends there.
  DROPS = { from: "input", to: "output" }.freeze

  HOST = 254

  # Each process takes one of them.
  NETS = (64...128).flat_map { |second| (0...250).map { |third| "10.#{second}.#{third}" } }.freeze

  # @return [String, nil] why this system cannot have them
  def self.obstacle
    return "network namespaces need root" unless Process.uid.zero?

    ip("netns", "add", "elah-#{Process.pid}")
    ip("netns", "delete", "elah-#{Process.pid}")
    run("nft", "--version")
    nil
  rescue Refused, Errno::ENOENT => e
    "network namespaces are refused: #{e.message}"
  end

  def self.ip(*arguments) = run("ip", *arguments)

  # @raise [Refused]
  def self.run(*command, **options)
    output, status = Open3.capture2e(*command, **options)
    status.success? or raise Refused, "#{command.join(' ')}: #{output}"
  end

  # Makes so many, and removes them after the block.
  def self.start(count)
    machines = new(count)
    yield machines
  ensure
    machines&.remove
  end

  def initialize(count)
    @net = NETS.fetch(Process.pid % NETS.size)
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

  # Has a machine drop frames, in one direction or both.
  #
  # @param from [Array<String>] addresses from which nothing arrives
  # @param to [Array<String>] addresses to which nothing leaves
  def drop(number, from: [], to: [])
    chains = { from: from, to: to }.reject { |_, addresses| addresses.empty? }.map do |direction, addresses|
      hook = DROPS.fetch(direction)
      side = direction == :from ? "saddr" : "daddr"
      "chain #{hook} {\ntype filter hook #{hook} priority 0\nip #{side} { #{addresses.join(', ')} } drop\n}\n"
    end
    Machines.run(*on(number), "nft", "-f", "-", stdin_data: "table ip elah {\n#{chains.join}}\n")
  end

  # Ends a {#drop}.
  def heal(number) = Machines.run(*on(number), "nft", "delete", "table", "ip", "elah")

  def remove
    @names.each_index { |index| quietly { ip("link", "delete", port(index + 1)) } } # a namespace may take its time
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
