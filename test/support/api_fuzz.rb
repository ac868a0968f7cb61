# frozen_string_literal: true

require "json"
require_relative "fuzz"
require_relative "http_client"

# Requests to one API out of a table of its routes: mostly as the API wants them, with a few values that it does not
# expect. Whatever is sent, the status is never 5xx, and what is refused has a code that the specification names.
#
#   ApiFuzz.new(server, spec: "links", routes: [["GET", "/links?limit=:integer&cursor=:text"]]).request(random)
#
# A route is a verb, a path with its query, a body (fields, a String or nil) and headers. `:NAME` in a path or a query,
# and Symbols in a body, are values of that kind: `:text`, `:integer`, ..., or what {#keep} has given for the name.
class ApiFuzz
  ROOT = File.expand_path("../..", __dir__)
  TEXT = "𝛑 größe 日本 🎉"
  # What usually stands at a place.
  KINDS = {
    text: ["a", "name", TEXT], word: %w[alpha beta-1 c.d], integer: [1, 2, 10, 100], number: [1, 0.5, 99.9],
    boolean: [true, false], time: %w[2026-11-23T10:00:00Z 2030-01-01],
    url: ["https://example.com/a?b=c#d", "http://example.com/#{TEXT.delete(' ')}"],
    uuid: ["01a208fa-69c2-7000-8ea1-66990cd99d1a"], cursor: %w[AAAA AAAAAAAAAAE MQ 1.AAAA],
    words: [%w[a b], ["größe"]], object: [{ "a" => 1 }, {}]
  }.freeze
  # What a place in JSON may have to bear, as JSON: other types, numbers beyond any range, text that is hardly any, and
  # what is no JSON.
  ODD_JSON = [
    *[nil, true, false, 0, -1, 1.5, -0.0, 1e308, 5e-324, 2**31, 2**53, 2**63, 2**64, -(2**63), -(2**64), 10**400, "",
      " ", "\0", "a\0b", "\n", "\u202E", TEXT,
      "x" * 300, "ß" * 300, "x" * 5000, "0", "-1", "1e400", "NaN", "null", "true", "99999999999999999999",
      "2026-13-45T99:99:99Z", "0000-01-01T00:00:00Z",
      "9999-12-31T23:59:59Z", "../..", "a/b", "%00", "http://", "https://[::1", "http://example.com:99999/", [], {},
      [nil], [[]], [1, "a", nil, {}], ["x" * 300],
      ["a"] * 1100, { "" => "" }, { "a" => { "b" => [1] } }, { "\0" => "\0" }].map { |value| JSON.generate(value) },
    "NaN", "-Infinity", "1e400", "01", '"\\ud800"', "\"\xFF\"", "\"\xF0\x9F\"", "{", "[1,", "tru",
    "#{'[' * 99}1#{']' * 99}", "#{'[' * 5000}", "#{'{"a":' * 150}1#{'}' * 150}"
  ].map(&:b).freeze
  # The same for a place in a path or a query, already encoded.
  ODD_TEXT = ["", "%20", "%00", "a%00b", "%0A", "%FF", "%F0%9F", "%C0%80", "%ED%A0%80", "%", "%zz", "%2F", "%2e%2e",
              "..", ".", "+", "a+b", "&", "=", "a=b", "%25",
              "%F0%9D%9B%91%20gr%C3%B6%C3%9Fe", "x" * 256, "x" * 481, "x" * 5000, "%C3%9F" * 300, "0", "-1", "-0",
              "1.5", "1e3", "1e400", "NaN", "Infinity",
              "0x10", "1_000", "9" * 18, "9" * 20, "9" * 400, "18446744073709551616", "true", "null", "1..2", "2..1",
              "..", "1,2", ",", "AAAA", "a.json", "2026-02-30",
              "2026-11-23T10:00:00%2B99:99", "[]", "a[b]"].freeze
  # The same for a header. The server refuses control characters itself.
  ODD_HEADERS = ["", " ", "\xFF", "größe", TEXT, "x" * 300, "x" * 5000, "a,b", "a=b", '"', "=", ";", "gzip",
                 "text/html", "application/json; charset=\xFF", "application/xml",
                 "multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
                 "Basic \xFF", "Bearer \xFF", "Basic 4pyT", "*/*;q=\xFF", "0", "-1",
                 "durability=delivered, wait=0", "durability=\xFF"].map(&:b).freeze
  HEADERS = %w[Accept Content-Type Content-Encoding Authorization X-Api-Key Idempotency-Key Prefer User-Agent Origin
               X-Forwarded-For X-Write-Token Last-Event-ID DNT Cookie If-None-Match Accept-Language].freeze
  FORM = "application/x-www-form-urlencoded"
  BODIES = Fuzz::Mutator.new(['{"a":[1,"b",{"c":null}]}', "a=b&c[]=d&e[f]=g",
                              "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n",
                              "{\"a\":1}\n{\"b\":2}\n"],
                             ['"', "{", "[", "&", "=", "[]", "%FF", "\xFF", "\0", "\n", "1e999", "\\u0000", "--x--",
                              "\xF0\x9F\x8E\x89"])

  # @param server [AppServer]
  # @param spec [String] the name of the specification
  # @param routes [Array<Array>]
  # @param expected [Array<String>] codes that may come with 5xx
  def initialize(server, spec:, routes:, expected: [])
    @server = server
    @routes = routes
    @expected = expected
    texts = ["#{spec}.md", "README.md", "http_limits.md"].map { |file| File.read(File.join(ROOT, "specs", file)) }
    @codes = texts.flat_map { |text| text.scan(/`([A-Za-z_]+)`/).flatten }.to_h { |code| [code, true] }
    @kept = {}
  end

  # Notes values that later requests use, by the names of their kinds.
  def keep(**values) = @kept.merge!(values)

  # Sends one request and looks at what comes back.
  #
  # @param random [Random]
  # @return [HttpClient::Answer]
  # @raise [RuntimeError] when it breaks the rules
  def request(random)
    verb, target, body, headers = @routes.sample(random: random)
    @random = random
    # One in four requests is as the API wants it.
    @odds = [0, 1, 1, 2][random.rand(4)]
    target = filled(target)
    headers, body = with_body(body, (headers || {}).transform_values { |value| header(value) })
    headers = headers.merge(HEADERS.sample(random: random) => ODD_HEADERS.sample(random: random)) if odd?(4)
    judge(verb, target, headers, body)
  end

  private

  # Whether something odd is to stand at the next of about so many places.
  def odd?(places)
    return false if @odds.zero? || @random.rand(places).positive?

    @odds -= 1
    true
  end

  def filled(target)
    places = target.scan(/:[a-z_]+/).size
    text = target.gsub(/:([a-z_]+)/) do
      odd?(places) ? ODD_TEXT.sample(random: @random) : encoded(value(Regexp.last_match(1).to_sym))
    end
    return text unless text.include?("?") && odd?(4)

    path, query = text.split("?", 2)
    pairs = query.split("&")
    name = pairs.sample(random: @random).to_s.split("=").first
    more = ["#{name}=1", "#{name}[]=1", "#{name}[a]=1", "#{name}", "#{name}[][", "%FF=1", "=", "&&", "#{name}=%FF"]
    "#{path}?#{[*pairs, more.sample(random: @random)].join('&')}"
  end

  def value(kind)
    value = (@kept[kind] || KINDS.fetch(kind)).sample(random: @random)
    value.is_a?(Proc) ? value.call : value
  end

  def encoded(value) = value.to_s.b.gsub(/[^\w.~-]/n) { |byte| format("%%%02X", byte.ord) }
  def header(value) = value.is_a?(Symbol) ? value(value).to_s : value

  def with_body(body, headers)
    return [headers, body] if body.nil?
    return [headers, BODIES.mutated(@random)] if odd?(8)

    case body
    when Hash, Array
      return [{ "Content-Type" => FORM }.merge(headers), form(body)] if body.is_a?(Hash) && @random.rand(8).zero?

      [{ "Content-Type" => "application/json" }.merge(headers), json(body)]
    else
      text = body.b.gsub(/:([a-z_]+)/) do
        odd?(2) ? ODD_JSON.sample(random: @random) : JSON.generate(value(Regexp.last_match(1).to_sym)).b
      end
      [headers, text]
    end
  end

  # JSON with something odd in it, beside or instead of a field.
  def json(body)
    return ODD_JSON.sample(random: @random) if odd?(12)

    case body
    when Hash
      fields = body.reject { @random.rand(6).zero? }.map { |name, inner| "#{JSON.generate(name)}:#{json(inner)}".b }
      fields << fields.sample(random: @random) if fields.any? && odd?(12)
      "{#{fields.join(',')}}".b
    when Array then "[#{body.map { |inner| json(inner) }.join(',')}]".b
    when Symbol then odd?(4) ? ODD_JSON.sample(random: @random) : JSON.generate(value(body)).b
    else JSON.generate(body).b
    end
  end

  def form(body)
    pairs = body.map do |name, kind|
      text = odd?(4) ? ODD_TEXT.sample(random: @random) : encoded(kind.is_a?(Symbol) ? value(kind) : kind)
      "#{name}=#{text}"
    end
    pairs.join("&")
  end

  def judge(verb, target, headers, body)
    answer = @server.request(verb, target, headers: headers, body: body)
    fault = fault(answer, verb == "HEAD")
    return answer unless fault

    said = "#{verb} #{target[0, 300]} #{headers.transform_values { |value| value[0, 60] }} " \
           "#{body.to_s.b[0, 500].inspect}"
    log = @server.process.log.lines.last(15).join[0, 3000]
    raise "#{fault}: #{said}\n#{answer.status} #{answer.body[0, 500]}\n#{log}"
  end

  def fault(answer, is_head)
    return if answer.status < 400 || is_head

    code = code(answer)
    return "a 5xx" if answer.status >= 500 && !@expected.include?(code)

    "no code of the specification (#{code.inspect})" unless code && known?(code)
  end

  # `invalid_FIELD` stands for a code for each field.
  def known?(code) = @codes.key?(code) || (@codes.key?("invalid_FIELD") && code.start_with?("invalid_"))

  # The problem's code, that of the first event of a batch which was refused, or the class of an error of the original's
  # API of ring pools.
  def code(answer)
    case answer["content-type"]
    when /xml/ then answer.body[%r{<Class>(\w+)</Class>}, 1]
    when /json/
      document = JSON.parse(answer.body)
      document["code"] || document.dig("errors", "class") || document.dig("results", 0, "code")
    else answer.body[/\A(\w+): /, 1]
    end
  end
end
