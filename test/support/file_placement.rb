# frozen_string_literal: true

# A placement that several processes of a test share through a file: two numbers for each slot, its generation and the
# version. What a supervisor writes on its board, a test writes here.
class FilePlacement
  SHARDS = 16

  attr_reader :process_id, :slot, :generation

  # Says who owns what.
  #
  # @param owner [Integer] the slot of every shard, or of the even ones if `odd` is given
  # @param odd [Integer] the slot of the odd ones
  # @param generations [Array<Integer>] of each slot
  def self.write(path, version:, owner:, generations:, odd: owner)
    File.write("#{path}.new", [version, owner, odd, *generations].join(" "))
    File.rename("#{path}.new", path)
  end

  def initialize(path, slot, generation)
    @path = path
    @slot = slot
    @generation = generation
    @process_id = Process.pid
    @blocks = []
  end

  def server_id = Process.ppid

  def shards = SHARDS

  def version = numbers[0]

  def slots = numbers.size - 3

  def owner_of(shard) = numbers[shard.even? ? 1 : 2]

  def term_of(_shard) = version

  def generation_of(slot) = numbers[3 + slot]

  def link_path(slot, generation) = "#{@path}.#{slot}.#{generation}.sock"

  def own_path = link_path(slot, generation)

  def network? = false

  def before_release(&block)
    @blocks << block
    {}
  end

  def release(shards) = @blocks.each { |block| block.call(shards.to_h { |shard| [shard, term_of(shard)] }) }

  def publish(_name, _value) = nil

  private

  def numbers = File.read(@path).split.map(&:to_i)
end
