# frozen_string_literal: true

require_relative "../../support/api_case"
require "open3"
require "rbconfig"
require "active_support"
require "active_support/notifications"

# The events of endpoints: whether they are emitted, and what they leave as it is. Their order and payloads are compared
# with Grape's in conformance/notifications_test.rb.
class NotificationsAdapterTest < APICase
  def recorded(pattern = /\.grape\z/, &block)
    events = []
    recorder = ->(name, _start, _finish, _id, payload) { events << [name, payload] }
    ActiveSupport::Notifications.subscribed(recorder, pattern, &block)
    events
  end

  def names(events) = events.map(&:first)

  def test_a_subscription_counts_from_the_next_request_until_it_ends
    shop = api { format :txt; get(:x) { "hello" } }
    assert_equal "hello", get(shop, "/x").body
    refute_predicate Elah::Adapters::Notifications, :listening?
    events = recorded do
      assert_predicate Elah::Adapters::Notifications, :listening?
      assert_equal "hello", get(shop, "/x").body
    end
    assert_includes names(events), "endpoint_run.grape"
    refute_predicate Elah::Adapters::Notifications, :listening?
  end

  def test_one_name_is_enough_and_other_names_are_not
    shop = api { format :txt; get(:x) { "hello" } }
    assert_equal ["format_response.grape"], names(recorded("format_response.grape") { get(shop, "/x") })
    recorded("sql.active_record") { refute_predicate Elah::Adapters::Notifications, :listening? }
  end

  def test_a_verb_that_the_path_does_not_have_runs_the_hooks
    shop = api { before { header "x-a", "1" }; get(:x) { "hello" } }
    events = recorded { assert_equal 405, delete(shop, "/x").status }
    assert_equal ["endpoint_run_filters.grape", "endpoint_run.grape"], names(events).first(2)
    assert_equal "Elah::API::Exceptions::MethodNotAllowed", events[1].last[:exception].first
  end

  def test_a_route_that_responds_itself_has_no_format
    shop = api { get(:x, raw: true) { request.respond(200, {}, "raw") } }
    events = recorded { assert_equal "raw", get(shop, "/x").body }
    assert_includes names(events), "endpoint_render.grape"
    refute_includes names(events), "format_response.grape"
  end

  def test_an_env_that_no_subscriber_reads_is_not_built
    shop = api { get(:x) { @env.nil? } }
    recorded { assert_equal "true", get(shop, "/x").body }
  end

  # Datadog's, OpenTelemetry's and Elastic's agents name an endpoint by these.
  def test_what_agents_read_of_an_endpoint
    shop = api { namespace(:items) { get(":id") { "one" } } }
    endpoint = recorded("endpoint_run.grape") { get(shop, "/items/1") }.first.last[:endpoint]
    assert_equal [shop, [":id"], ["GET"]], endpoint.options.values_at(:for, :path, :method)
    assert_same shop, shop.base
    assert_equal ["/items", "/items/:id"], [endpoint.routes.first.namespace, endpoint.routes.first.pattern.origin]
    assert_equal __FILE__, endpoint.source.source_location.first
  end

  # A process that has no ActiveSupport has no second code.
  def test_without_the_library_endpoints_have_one_variant
    script = <<~RUBY
      require "elah"
      shop = Class.new(Elah::API) { get(:x) { "hello" } }
      endpoint = shop.compiled.instance_variable_get(:@targets).first
      puts endpoint.respond_to?(:notifying), defined?(ActiveSupport).inspect
    RUBY
    output, = Open3.capture2e(RbConfig.ruby, "-I#{File.expand_path('../../../lib', __dir__)}", "-e", script)
    assert_equal "false\nnil\n", output
  end
end
