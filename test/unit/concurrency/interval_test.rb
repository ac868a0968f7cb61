# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

# `sleep("1")` in a fiber raised a NoMethodError of the scheduler's code, and `sleep(-1)` returned at once.
class IntervalTest < Minitest::Test
  WAITS = {
    sleep: ->(seconds) { sleep(seconds) },
    mutex: ->(seconds) { Thread::Mutex.new.then { |mutex| mutex.synchronize { mutex.sleep(seconds) } } },
    select: ->(seconds) { IO.pipe { |reader, _| IO.select([reader], nil, nil, seconds) } }
  }.freeze

  REFUSED = { "1" => TypeError, false => TypeError, [1] => TypeError, -1 => ArgumentError, -0.001 => ArgumentError,
              Float::NAN => ArgumentError }.freeze

  # As a duration of ActiveSupport, which is no Numeric.
  DURATION = Class.new(BasicObject) do
    def method_missing(...) = 0.001.public_send(...)
  end

  WAITS.each do |name, wait|
    define_method(:"test_#{name}_refuses_what_ruby_refuses") do
      Elah.run do
        REFUSED.each do |seconds, error|
          raised = assert_raises(error) { wait.call(seconds) }
          assert_match(/time interval/, raised.message)
        end
      end
    end

    define_method(:"test_#{name}_accepts_what_ruby_accepts") do
      Elah.run { [0, -0.0, 0.001, 1r / 1000, DURATION.new].each { |seconds| wait.call(seconds) } }
    end
  end
end
