# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"

# IO#close beside a loop.
class ClosingTest < Minitest::Test
  # It got the IOError too, in the wait of its cleanup, even in a shield.
  def test_a_fiber_that_is_cancelled_already_gets_no_second_exception
    gate = Thread::Queue.new
    seen = []
    Elah.run do
      stream, = UNIXSocket.pair
      reader = Elah.async do
        stream.read(1)
      rescue Elah::Cancelled
        Elah.shield { gate.pop && seen << :cleaned }
        raise
      end
      reader.cancel
      stream.close
      gate << true
      assert_kind_of Elah::Cancelled, reader.wait.error
    end
    assert_equal [:cleaned], seen
  end

  # Once a loop had run, every File.open with a block raised a Ractor::IsolationError in a Ractor, and its file stayed
  # open.
  def test_a_ractor_closes_its_files
    script = <<~'RUBY'
      require "elah"
      Elah.run do
        ractor = Ractor.new { File.open("/dev/null") { |file| file }.closed? }
        p ractor.respond_to?(:value) ? ractor.value : ractor.take
      end
    RUBY
    out, = Open3.capture2e(RbConfig.ruby, "-W0", "-Ilib", "-e", script, chdir: File.expand_path("../../..", __dir__))
    assert_equal "true\n", out
  end
end
