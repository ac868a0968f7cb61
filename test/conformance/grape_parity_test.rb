# frozen_string_literal: true

require "test_helper"
require "support/gems"
return unless Gems.present?("grape")

require "json"
require "open3"
require "rbconfig"
require_relative "grape_parity/table"

# The proof of the vocabulary: the same classes over Grape and over Elah answer the same requests with the same status,
# headers and body, but for what is listed with its reason.
class GrapeParityTest < Minitest::Test
  PROBE = File.expand_path("grape_parity/probe.rb", __dir__)
  REQUESTS_MIN = 150
  ENDPOINTS_MIN = 40

  # One side's answers to all requests, asked once.
  def self.answers(side)
    @answers ||= {}
    @answers[side] ||= begin
      output, errors, status = Open3.capture3(RbConfig.ruby, PROBE, side)
      raise "The probe of #{side} failed: #{errors}" unless status.success?

      JSON.parse(output)
    end
  end

  def test_elah_answers_as_grape_does
    wrong = compared.reject { |request, grape, elah| request["differs"] || same?(grape, elah) }
    assert_empty(wrong.map { |request, grape, elah| "#{request}\n  Grape: #{grape}\n  Elah:  #{elah}" })
  end

  def test_elah_differs_only_as_listed
    compared.each do |request, grape, elah|
      next unless request["differs"]

      refute same?(grape, elah), "#{request} is listed as a difference but Elah answers as Grape does"
      request["elah"].each do |part, expected|
        next assert_equal(expected, elah[part], request.to_s) unless part == "headers"

        expected.each { |name, value| assert_equal Array(value), elah["headers"][name], request.to_s }
      end
    end
  end

  def test_every_difference_has_a_reason_and_every_reason_a_difference
    given = ParityTable.requests.filter_map { |_, request| request["differs"] }.uniq.sort
    assert_equal ParityTable.reasons.keys.sort, given
  end

  def test_the_reasons_are_documented
    docs = File.read(File.expand_path("../../docs/api.md", __dir__))
    assert_includes docs, ParityTable.documented_reasons,
                    "Put the output of `ruby test/conformance/grape_parity/table.rb` into docs/api.md."
  end

  def test_the_table_is_broad
    assert_operator ParityTable.requests.size, :>=, REQUESTS_MIN
    source = Dir[File.expand_path("grape_parity/apis/*.rb", __dir__)].sum("") { |file| File.read(file) }
    assert_operator source.scan(/^\s+(?:get|post|put|patch|delete|head|options|route)\b/).size, :>=, ENDPOINTS_MIN
  end

  def test_elah_serves_without_grape_active_support_or_rack
    assert_empty self.class.answers("elah")["loaded"]
    assert_includes self.class.answers("grape")["loaded"], "Grape"
  end

  def test_a_subscriber_of_events_changes_no_answer
    observed = self.class.answers("elah-events")
    assert_equal 5, observed["events"].size
    usual = self.class.answers("elah")["answers"]
    usual.zip(observed["answers"], ParityTable.requests) do |answer, under_events, request|
      assert_equal answer, under_events, request.to_s
    end
  end

  def test_rack_lint_has_nothing_to_say
    linted = self.class.answers("elah-lint")["answers"]
    self.class.answers("elah")["answers"].zip(linted, ParityTable.requests) do |answer, under_lint, request|
      assert_equal answer, under_lint, request.to_s
    end
  end

  private

  def compared
    grape, elah = %w[grape elah].map { |side| self.class.answers(side)["answers"] }
    ParityTable.requests.map(&:last).zip(grape, elah)
  end

  def same?(grape, elah)
    keys = grape["raised"] ? %w[raised message] : grape.keys
    grape.slice(*keys) == elah.slice(*keys)
  end
end
