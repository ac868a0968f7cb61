# frozen_string_literal: true

require "test_helper"
require "support/gems"

return unless Gems.present?("actionpack")

require "action_controller"

# The end of an action of ActionController::Live whose response nobody reads.
class ActionControllerAdapterTest < Minitest::Test
  # A response whose head is sent.
  class Sent
    def committed? = true
    def commit! = nil
  end

  # It waited with the buffer's monitor for room for the end of the stream, and who wanted to end it waited for the
  # monitor.
  def test_an_action_that_waits_to_close_its_stream_is_ended
    assert_includes Elah::Adapters.install, :ActionController
    stream = ActionController::Live::Buffer.new(Sent.new)
    action = Thread.new do
      ActionController::Live::Buffer.queue_size.times { stream.write("piece") }
      stream.close
    end
    Thread.pass until action.stop?
    ending = Thread.new { stream.abort }
    assert ending.join(30), "the stream is aborted"
    assert action.join(30), "the action has ended"
  ensure
    [action, ending].each(&:kill)
  end

  # Each client that left was an unhandled error for Rails, which its error reporter was told.
  def test_the_end_of_a_request_has_a_status
    Elah::Adapters.install
    errors = %w[Elah::ClientGone Elah::DeadlineExceeded]
    assert_equal [499, 504], errors.map { |name| ActionDispatch::ExceptionWrapper.status_code_for_exception(name) }
  end
end
