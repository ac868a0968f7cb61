# frozen_string_literal: true

require_relative "../../test_helper"
require "tmpdir"
require_relative "../../../bench/lib/marked_text"

class MarkedTextTest < Minitest::Test
  def setup
    @file = File.join(Dir.mktmpdir, "README.md")
  end

  def teardown
    FileUtils.rm_r(File.dirname(@file))
  end

  def test_the_text_between_the_markers_is_replaced
    File.write(@file, "before ÷\n<!-- some:begin -->\nold\n<!-- some:end -->\nafter\n")
    2.times { marked.replace("new ÷ \\1\n") }
    assert_equal "before ÷\n<!-- some:begin -->\nnew ÷ \\1\n<!-- some:end -->\nafter\n", File.read(@file)
  end

  def test_nothing_may_stand_between_the_markers_yet
    File.write(@file, "<!-- some:begin -->\n<!-- some:end -->")
    marked.replace("new\n")
    assert_equal "<!-- some:begin -->\nnew\n<!-- some:end -->", File.read(@file)
  end

  def test_markers_of_another_name_are_left_alone
    other = "<!-- other:begin -->\nother\n<!-- other:end -->\n"
    File.write(@file, "#{other}<!-- some:begin -->\nold\n<!-- some:end -->\n#{other}")
    marked.replace("new\n")
    assert_equal "#{other}<!-- some:begin -->\nnew\n<!-- some:end -->\n#{other}", File.read(@file)
  end

  def test_a_file_without_a_marker_is_left_alone_and_the_marker_named
    assert_refused "text\n", "has no line <!-- some:begin -->"
    assert_refused "<!-- some:begin -->\ntext\n", "has no line <!-- some:end -->"
    assert_refused "text\n<!-- some:end -->\n", "has no line <!-- some:begin -->"
  end

  def test_markers_out_of_order_are_refused
    assert_refused "<!-- some:end -->\ntext\n<!-- some:begin -->\n", "<!-- some:end --> before <!-- some:begin -->"
  end

  private

  def marked = Bench::MarkedText.new(@file, "some")

  def assert_refused(text, reason)
    File.write(@file, text)
    error = assert_raises(Bench::MarkedText::Error) { marked.replace("new\n") }
    assert_includes error.message, reason
    assert_includes error.message, @file
    assert_equal text, File.read(@file)
  end
end
