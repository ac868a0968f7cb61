# frozen_string_literal: true

# A process that owns accounts and does what the test writes to its standard input, one line each: `call KEY METHOD
# ARGUMENTS...`. It answers with `= VALUE` or `! CLASS MESSAGE`. Arguments: the store's directory, the placement's file,
# slot, generation, durability.
require "io/wait"
require "test_helper"
require "support/entity_case"
require "support/file_placement"

Minitest.seed = 1
Minitest::Runnable.reset

# Answers one process's lines.
class EntityWorker
  def initialize(dir, path, slot, generation, durability)
    Elah::Placement.current = FilePlacement.new(path, slot.to_i, generation.to_i)
    store = Elah::Store.open(dir, bytes_max: 64 * 1024**2)
    Elah.config = Elah::Config.build(entity_moving_seconds: 0.2)
    @accounts = Class.new(EntityCase::Account) do
      entity_name "shared"
      durability durability.to_sym
    end.in(store)
  end

  def run
    Elah.run do
      answer(:ready)
      while (line = next_line)
        serve(line)
      end
    end
  end

  private

  # The loop answers calls of others meanwhile.
  def next_line
    $stdin.wait_readable
    $stdin.gets
  end

  def serve(line)
    _, key, name, *arguments = line.split
    arguments.map! { |argument| argument.match?(/\A-?\d+\z/) ? argument.to_i : argument }
    answer(@accounts[key].public_send(name, *arguments))
  rescue StandardError => e
    write("! #{e.class} #{e.message}")
  end

  def answer(value) = write("= #{value.inspect}")

  def write(line) = $stdout.syswrite("#{line}\n")
end

EntityWorker.new(*ARGV).run
exit!(0)
