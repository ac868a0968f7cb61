# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../qr_code"

# The first QR code of a process, for which a gem is loaded.
class QrCodeTest < Minitest::Test
  # It was loaded on the loop, which was blocked for a tenth of a second.
  def test_a_thread_loads_the_gem
    refute defined?(::RQRCode), "loaded already"
    Elah.run do
      others = Thread::Queue.new
      drawn = Elah.async { Links::QrCode.new("https://example.org/").svg }
      others << :turn until drawn.wait(0.001)
      assert_includes drawn.value, "<svg"
      assert_operator others.size, :>, 0
    end
    assert_equal 1, Elah::Offload.default.size
  end
end
