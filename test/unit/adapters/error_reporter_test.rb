# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"

# Which error reporter is told what. That of 7.2 itself is in integration/error_reports_test.rb; those that do not run
# on this Ruby have a stand-in in a process of their own.
class ErrorReporterAdapterTest < Minitest::Test
  ROOT = File.expand_path("../../..", __dir__)
  REPORT = 'require "elah"; Elah::Adapters::ErrorReporter.report(IOError.new("gone"), :warning, { path: "/x" })'
  OF_7_0 = <<~RUBY
    class Reporter
      def report(error, handled:, severity: :error, context: {}) = p([error.class, handled, severity, context])
    end
    module Rails; def self.error = Reporter.new; end
    module ActiveSupport; end
  RUBY
  OF_7_1 = <<~RUBY
    class Reporter
      def report(error, handled: true, severity: :error, context: {}, source: nil)
        p([error.class, handled, severity, context, source])
      end
    end
    module ActiveSupport; def self.error_reporter = Reporter.new; end
  RUBY

  def told(stand_in)
    out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", stand_in + REPORT, chdir: ROOT)
    assert_predicate status, :success?, out
    out
  end

  def test_that_of_rails_7_0_has_no_source
    assert_equal %([IOError, false, :warning, {:path=>"/x"}]\n), told(OF_7_0).gsub("path: ", ":path=>")
  end

  def test_later_ones_have_one
    assert_equal %([IOError, false, :warning, {:path=>"/x"}, "elah"]\n), told(OF_7_1).gsub("path: ", ":path=>")
  end

  def test_without_one_nothing_happens
    assert_equal "", told("")
    assert_equal "", told("module ActiveSupport; end; module Rails; end;")
  end
end
