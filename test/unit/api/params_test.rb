# frozen_string_literal: true

require "support/api_case"

# What Grape 1.6 lacks or leaves open about parameters: length, rules of the app's own, wrong definitions, codes.
class APIParamsTest < APICase
  # A rule of the app's own, as `even:`.
  class EvenValidator < Elah::API::Validator
    def validate_param!(name, params)
      fail_with(name, "must be even") unless params[name].to_i.even?
    end
  end

  def test_length
    assert_equal 200, check("ab") { optional :v, length: { min: 2, max: 3 } }
    assert_equal "v is expected to have length within 2 and 3", check("a") { optional :v, length: { min: 2, max: 3 } }
    assert_equal "v is expected to have length greater than or equal to 2",
                 check("a") { optional :v, length: { min: 2 } }
    assert_equal "v is expected to have length less than or equal to 1", check("ab") { optional :v, length: { max: 1 } }
    assert_equal "v is expected to have length exactly equal to 3", check("ab") { optional :v, length: { is: 3 } }
    assert_equal "v is too long", check("ab") { optional :v, length: { max: 1, message: "is too long" } }
    assert_equal 200, check("5") { optional :v, type: Integer, length: { max: 0 } }, "an Integer has no length"
  end

  # A regexp with letters outside ASCII failed with a 500.
  def test_bytes_do_not_match_letters
    letters = api { params { requires :v, regexp: /\A[a-zé]+\z/ }; post(:x) { "ok" } }
    part = "Content-Disposition: form-data; name=\"v\"\r\nContent-Type: application/octet-stream\r\n\r\n\xFF".b
    answer = ask(letters, "POST", "/x", body: "--b\r\n".b + part + "\r\n--b--\r\n",
                                        headers: { "Content-Type" => "multipart/form-data; boundary=b" })
    assert_equal [400, "v is invalid"], [answer.status, answer.body]
  end

  # They failed with a 500.
  def test_elements_of_a_group_that_are_no_objects_declare_nothing
    group = api do
      format :json
      params { optional(:rows, type: Array) { optional :n } }
      post(:x) { [declared(params), declared(params, include_missing: false)] }
    end
    assert_equal [{ "rows" => [{ "n" => nil }, { "n" => 2 }] }, { "rows" => [{}, { "n" => 2 }] }],
                 post_json(group, "/x", { rows: [1, { n: 2, other: 3 }] }).json
  end

  # false became nil.
  def test_a_json_document_is_no_boolean
    [JSON, Array[JSON]].each do |type|
      strict = api { params { requires :a, type: type }; post(:x) { params[:a].inspect } }
      [false, true, 1].each do |value|
        answer = post_json(strict, "/x", { a: value })
        assert_equal [400, "a is invalid"], [answer.status, answer.body], [type, value].inspect
      end
      assert_equal %w[nil nil nil], [nil, "", " "].map { |value| post_json(strict, "/x", { a: value }).body }
    end
  end

  # The client would look for a fault in its value.
  def test_a_database_that_is_down_is_no_fault_of_the_value
    down = ->(*) { raise Elah::Unavailable, "down" }
    gone = -> { raise Elah::DeadlineExceeded, "late" }
    [{ values: down }, { type: String, coerce_with: down }, { values: proc { raise Elah::Store::Busy, "busy" } },
     { except_values: -> { down.call } }].each do |rule|
      assert_raises(Elah::Unavailable, Elah::Store::Busy) { check("a") { optional :v, **rule } }
    end
    assert_raises(Elah::DeadlineExceeded) { check("a") { optional :v, values: gone } }
    assert_equal "v does not have a valid value", check("a") { optional :v, values: ->(value) { value.odd? } }
  end

  def test_a_rule_of_the_apps_own
    assert_equal 200, check("4") { requires :v, even: true }
    assert_equal "v must be even", check("3") { requires :v, even: true }
    assert_equal "v odd!", check("3") { requires :v, even: { message: "odd!" } }
    nested = api do
      format :json
      params { requires(:rows, type: Array) { requires :n, even: true } }
      post(:x) { {} }
    end
    assert_equal({ "error" => "rows[1][n] must be even" }, post_json(nested, "/x", { rows: [{ n: 2 }, { n: 3 }] }).json)
  end

  def test_mutable_defaults_are_not_shared_between_requests
    lists = api do
      format :json
      params { optional :v, type: Array, default: [1] }
      get(:x) { params[:v] << 2 }
    end
    2.times { assert_equal [1, 2], get(lists, "/x").json }
  end

  def test_what_is_in_a_mutable_default_is_not_shared_between_requests
    filters = api do
      format :json
      params do
        optional :filter, type: Hash, default: { tags: [+"a"], range: { from: [] } }
        optional :rows, type: Array, default: [{ "ids" => [] }].freeze
        optional(:kinds, type: Set[String], default: Set["k"])
      end
      get(:x) do
        params[:filter][:tags][0] << "b"
        params[:filter][:tags] << "c"
        params[:filter][:range][:from] << 1
        params[:rows] << 2
        params[:rows][0][:ids] << 3
        params[:kinds] << "l"
        params.to_h.transform_values { |value| value.is_a?(Set) ? value.to_a : value }
      end
    end
    expected = { "filter" => { "tags" => %w[ab c], "range" => { "from" => [1] } }, "rows" => [{ "ids" => [3] }, 2],
                 "kinds" => %w[k l] }
    3.times { assert_equal expected, get(filters, "/x").json }
  end

  def test_broken_parameters_are_400
    plain = api do
      format :json
      get(:x) { params }
      post(:x) { params }
    end
    assert_equal 400, get(plain, "/x?a=%ff").status
    assert_equal 400, get(plain, "/x?a=1&a[b]=2").status
    assert_equal 400, get(plain, "/x?format=json&a=%ff").status
    versioned = api do
      version "v1", using: :param
      get(:x) { "x" }
    end
    assert_equal 400, get(versioned, "/x?a=%ff").status
    broken = post(plain, "/x", body: "a=%zz", headers: { "Content-Type" => "application/x-www-form-urlencoded" })
    assert_equal 400, broken.status
    assert_equal 400, post_json(plain, "/x", '{"a":"').status
    assert_equal 400, post_json(plain, "/x", "{\"a\":\"\xff\"}").status
  end

  def test_parameters_are_read_when_they_are_asked_for
    lazy = api do
      get(:unread) { "fine" }
    end
    assert_equal "fine", get(lazy, "/unread?a=%ff").body
  end

  def test_wrong_declarations_say_what_is_wrong
    {
      /group type is required/ => proc { requires(:a) { requires :b } },
      /group type must be Array, Hash/ => proc { requires(:a, type: String) { requires :b } },
      /given names the parameter b, which is not declared/ => proc { given(:b) { requires :c } },
      /unknown validator: colour. Known are allow_blank, as, .*coerce_with, default, / =>
        proc { requires :a, colour: "red" },
      /unknown validator: tpye. Did you mean type\?/ => proc { requires :a, tpye: Integer },
      /Params :paging not found/ => proc { use :paging },
      /:type may not be supplied with :types/ => proc { requires :a, type: Integer, types: [Integer, String] },
      /must supply type for coerce_with/ => proc { requires :a, coerce_with: ->(v) { v } },
      /coerce_with disallowed for type: JSON/ => proc { requires :a, type: JSON, coerce_with: ->(v) { v } },
      /default: 9 is incompatible with values: 1..5/ => proc { optional :a, type: Integer, values: 1..5, default: 9 },
      /default: 1 is incompatible with except/ => proc { optional :a, type: Integer, except_values: [1], default: 1 },
      /type: Integer is incompatible with values/ => proc { optional :a, type: Integer, values: %w[a b] },
      /length: accepts a Hash/ => proc { optional :a, length: 3 },
      /length: accepts either/ => proc { optional :a, length: { is: 3, max: 4 } }
    }.each do |message, block|
      error = assert_raises(Elah::API::DefinitionError) { api { params(&block) } }
      assert_match message, error.message
    end
  end

  # `values: "admin"` allowed each part of the text, such as "a", and `except_values:` refused them.
  def test_a_text_is_no_list_of_values
    text = "admin"
    [{ values: text }, { except_values: text }, { values: { value: text } }, { values: { except: text } },
     { except_values: { value: text } }].each do |rule|
      error = assert_raises(Elah::API::DefinitionError) { api { params { requires :role, **rule } } }
      assert_match(/need an Array, a Range or a Proc, not "admin"/, error.message)
    end
  end

  # A number where an object should be made same_as and rules of the app fail: the client got a 500.
  def test_an_element_that_is_no_object_is_missing_its_parameters
    nested = api do
      format :json
      params do
        requires :items, type: Array do
          requires :new, same_as: :old
          requires :size, even: true
        end
      end
      post(:x) { {} }
    end
    [1, "text", nil, true].each do |element|
      answer = post_json(nested, "/x", { items: [{ new: 1, old: 1, size: 2 }, element] })
      assert_equal 400, answer.status, element.inspect
      assert_equal "items[1][new] is missing, items[1][size] is missing", answer.json["error"]
    end
  end

  def test_shared_parameters_take_options
    pages = api do
      format :json
      helpers { params(:paging) { |options| optional :per_page, type: Integer, values: 1..options[:max] } }
      params { use :paging, max: 5 }
      get(:x) { params }
    end
    assert_equal 200, get(pages, "/x?per_page=5").status
    assert_equal 400, get(pages, "/x?per_page=6").status
  end

  private

  # @return [Integer, String] 200, or what is wrong with the parameter v
  def check(value, &block)
    checked = api do
      format :json
      params(&block)
      get(:x) { {} }
    end
    answer = get(checked, "/x?v=#{value}")
    answer.status == 200 ? 200 : answer.json.fetch("error")
  end
end
