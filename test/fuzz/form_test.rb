# frozen_string_literal: true

# Forms that were changed at random nest as Rack nests them, and what Rack refuses is refused.
require "test_helper"
require "support/fuzz"
require "rack"
require "rack/query_parser"
require "uri"

class FormFuzzTest < Minitest::Test
  RACK = Rack::QueryParser.make_default(*(1_000_000 if Rack.release < "3"), 8, params_limit: 100)
  SAMPLES = ["a[b][]=1&a[b][]=2&c=%C3%A9", "a[][b]=1&a[][c]=2&a[][b]=3", "a=1;b=2& c[d]e[f]=3", "x%5By%5D=z&x[w][]",
             "a[]b[c]=1&a[]b[d]=2&[]=3", "utf8=%E2%9C%93+"].freeze
  WORDS = ["[", "]", "[]", "[a]", "[b]", "[][a]", "[][", "]]", "&", "&", ";", "=", "=1", "+", "%20", "%", "%5B", "%5D",
           "%0A", "\n", "%00", "%ff", "a", "b", "é", " "].freeze
  MUTATOR = Fuzz::Mutator.new(SAMPLES, WORDS)

  def test_forms
    Fuzz.run(self) do |random|
      text = MUTATOR.mutated(random).force_encoding(Encoding::UTF_8)
      separators = ["&;", "&"].sample(random: random)
      next if Rack.release >= "3.1" && names(text.b, separators).any? { |name| odd?(name) }

      assert_equal rack(text, separators), elah(text, separators), text.inspect
    end
  end

  private

  def names(text, separators)
    plain = text.gsub(/%5b/i, "[").gsub(/%5d/i, "]").gsub(/%0a/i, "\n")
    plain.split(/[#{separators}]/n).map { |pair| pair[/[^=]*/].lstrip }
  end

  # Rack 3.1 reads names like `[a]b`, `a]b[c` and `a[][][b]`, and line breaks in them, in another way.
  def odd?(name) = name.include?("[][]") || !name.match?(/\A[^\[\]\n]+(\[[^\[\]\n]*\])*\z/n)

  def elah(text, separators)
    Elah::Form.parse(text, params_max: 100, depth_max: 8, semicolons: separators == "&;")
  rescue Elah::Form::ParseError
    :refused
  end

  # Rack lets values that are not UTF-8 pass.
  def rack(text, separators)
    params = RACK.parse_nested_query(text.b, separators)
    URI.decode_www_form_component(text.b, Encoding::UTF_8).valid_encoding? ? params : :refused
  rescue Rack::QueryParser::ParameterTypeError, Rack::QueryParser::InvalidParameterError,
         Rack::QueryParser::QueryLimitError, ArgumentError
    :refused
  end
end
