# frozen_string_literal: true

require "support/api_case"

# What `responder:` of a route says, and when it is asked for. What responders answer is tested with real servers
# (test/integration/responders_test.rb and ranked_set_responder_test.rb).
class APIRespondersTest < Minitest::Test
  def api(&block) = Class.new(Elah::API, &block)

  def test_routes_have_the_responders_that_they_were_given
    api = api do
      get(:free) { "" }
      get(:plain, responder: :given) { "" }
      post(:late, responder: -> { :asked }) { "" }
      put(:without, responder: -> {}) { "" }
    end
    paths = api.routes.map(&:path)
    assert_equal({ "/plain(.:format)" => :given, "/late(.:format)" => :asked }, api.responders.to_h.transform_keys { |id| paths[id] })
  end

  def test_a_block_is_asked_anew_by_each_worker
    count = 0
    api = api { get(:late, responder: -> { count += 1 }) { "" } }
    assert_equal [[[0, 1]], [[0, 2]]], [api.responders, api.responders]
  end

  def test_routes_with_versions_have_none
    versioned = api do
      version "v1", using: :header, vendor: "x"
      get(:plain, responder: :given) { "" }
    end
    error = assert_raises(Elah::API::DefinitionError) { versioned.compile! }
    assert_match(/GET plain of .*: A responder answers before a version is chosen/, error.message)
  end
end
