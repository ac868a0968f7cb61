# frozen_string_literal: true

require "support/api_case"
require "bigdecimal"
require "open3"
require "rbconfig"

# Coercers on their own; the parity test has the broad table.
class APITypesTest < Minitest::Test
  Types = Elah::Framework::Types
  INVALID = Types::INVALID

  def test_numbers
    assert_equal 12, coerce(Integer, "12")
    assert_equal INVALID, coerce(Integer, "0x1f")
    assert_equal INVALID, coerce(Integer, Float::INFINITY)
    assert_equal 1, coerce(Integer, 1.9)
    assert_equal 1.5, coerce(Numeric, "1.5")
    assert_equal 7, coerce(Numeric, "7")
    assert_equal INVALID, coerce(Numeric, "x")
    assert_equal BigDecimal("1.10"), coerce(BigDecimal, "1.10")
    assert_nil coerce(Integer, "")
    assert_equal 10**999 - 1, coerce(Integer, "9" * 999)
    assert_equal INVALID, coerce(Integer, "9" * 1001)
    assert_equal INVALID, coerce(Integer, "9" * 10_000_000)
    assert_nil coerce(Float, nil)
  end

  # It was Infinity, and an endpoint that sent it back as JSON failed.
  def test_a_number_beyond_the_range_of_a_float_is_none
    assert_equal INVALID, coerce(Float, "1e400")
    assert_equal INVALID, coerce(Numeric, "-1e400")
    assert_equal BigDecimal("1e400"), coerce(BigDecimal, "1e400")
  end

  def test_booleans
    assert_equal [true, false, true], ["on", "0", 1].map { |value| coerce(Elah::API::Boolean, value) }
    assert_equal INVALID, coerce(Elah::API::Boolean, "maybe")
    assert_equal true, coerce(TrueClass, "yes")
    assert_equal INVALID, coerce(TrueClass, "no")
    assert_equal false, coerce(FalseClass, "no")
  end

  def test_dates_and_times
    assert_equal Date.new(2026, 2, 28), coerce(Date, "2026-02-28")
    assert_equal INVALID, coerce(Date, "2026-02-30")
    assert_equal INVALID, coerce(Time, 5)
    assert_equal Time.utc(2026, 2, 28, 10), coerce(Time, "2026-02-28T10:00:00Z")
  end

  def test_collections
    assert_equal [1, 2], coerce(Array[Integer], %w[1 2])
    assert_equal INVALID, coerce(Array[Integer], [nil])
    assert_equal Set[1, 2], coerce(Set[Integer], %w[1 2 2])
    assert_equal [[1], []], coerce(Array[Array[Integer]], [["1"], ""])
    assert_equal INVALID, coerce(Set, "x")
  end

  # The members of an object became a Set of pairs.
  def test_a_set_is_a_list
    assert_equal INVALID, coerce(Set, { "k" => 1 })
    assert_equal [Set[1], Set[2]], [coerce(Set, [1, 1]), coerce(Set, Set[2])]
  end

  # 5 MB of spaces before a letter held the loop for a second: the search went back over all of them.
  def test_a_blank_text_is_nothing_but_spaces
    refute Elah::Framework::Blank.blank?("#{' ' * 2_000_000}x")
    assert(["", " \t\n", "\u3000 "].all? { |blank| Elah::Framework::Blank.blank?(blank) })
  end

  def test_a_list_that_is_coerced_is_a_new_one
    given = %w[1]
    coerce(Array[Integer], given)
    assert_equal %w[1], given
  end

  def test_choices
    assert_equal Date.new(2026, 1, 1), Types.coercer([Integer, Date]).call("2026-01-01")
    assert_equal [1, "x"], Types::Custom::Mixed.new([Integer, String]).call(%w[1 x])
    assert_equal INVALID, Types::Custom::Mixed.new([Integer, Date]).call(%w[x])
    assert_nil Types::Custom::Mixed.new([Integer, Date]).call("x")
  end

  def test_classes_with_parse
    upper = Class.new { def self.parse(value) = value.upcase }
    assert_equal INVALID, coerce(upper, "x"), "a String is not an instance of the class"
    upper.define_singleton_method(:parsed?) { |value| value.is_a?(String) }
    assert_equal "X", coerce(upper, "x")
    assert_equal %w[A B], coerce(Array[upper], %w[a b])
  end

  def test_a_type_can_say_what_is_wrong
    picky = Class.new { def self.parse(_value) = Elah::Framework::Types::InvalidValue.new("is too picky") }
    shop = Class.new(Elah::API) do
      format :json
      params { requires :v, type: picky }
      get(:x) { {} }
    end
    status, _, body = shop.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/x", "QUERY_STRING" => "v=1")
    assert_equal [400, '{"error":"v is too picky"}'], [status, body.first]
  end

  def test_an_unknown_type_is_a_wrong_definition
    error = assert_raises(Elah::API::DefinitionError) { Types.coercer(Object) }
    assert_match(/No coercion is known for the type Object. Known are Integer, Float/, error.message)
  end

  def test_racks_uploaded_file_is_a_file
    script = <<~'RUBY'
      require "rack"
      require "elah"
      require "stringio"
      class Uploads < Elah::API
        params do
          requires :one, type: Rack::Multipart::UploadedFile
          optional :more, type: Array[Rack::Multipart::UploadedFile]
        end
        post(:x) { params[:one][:filename] }
      end
      part = ->(name, rest) { "--b\r\nContent-Disposition: form-data; name=\"#{name}\"#{rest}\r\n" }
      ask = lambda do |body|
        Uploads.call("REQUEST_METHOD" => "POST", "PATH_INFO" => "/x", "QUERY_STRING" => "",
                     "CONTENT_TYPE" => "multipart/form-data; boundary=b", "CONTENT_LENGTH" => body.bytesize.to_s,
                     "rack.input" => StringIO.new(body))
      end
      file = part.("one", '; filename="a.txt"') + "Content-Type: text/plain\r\n\r\nhello\r\n--b--\r\n"
      puts ask.(file).values_at(0, 2).inspect
      puts ask.(part.("one", "") + "\r\nhello\r\n--b--\r\n").values_at(0, 2).inspect
    RUBY
    output, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script, chdir: File.expand_path("../../..", __dir__))
    assert_predicate status, :success?, output
    assert_equal ['[201, ["a.txt"]]', '[400, ["one is invalid"]]'], output.lines(chomp: true)
  end

  private

  def coerce(type, value) = Types.coercer(type).call(value)
end
