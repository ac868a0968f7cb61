# frozen_string_literal: true

require "test_helper"
require "support/gems"

return unless Gems.present?("sentry-ruby")

require "logger"
require "sentry-ruby"
require "sentry/transport/dummy_transport"

# The user of an error that is reported to Sentry: six requests that waited for each other were all reported as the
# last.
class SentryAdapterTest < Minitest::Test
  def setup
    Sentry.init do |config|
      config.dsn = "http://12345:67890@sentry.localdomain/sentry/42"
      config.transport.transport_class = Sentry::DummyTransport
      config.background_worker_threads = 0
      config.logger = Logger.new(nil)
    end
    Elah::Adapters.install
  end

  def teardown = Sentry.instance_variable_set(:@main_hub, nil)

  def test_each_fiber_reports_its_own_user
    run_at_once(6) { |number| Sentry.capture_message(number.to_s) }
    assert_equal 6, events.size
    events.each { |event| assert_equal event.message, event.user[:id].to_s }
  end

  # There, a report had none of what the request had set.
  def test_fibers_that_a_handler_makes_report_its_user
    run_at_once(2) { |number| Enumerator.new { |list| list << Sentry.capture_message(number.to_s) }.next }
    assert_equal 2, events.size
    events.each { |event| assert_equal event.message, event.user[:id].to_s }
  end

  def test_a_request_of_rack_begins_without_what_another_has_set
    app = Sentry::Rack::CaptureExceptions.new(->(_env) { Sentry.capture_message("next") && [200, {}, []] })
    run_at_once(2) { app.call("PATH_INFO" => "/", "rack.input" => StringIO.new) }
    assert_equal [{}, {}], events.map(&:user)
  end

  def test_outside_a_loop_the_thread_has_a_hub
    Sentry.set_user(id: 7)
    Thread.new { Sentry.set_user(id: 8) }.join
    assert_equal({ id: 7 }, Sentry.get_current_scope.user)
  end

  private

  # Each fiber sets its user, and runs the block when all have done so.
  def run_at_once(count)
    Elah.run do
      ready = Array.new(count) { Queue.new }
      fibers = ready.each_with_index.map do |queue, number|
        Elah.async do
          Sentry.set_user(id: number)
          queue.pop
          yield number
        end
      end
      ready.each { |queue| queue << true }
      fibers.each(&:value)
    end
  end

  def events = Sentry.get_current_client.transport.events
end
