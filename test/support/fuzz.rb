# frozen_string_literal: true

# The harness of the seeded mutation tests in Ruby: how long they run, and how they change bytes. `crates/elah-fuzz` is
# the same for Rust.
#
#   class NumbersTest < Minitest::Test
#     NUMBERS = Fuzz::Mutator.new(%w[12 -7], %w[0 e 99999999999999999999])
#
#     def test_numbers
#       Fuzz.run(self) { |random| assert_number(NUMBERS.mutated(random)) }
#     end
#   end
#
# Such tests are the files `test/fuzz/*_test.rb`, which the step "fuzz" runs. A test runs for ELAH_FUZZ_SECONDS, 20
# seconds without it. A case that fails prints its seed; with ELAH_FUZZ_SEED=<seed> it is the first case that runs. Each
# test also prints the seed of its first case, for cases that never end. They are printed without `warn`, because a test
# may switch warnings off.
module Fuzz
  SECONDS = 20
  SEED_END = 2**64

  # Calls the block again and again, each time with other random numbers, until the time is over; at least once.
  #
  # @param test [Minitest::Test] the test that runs
  # @yieldparam random [Random]
  # @raise [Exception] what a case raises, after its seed has been printed
  def self.run(test)
    ends_at = now + Integer(ENV.fetch("ELAH_FUZZ_SECONDS", SECONDS))
    seed = Integer(ENV.fetch("ELAH_FUZZ_SEED") { Random.new_seed % SEED_END })
    last_seed = seed
    $stderr.puts "#{test.class}##{test.name} begins with ELAH_FUZZ_SEED=#{seed}"
    loop do
      last_seed = seed
      yield Random.new(seed)
      break if now >= ends_at

      seed = (seed + 1) % SEED_END
    end
  rescue Exception
    $stderr.puts(repeat_line(test, last_seed)) if last_seed
    raise
  end

  def self.repeat_line(test, seed)
    "Fuzz test #{test.class}##{test.name} failed. Repeat this case with ELAH_FUZZ_SEED=#{seed} ELAH_FUZZ_SECONDS=0."
  end
  private_class_method :repeat_line

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  private_class_method :now

  # Makes inputs out of samples: pieces are moved, repeated, taken out, and replaced by words of the format.
  class Mutator
    # The most changes of one input, and the most bytes that one change puts in or takes out.
    CHANGES_MAX = 6
    SPAN_MAX = 64

    # @param samples [Array<String>] inputs that are valid, or nearly so
    # @param words [Array<String>] pieces that mean something in the format
    def initialize(samples, words)
      @samples = samples.map(&:b)
      @words = words.map(&:b)
    end

    # @param random [Random]
    # @return [String] bytes: a sample with up to six changes; one in eight stays as it is
    def mutated(random)
      bytes = @samples.sample(random: random).dup
      random.rand(1..CHANGES_MAX).times { change(bytes, random) } unless random.rand(8).zero?
      bytes
    end

    private

    def change(bytes, random)
      at = random.rand(bytes.bytesize + 1)
      span = random.rand(SPAN_MAX)
      case random.rand(8)
      when 0 then bytes.setbyte(at, bytes.getbyte(at) ^ (1 << random.rand(8))) if at < bytes.bytesize
      when 1 then bytes.setbyte(at, random.rand(256)) if at < bytes.bytesize
      when 2 then bytes.insert(at, random.bytes(random.rand(4)))
      when 3 then bytes.slice!(at, span)
      when 4 then bytes.insert(random.rand(bytes.bytesize + 1), bytes[at, span])
      when 5 then bytes.replace(bytes[0, at] + other_end(random))
      when 6 then bytes.insert(at, word(random))
      else word(random).then { |word| bytes[at, word.bytesize] = word }
      end
    end

    def other_end(random) = @samples.sample(random: random).then { |other| other[random.rand(other.bytesize + 1)..] }
    def word(random) = @words.sample(random: random)
  end
end
