# frozen_string_literal: true

require "test_helper"
require "support/gems"
return unless Gems.present?("grape", "activesupport")

require "json"
require "open3"
require "rbconfig"

# The differences to Grape that docs/api.md lists outside the table of requests: what Elah leaves out, what is not there
# yet, and what shows at boot or under ActiveSupport. Each is still one.
class GrapeGapsTest < Minitest::Test
  CASES = File.expand_path("grape_gaps/cases.rb", __dir__)
  DOCS = File.expand_path("../../docs/api.md", __dir__)
  LISTS = ["Six more differences show only", "### What Elah leaves out", "### Not there yet"].freeze
  XML = %(<?xml version="1.0" encoding="UTF-8"?>\n)
  NO_METHOD = { "raised" => "NoMethodError" }.freeze

  # The beginning of each entry of the lists, and its cases: what Grape does and what Elah does. Or the test that has
  # it.
  ENTRIES = {
    "When a block of `values:`" => "../unit/api/params_test.rb",
    "An object without a JSON form" => {
      "object_as_text" => [[200, /\A#<Object:0x/], [500, /\Acannot convert Object to txt/]]
    },
    "With ActiveSupport loaded, Grape writes" => {
      "escaped_json" => [[200, '{"a":"\u003c\u0026\u003e"}'], [200, '{"a":"<&>"}']]
    },
    "With ActiveSupport loaded, endpoints emit" => "notifications_test.rb",
    "A String as `values:`" => {
      "text_as_values" => [[200, "dm"], { "raised" => "Elah::API::DefinitionError" }]
    },
    "`rescue_from` with anything" => {
      "wrong_rescue" => [{ "raised" => "TypeError" }, { "raised" => "Elah::API::DefinitionError" }]
    },
    "`mount X, with: {...}`" => { "mount_with" => [[200, "given"], { "raised" => "ArgumentError" }] },
    "`use` of Rack middleware" => {
      "use" => [[200, "y", "1"], NO_METHOD], "http_basic" => [[401, ""], NO_METHOD]
    },
    "XML from Hashes" => {
      "xml_of_a_hash" => [[200, "#{XML}<hash>\n  <a type=\"integer\">1</a>\n</hash>\n"],
                          [500, "#{XML}<error>\n  <message>cannot convert Hash to xml</message>\n</error>\n"]],
      "xml_body" => [[201, "true"], [201, "false"]]
    },
    "Translated messages" => { "translated" => [[400, "a is needed"], [400, "a is missing"]] },
    "`build_with`" => { "build_with" => [[200, "false"], NO_METHOD] },
    "grape-swagger" => { "endpoints" => [1, NO_METHOD], "versions" => [["v1"], NO_METHOD] },
    "Methods of `Rack::Request`" => {
      "request_methods" => [[200, ""],
                            [200, "url base_url ip params user_agent get? post? cookies session port media_type"]],
      "version_in_the_requests_environment" => [[200, '"v1"'], [200, "nil"]],
      "endpoint_in_the_environment" => [true, false]
    },
    "`context` in `rescue_from`" => {
      "context" => [[418, "1"], { "raised" => "NameError" }], "recognize_path" => [false, NO_METHOD]
    },
    "`Endpoint.before_each`" => { "before_each" => [[200, "set"], NO_METHOD] },
    "An unnamed `*`" => { "unnamed_wildcard" => [[200, "Array"], [200, "String"]] },
    "`route :any" => { "any_at_the_root" => [[200, "any"], [405, "405 Not Allowed"]] },
    "`version ..., cascade: false`" => {
      "no_cascade" => [[404, "404 Not Found", nil], [404, "404 Not Found", "pass"]]
    },
    "`declared(params, include_parent" => { "parents_declared" => [[200, "{}"], [200, '{"a":"1"}']] },
    "Entities in `http_codes`" => { "entity_of_an_error" => [[418, '{"shown":{"a":1}}'], [418, '{"a":1}']] },
    "`?format[]=json`" => { "list_of_formats" => [[406, /is not supported/], [200, "{}"]] },
    "`type: TrueClass`" => {
      "true_class" => [[400, "a is invalid"], [200, "true"]], "false_class" => [[400, "a is invalid"], [200, "false"]]
    },
    "`error!` writes an object" => {
      "error_object_as_json" => [[418, '{"error":"failed: late"}'], [418, '{"error":{"reason":"late"}}']],
      "error_object_as_text" => [{ "raised" => "TypeError" }, [418, "failed: late"]],
      "error_nil" => [[418, '{"error":""}'], [418, '{"error":null}']]
    },
    # The Grape of the tests is older.
    "From Grape 2" => {
      "of_grape_2" => [nil, "do_not_document! api_format lint!"],
      "block_of_grape_exceptions" => [nil, [400, "a is missing"]]
    }
  }.freeze

  def self.results(side)
    @results ||= {}
    @results[side] ||= begin
      output, errors, status = Open3.capture3(RbConfig.ruby, "-W0", CASES, side)
      raise "The cases of #{side} failed: #{errors}" unless status.success?

      JSON.parse(output)
    end
  end

  ENTRIES.each_value.grep(Hash).reduce(:merge).each do |name, sides|
    define_method(:"test_#{name}") do
      %w[grape elah].zip(sides) do |side, expected|
        assert_result(expected, self.class.results(side).fetch(name), side) unless expected.nil?
      end
    end
  end

  def test_all_cases_are_compared
    assert_equal ENTRIES.values.grep(Hash).flat_map(&:keys), self.class.results("elah").keys
  end

  def test_each_entry_of_the_lists_has_a_case
    listed = LISTS.flat_map do |heading|
      after = File.read(DOCS).split(heading, 2).fetch(1)
      list = after.lines.drop(1).take_while { |line| !line.start_with?("#") }
      list.filter_map { |line| line.delete_prefix("- ") if line.start_with?("- ") }
    end
    assert_equal ENTRIES.size, listed.size
    listed.zip(ENTRIES.keys) { |entry, beginning| assert_equal beginning, entry[0, beginning.size] }
    ENTRIES.values.grep(String).each { |file| assert_path_exists File.join(__dir__, file) }
  end

  private

  def assert_result(expected, result, side)
    return assert_equal(expected, result, side) unless expected.is_a?(Array) && expected[1].is_a?(Regexp)

    assert_equal expected[0], result[0], side
    assert_match expected[1], result[1], side
  end
end
