# frozen_string_literal: true

require "support/api_case"

# An API whose endpoints ask for keys.
class ApiKeyAuthorizationTest < APICase
  MINE = Elah::ApiKey.new("mine")
  YOURS = Elah::ApiKey.new("yours")

  def orders
    @orders ||= api do
      error_format :problem
      helpers Elah::ApiKey::Authorization
      get(:open) { authorized?(MINE) ? "known" : "unknown" }
      get(:either) { authorize!(MINE, YOURS, realm: "orders") && "in" }
      before { authorize!(MINE, realm: "orders") }
      get(:closed) { "in" }
    end
  end

  def test_without_the_key_it_is_401_with_a_challenge
    [{}, { "X-Api-Key" => "yours" }, { "Authorization" => "Bearer " }].each do |headers|
      answer = get(orders, "/closed", headers: headers)
      assert_equal [401, 'Bearer realm="orders"', "unauthorized"],
                   [answer.status, answer.headers["www-authenticate"], answer.json["code"]]
      assert_equal "Send the key as Authorization: Bearer KEY or as X-Api-Key: KEY.", answer.json["detail"]
    end
    assert_equal "in", get(orders, "/closed", headers: { "Authorization" => "Bearer mine" }).body
  end

  def test_one_of_several_keys_is_enough
    %w[mine yours].each { |key| assert_equal "in", get(orders, "/either", headers: { "X-Api-Key" => key }).body }
    assert_equal 401, get(orders, "/either", headers: { "X-Api-Key" => "theirs" }).status
  end

  def test_an_endpoint_may_only_ask
    assert_equal %w[unknown known],
                 [{}, { "X-Api-Key" => "mine" }].map { |headers| get(orders, "/open", headers: headers).body }
  end

  def test_no_key_lets_nobody_in
    closed = api do
      helpers Elah::ApiKey::Authorization
      get(:all) { authorize!(realm: "none") }
    end
    assert_equal 401, get(closed, "/all", headers: { "X-Api-Key" => "mine" }).status
  end

  def test_a_header_of_its_own
    own = api do
      helpers Elah::ApiKey::Authorization
      helpers { def offered_key = request.header("x-pool-key") || super }
      get(:pool) { authorize!(MINE, realm: "pool") && "in" }
    end
    statuses = %w[X-Pool-Key X-Api-Key X-Other].map { |name| get(own, "/pool", headers: { name => "mine" }).status }
    assert_equal [200, 200, 401], statuses
  end

  # A String or Regexp as key took the key of the client as a pattern: "." was let in. nil was a NoMethodError.
  def test_only_an_api_key_is_compared
    { String => "s3cret", Regexp => /s3cret/, NilClass => nil, Symbol => :s3cret, Array => [MINE] }.each do |type, key|
      closed = api do
        helpers Elah::ApiKey::Authorization
        rescue_from(TypeError) { |error| error!(error.message, 500) }
        get(:first) { authorize!(key, realm: "orders") && "in" }
        get(:second) { authorized?(MINE, key) ? "in" : "out" }
      end
      [{}, *[".", "s3cret", "mine", "^", "x*"].map { |text| { "X-Api-Key" => text } }].each do |headers|
        %w[/first /second].each do |path|
          answer = get(closed, path, headers: headers)
          assert_equal 500, answer.status, "#{key.inspect} #{headers}"
          assert_includes answer.body, "not #{type}: wrap it in Elah::ApiKey.new(...)."
          refute_includes answer.body, "s3cret"
        end
      end
    end
  end
end
