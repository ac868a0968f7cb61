# frozen_string_literal: true

# Bodies that become events without a look at each, and requests of other servers. Requests of this server are in the
# integration tests.
require "support/sink_case"
require "elah/api"

class SinkRequestsTest < SinkCase
  def setup
    super
    @seen = Queue.new
    @events = sink { |events| events.each { |event| @seen << [event.id, event.stream, event.data] } }
  end

  def append(body, is_list = true, **options)
    @events.push_items(body, lines: !is_list, with: { a: 1 }, max: 100, **options)
  end

  def test_objects_become_events_with_their_own_text
    receipt, count, paths = append(%([{"path":"/x","n":[1,"ü"]}, {"path":"/x"},{"path":7}]), durability: :disk,
                                                                                             stream: "s")
    assert_equal [3, :disk, { "/x" => 2, nil => 1 }], [count, receipt.durability, paths]
    assert @events.flush
    found = Array.new(3) { @seen.pop }
    assert_equal receipt.ids, found.map(&:first)
    assert_equal [["s", { "a" => 1, "params" => { "path" => "/x", "n" => [1, "ü"] } }],
                  ["s", { "a" => 1, "params" => { "path" => "/x" } }]], found.first(2).map { |row| row.drop(1) }
    assert_equal [3, 3, 0, 0], account(@events)
  end

  def test_objects_that_stand_a_line_each
    assert_equal 2, append("{}\n\n{\"a\":\"\\n\"}\r\n", false)[1]
    assert_equal({ "/A" => 1, nil => 2 }, append(" {\"path\":\"/\\u0041\"}\n{\"path\":[{}]}\n{}", false)[2])
  end

  def test_what_needs_a_closer_look_is_not_accepted
    ["[]", "[1]", "[{},]", "[{} {}]", "[{},1]", "[{}", "{}", %([{"id":"x"}]), "[{}]x", "[[]]", "[{,}]", "",
     "nonsense", "[{\"a\":}]", "[{}]\xFF", "[#{(['{}'] * 101).join(',')}]",
     "[#{'[' * 10_000}"].each { |body| assert_nil append(body), body }
    ["", "{}{}", "{} {}", "{}\n,{}", "{}\n1", "{\n", %({"id":"x"}), ([+"{}"] * 101).join("\n")].each do |body|
      assert_nil append(body, false), body
    end
    assert_equal [0, 0, 0, 0], account(@events)
  end

  TEXTS = ["", "/a b", "ü€😀", "\\ud83d\\ude00", "\\u00fc\\n\\/", "\\\\", "\\\""].freeze
  VALUES = ["null", "true", "false", "0", "-0.5", "12E+3", "1e308", "1e-400", "9" * 300, "[]", "{}", " [ 1 , {} ]",
            '{"path":7}', *TEXTS.map { |text| %("#{text}") }].freeze
  WRONG = ["", "nul", "01", "-", "1.", "1e", "1e999", "9" * 400, "+1", ".5", "[1,]", '{"a"}', '{"a":}', "{,}",
           '"\\ud83d"', '"\\ud83d\\n"', '"\\udc00"', '"\\u12g4"', '"\\x"', %("a\nb"), %("\t"), '"', '"a\\"', "'a'",
           "NaN", "tru e", "[" * 99 + "]" * 99].freeze

  # What is taken without a look at each is what the parser takes, and it is the same.
  def test_values_of_all_kinds_are_taken_as_they_are_and_wrong_ones_are_not
    VALUES.each_with_index do |value, index|
      text = TEXTS[index % TEXTS.size]
      body = %([ {"path":"/old","#{text}" : #{value},"path":"/#{text}"}\t,{"path":"/", "path":#{value}}])
      parsed = Elah::JSON.parse(body)
      _, count, paths = append(body)
      assert_equal 2, count, body
      assert_equal parsed.map { |event| event["path"].then { |path| path if path.is_a?(String) } }.tally, paths, body
    end
    assert @events.flush
    assert_equal(VALUES.flat_map { |value| [Elah::JSON.parse(value)] },
                 Array.new(VALUES.size * 2) { @seen.pop.last["params"] }.each_slice(2).map { |_, event| event["path"] })
    WRONG.each { |value| assert_nil append(%([{},{"a":#{value}}])), value }
  end

  def test_depth_is_bounded_as_the_parser_bounds_it
    nested = ->(levels) { %([{"a":#{'[' * levels}#{']' * levels}}]) }
    assert append(nested[98])
    assert_nil append(nested[99]), "the parser decides"
    assert_nil append(nested[100_000])
    assert_raises(Elah::JSON::ParseError) { Elah::JSON.parse(nested[99]) }
  end

  # Bodies with a few bytes changed: those that are taken are JSON, and as many objects as were found.
  def test_no_damaged_body_is_taken
    random = Random.new(Minitest.seed)
    whole = %([{"path":"/x","n":[1.5e3,"ü\\u00fc"],"o":{"a":null}}, {"b":true,"c":-12},{}])
    taken = 600.times.count do
      body = whole.b
      random.rand(1..3).times do
        place = random.rand(body.bytesize)
        body.setbyte(place, random.rand(3).zero? ? random.rand(256) : %([]{},:"\\e0 n).getbyte(random.rand(12)))
      end
      receipt, count = append(body)
      parsed = Elah::JSON.parse(body) if receipt
      assert_equal parsed.size, count, body if receipt
      receipt
    end
    assert_operator taken, :>, 0
  end

  def test_one_that_is_too_large_keeps_all_from_being_accepted
    small = sink("small", event_bytes_max: 100) { nil }
    assert_raises(Elah::Sink::TooLarge) { small.push_items(%([{},{"a":"#{'x' * 100}"}]), max: 10) }
    assert_equal [0, 0, 0, 0], account(small)
  end

  def test_a_request_of_another_server
    request = rack_request("HTTP_X_ODD" => "caf\xE9".b)
    with = { type: "t", "path" => "replaced" }
    receipts = [{ except: %w[cookie host] }, { only: %w[x-odd x-none] }].map do |kept|
      @events.push_request(request, with: with, params: { "q" => "1" }, durability: :disk, stream: "s", **kept)
    end
    assert_equal %i[disk disk], receipts.map(&:durability)
    assert @events.flush
    data = { "type" => "t", "path" => "/p", "headers" => { "x-odd" => "caf\uFFFD" }, "params" => { "q" => "1" } }
    assert_equal(receipts.map { |receipt| [receipt.id, "s", data] }, Array.new(2) { @seen.pop })
  end

  # An API's bodies have a bound of names; what a sink has accepted is read without one.
  def test_objects_of_many_names_are_read_again
    text = %({#{Array.new(65_537) { |n| %("k#{n}":0) }.join(',')}})
    @events.push_items("[#{text}]", max: 1)
    @events << Elah::JSON.parse(text, names_max: 65_537)
    assert @events.flush
    assert_equal 2, @seen.size
    assert_equal [65_537, 65_537], [@seen.pop.last["params"].size, @seen.pop.last.size]
  end

  def test_a_wrong_name_of_a_header_keeps_no_secret
    request = rack_request
    { [:cookie] => TypeError, [nil] => TypeError, ["Cookie"] => ArgumentError }.each do |names, error|
      assert_raises(error, names.inspect) { @events.push_request(request, except: names) }
      assert_raises(error, names.inspect) { @events.push_request(request, only: names) }
    end
    assert_equal [0, 0, 0, 0], account(@events)
  end

  def test_what_is_no_request
    [nil, {}].each do |object|
      error = assert_raises(TypeError) { @events.push_request(object) }
      assert_equal "push_request needs the request of an endpoint, not #{object.class}.", error.message
    end
    assert_raises(ArgumentError) { @events.push({}, stream: :web) }
  end

  def test_the_name_of_the_object_and_what_stands_before_it
    @events.push_items("[{}]", with: {}, as: 'a"b', max: 1)
    @events.push_items("[{}]", with: { "n" => nil }, max: 1)
    assert @events.flush
    assert_equal([{ 'a"b' => {} }, { "n" => nil, "params" => {} }], Array.new(2) { @seen.pop.last })
  end

  def test_what_cannot_be_a_beginning
    # A receipt said :delivered of events that nobody had waited for.
    error = assert_raises(ArgumentError) { @events.push_items("[{}]", max: 1, durability: :delivered) }
    assert_match(/:memory or :disk/, error.message)
    assert_raises(TypeError) { @events.push_items("[{}]", with: "{", max: 1) }
    assert_raises(TypeError) { @events.push_request(Elah::Framework::RackRequest.new({}), with: "{") }
    assert_raises(Elah::JSON::GenerateError) { @events.push_items("[{}]", with: { a: Float::NAN }, max: 1) }
    assert_equal [0, 0, 0, 0], account(@events)
  end

  private

  def rack_request(headers = {})
    env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/p", "HTTP_COOKIE" => "secret" }
    Elah::Framework::RackRequest.new(env.merge(headers))
  end
end
