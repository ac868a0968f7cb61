# frozen_string_literal: true

require "support/api_case"

# What `responder:` of a route says, and when it is asked for. What responders answer is tested with real servers
# (test/integration/responders_test.rb and ranked_set_responder_test.rb).
class APIRespondersTest < Minitest::Test
  def api(&block) = Class.new(Elah::API, &block)

  def test_routes_have_the_responders_that_they_were_given
    api = api do
      get(:free) { "" }
      get(:plain, raw: true, responder: :given) { "" }
      post(:late, raw: true, responder: -> { :asked }) { "" }
      put(:without, raw: true, responder: -> {}) { "" }
    end
    paths = api.routes.map(&:path)
    assert_equal({ "/plain" => :given, "/late" => :asked }, api.responders.to_h.transform_keys { |id| paths[id] })
  end

  def test_a_block_is_asked_anew_by_each_worker
    count = 0
    api = api { get(:late, raw: true, responder: -> { count += 1 }) { "" } }
    assert_equal [[[0, 1]], [[0, 2]]], [api.responders, api.responders]
  end

  # What a responder would go past without a word.
  def test_what_comes_before_a_handler_and_a_responder_exclude_each_other
    {
      "A responder answers in no format: the route needs raw: true." => proc { get(:plain, responder: :given) { "" } },
      "A responder answers before before of the route." => proc { before { authorize! }; get(:plain, raw: true, responder: :given) { "" } },
      "A responder answers before params of the route." => proc { params { requires :a }; get(:plain, raw: true, responder: :given) { "" } },
      "A responder answers HEAD as it answers GET, which do_not_route_head! forbids." => proc { do_not_route_head!; get(:plain, raw: true, responder: :given) { "" } },
      "A responder answers before a version is chosen." => proc do
        version("v1", using: :header, vendor: "x") { get(:plain, raw: true) { "" } }
        get(:plain, raw: true, responder: :given) { "" }
      end
    }.each do |message, definition|
      error = assert_raises(Elah::API::DefinitionError) { api(&definition).compile! }
      assert_match(%r{GET /?plain of .*: #{Regexp.escape(message)}}, error.message)
    end
  end

  def test_hooks_of_a_mounting_api_count_too
    inner = api { get(:plain, raw: true, responder: :given) { "" } }
    inner.compile!
    outer = api do
      before { authorize! }
      mount inner
    end
    assert_raises(Elah::API::DefinitionError) { outer.compile! }
  end
end
