# frozen_string_literal: true

# The table of options: every row is complete, takes its default and refuses what lies outside.
require "test_helper"

class OptionsTest < Minitest::Test
  Options = Elah::Options

  Options.all.each do |option|
    define_method("test_#{option.name}_is_complete") do
      assert_match(/\A[A-Z].*\.\z/, option.summary, "the summary is a sentence")
      assert_includes Options::GROUPS, option.group
      assert_predicate option, :frozen?
      assert option.range, "a number has a range" if %i[integer float].include?(option.type)
      suffix = { "seconds" => "_seconds", "ms" => "_ms", "bytes" => "bytes" }[option.unit]
      assert_includes option.name.to_s, suffix, "the unit is in the name" if suffix
    end

    define_method("test_#{option.name}_takes_its_default_and_what_it_prints_as") do
      next if option.default.nil?

      assert_equal option.default, option.check(option.default, source: "test")
      text = option.type == :listeners ? option.default.join(",") : option.default.to_s
      assert_equal option.default, option.check(text, source: "test")
    end

    define_method("test_#{option.name}_refuses_a_wrong_value_and_says_what_is_right") do
      wrong = { integer: "many", float: "long", boolean: "perhaps", choice: "loud",
                listeners: "http://x" }.fetch(option.type, "")
      error = assert_raises(Elah::OptionError) { option.check(wrong, source: "flag #{option.flag}") }
      assert_includes error.message, "#{option.name} must be #{option.expectation}, not #{wrong.inspect}"
      assert_includes error.message, option.flag
    end

    next unless option.range

    define_method("test_#{option.name}_keeps_its_range") do
      low, high = option.range.minmax
      assert_equal low, option.check(low, source: "test")
      assert_equal high, option.check(high.to_s, source: "test")
      [low - 1, high + 1].each do |outside|
        error = assert_raises(Elah::OptionError) { option.check(outside, source: "test") }
        assert_includes error.message, "from #{option.range_text}"
      end
    end
  end

  def test_names_of_flags_and_variables_follow_from_the_name
    option = Options.fetch(:port, source: "test")
    assert_equal "--port", option.flag
    assert_equal %w[ELAH_PORT PORT], option.variables
    assert_equal "--header-bytes-max", Options.fetch(:header_bytes_max, source: "test").flag
  end

  def test_ports_belong_to_one_ip_address
    option = Options.fetch(:cluster_listen, source: "test")
    { "10.0.0.11:9400-9463" => ["10.0.0.11", 9400..9463], "[fd00::7]:9400-9401" => ["fd00::7", 9400..9401],
      "127.0.0.1:0" => ["127.0.0.1", 0..0] }.each do |text, (host, ports)|
      checked = option.check(text, source: "test")
      assert_equal host, checked.host
      assert_equal ports, checked.ports
      assert_equal checked, option.check(checked.to_s, source: "test")
    end
    ["node1:9400", "10.0.0.1", "10.0.0.1:9401-9400", "10.0.0.1:65536", "10.0.0.256:1", "[10.0.0.1]:1", "fd00::7:1",
     "10.0.0.0/8:1", 9400].each do |wrong|
      assert_raises(Elah::OptionError, wrong.inspect) { option.check(wrong, source: "test") }
    end
  end

  def test_files_of_a_certificate_are_a_text_or_a_hash
    option = Options.fetch(:cluster_tls, source: "test")
    named = { authority: "/c/ca.pem", certificate: "node.pem", key: "node=1.key" }
    checked = option.check(named, source: "test")
    assert_equal [File.expand_path("node.pem"), File.expand_path("node=1.key"), "/c/ca.pem"], checked.to_a
    assert_equal checked, option.check(checked.to_s, source: "test")
    assert_equal checked, option.check(named.map { |pair| pair.join("=") }.join(","), source: "test")
    [named.except(:key), { **named, password: "x" }, { **named, key: "" }, "certificate", "a=b", 7].each do |wrong|
      assert_raises(Elah::OptionError, wrong.inspect) { option.check(wrong, source: "test") }
    end
  end

  def test_bytes_take_a_suffix_and_counts_do_not
    bytes = Options.fetch(:body_bytes_max, source: "test")
    assert_equal 20 * 1024 * 1024, bytes.check("20M", source: "test")
    assert_equal 1_000_000, bytes.check("1_000_000", source: "test")
    assert_raises(Elah::OptionError) { Options.fetch(:queue_max, source: "test").check("1K", source: "test") }
  end

  def test_numbers_that_are_no_numbers_are_refused
    seconds = Options.fetch(:request_seconds, source: "test")
    [Float::NAN, Float::INFINITY, "", "1s", nil, [], Complex(1, 1)].each do |value|
      assert_raises(Elah::OptionError, value.inspect) { seconds.check(value, source: "test") }
    end
    assert_raises(Elah::OptionError) { Options.fetch(:queue_max, source: "test").check(1.5, source: "test") }
  end

  # As Ruby reads the command line in the locale C.
  def test_paths_are_read_as_utf_8
    path = "/srv/caf\u00E9".dup.force_encoding(Encoding::US_ASCII)
    assert_equal "/srv/caf\u00E9", Options.fetch(:data, source: "test").check(path, source: "test")
    listeners = Options.fetch(:bind, source: "test").check("unix://#{path},tcp://[::1]:1", source: "test")
    assert_equal ["unix:///srv/caf\u00E9", "tcp://[::1]:1"], listeners.map(&:to_s)
  end

  def test_paths_that_are_not_utf_8_are_refused
    { data: "/srv/\xFF", bind: "unix:///srv/\xFF" }.each do |name, value|
      option = Options.fetch(name, source: "test")
      error = assert_raises(Elah::OptionError) { option.check(value, source: "test") }
      assert_includes error.message, 'srv/\xFF" (test).'
    end
  end

  def test_of_several_addresses_the_wrong_ones_are_named
    option = Options.fetch(:bind, source: "test")
    { "tcp://127.0.0.1:1,nowhere" => '"nowhere"', ["tcp://127.0.0.1:1", "tcp://x:99999"] => '"tcp://x:99999"',
      "a,unix:///x,b" => '"a", "b"' }.each do |value, wrong|
      error = assert_raises(Elah::OptionError) { option.check(value, source: "test") }
      assert_equal "bind must be tcp://HOST:PORT or unix:///PATH, not #{wrong} (test).", error.message
    end
  end

  def test_an_unknown_name_is_answered_with_the_nearest
    error = assert_raises(Elah::OptionError) { Options.fetch("quue_max", source: "app.rb:3") }
    assert_equal "Unknown option quue_max (app.rb:3). Did you mean queue_max? `elah help serve` lists all.",
                 error.message
    error = assert_raises(Elah::OptionError) { Options.fetch("zzzzzzzzzz", source: "app.rb:3") }
    sentence = /Unknown option zzzzzzzzzz \(app\.rb:3\)\. Similar: \w+, \w+, \w+\./
    assert_match(/\A#{sentence} `elah help serve` lists all\.\z/, error.message)
  end

  def test_a_word_unlike_any_other_gets_no_suggestion
    assert_equal "", Options.did_you_mean("zzzzzzzzzz", Options.names)
  end
end
