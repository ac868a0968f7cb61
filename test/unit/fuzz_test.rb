# frozen_string_literal: true

require "test_helper"
require "support/fuzz"

# The harness of the seeded mutation tests: a case that fails can be repeated.
class FuzzTest < Minitest::Test
  SEED = /ELAH_FUZZ_SEED=(\d+)/.freeze

  def teardown = ENV.delete("ELAH_FUZZ_SEED")

  def test_a_failing_case_prints_its_seed_and_is_the_first_one_under_it
    first, text = fail_at(3)
    begins, fails = text.scan(SEED).flatten.map { |seed| Integer(seed) }
    assert_equal begins + 2, fails
    ENV["ELAH_FUZZ_SEED"] = fails.to_s
    assert_equal first, fail_at(1).first
  end

  # As the test of JSON does, because another library warns.
  def test_seeds_are_printed_where_warnings_are_off
    verbose = $VERBOSE
    $VERBOSE = nil
    assert_equal 2, fail_at(1).last.scan(SEED).size
  ensure
    $VERBOSE = verbose
  end

  def test_all_fuzz_tests_use_the_harness
    Dir[File.expand_path("../fuzz/*_test.rb", __dir__)].each do |file|
      text = File.read(file)
      assert_equal text.scan(/def test_/).size, text.scan(/Fuzz\.run\(self\)/).size, file
    end
  end

  private

  # @return [Array(Integer, String)] the random number of the case that failed, and what was printed
  def fail_at(case_number)
    number = nil
    _, text = capture_io do
      assert_raises(IOError) do
        Fuzz.run(self) do |random|
          number = random.rand(2**64)
          raise IOError, "the case fails" if (case_number -= 1).zero?
        end
      end
    end
    [number, text]
  end
end
