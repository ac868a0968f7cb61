# frozen_string_literal: true

require "test_helper"
require "elah/server/supervisor/control"
require "support/patience"

# The lines between the supervisor and a worker, over the sockets that they use.
class SupervisorControlTest < Minitest::Test
  include Patience

  def setup
    @supervisor, @worker = Elah::Supervisor::Control.pair
  end

  def teardown = [@supervisor, @worker].each(&:close)

  # The rest of a line was lost where the socket had no room, and the next line continued it: a worker that had been
  # suspended did not hear that it should stop.
  def test_lines_reach_a_worker_that_did_not_read_for_a_while
    shards = Array.new(20_000, &:to_s)
    20.times { |number| @supervisor.say("release", number.to_s, shards.join(",")) }
    @supervisor.say("stop")
    received = []
    wait_until("the last line arrives") do
      received.concat(@worker.lines)
      @supervisor.flush
      received.last == "stop"
    end
    assert_equal Array.new(20) { |number| "release #{number} #{shards.join(',')}" } << "stop", received
  end

  # The supervisor took the end for a pause, and asked again and again without a rest.
  def test_a_worker_that_died_in_the_middle_of_a_line_has_closed
    @worker.io.write("ready\nrelea")
    @worker.io.close_write
    assert_equal ["ready"], @supervisor.lines
    assert_nil @supervisor.lines
  end

  def test_a_worker_that_has_closed_is_told_nothing
    @worker.close
    @supervisor.say("stop")
    assert_nil @supervisor.lines
  end
end
