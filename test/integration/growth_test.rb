# frozen_string_literal: true

# What a request costs grows with its size and not faster: one that is twice as large takes about twice the
# instructions. They are counted by valgrind, so that the load of the machine does not matter.
require_relative "../test_helper"
require_relative "../support/elah_server"
require "tmpdir"

class GrowthTest < Minitest::Test
  APP = File.expand_path("../support/apps/growth.rb", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  # Twice as much is 2, sorting 2.2 and the square 4.
  GROWTH_MAX = 2.6
  # Fewer instructions, less than a millisecond, say nothing about growth.
  SMALL = 2_000_000
  # Called by `GET /mark` and nothing else.
  MARK = "getsid"
  VALGRIND = ["valgrind", "--tool=callgrind", "--dump-before=#{MARK}", "--log-file=valgrind.log",
              "ruby", "--disable=gems", "-I#{LIB}"].freeze
  OPTIONS = { header_bytes_max: 65_535, headers_max: 1000, uri_bytes_max: 65_000, params_max: 1_000_000,
              param_depth_max: 400, parts_max: 100_000, files_max: 100_000, json_depth_max: 1000, request_seconds: 3600,
              body_seconds: 3600, header_seconds: 3600, keepalive_seconds: 3600 }.freeze

  def self.get(path, *lines) = "GET #{path} HTTP/1.1\r\nHost: a\r\n#{lines.map { |line| "#{line}\r\n" }.join}\r\n"

  def self.post(path, type, body)
    "POST #{path} HTTP/1.1\r\nHost: a\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"
  end

  def self.post_chunked(chunks)
    "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n" \
      "#{chunks}0\r\n\r\n"
  end

  def self.json(text, path = "/read") = post(path, "application/json", text)
  def self.form(text) = post("/read", "application/x-www-form-urlencoded", text)
  def self.multipart(body) = post("/read", "multipart/form-data; boundary=AaB03x", "#{body}--AaB03x--\r\n")
  def self.part(names, text) = "--AaB03x\r\nContent-Disposition: form-data; #{names}\r\n\r\n#{text}\r\n"
  def self.accept(ranges) = get("/negotiated", "Accept: #{ranges}")
  def self.list(count, separator = ",", &block) = Array.new(count, &block).join(separator)

  # The request with so many of something, and how many are sent first.
  CASES = {
    "names of a JSON object" => [4_000, ->(n) { json("{#{list(n) { |i| "\"n#{i}\":#{i}" }}}") }],
    "one JSON name again and again" => [8_000, ->(n) { json("{#{list(n) { '"n":1' }}}") }],
    "small JSON objects" => [2_000, ->(n) { json("{\"a\":[#{list(n) { |i| "{\"a\":#{i}}" }}]}") }],
    "JSON arrays" => [4_000, ->(n) { json("{\"a\":[#{list(n) { '[1,[]]' }}]}") }],
    "levels of JSON" => [400, ->(n) { json("{\"a\":#{"[" * n}#{"]" * n}}") }],
    "JSON numbers beyond 64 bits" => [2_000, ->(n) { json("{\"a\":[#{list(n) { '-99999999999999999999,-0' }}]}") }],
    "escapes in a JSON string" => [32_000, ->(n) { json("{\"a\":\"#{'\\u00e9\\n' * n}\"}") }],
    "digits of a JSON fraction" => [200_000, ->(n) { json("{\"a\":0.#{'9' * n}}") }],
    "declared rows of JSON" =>
      [300, ->(n) { json("{\"rows\":[#{list(n) { |i| "{\"name\":\"#{i}\",\"count\":\"#{i}\"}" }}]}", "/declared") }],
    "digits of a declared Integer" => [1_000_000, ->(n) { json("{\"number\":\"#{'7' * n}\"}", "/number") }],
    "written JSON" => [2_000, ->(n) { get("/write/#{n}") }],
    "parameters of a form" => [2_000, ->(n) { form(list(n, "&") { |i| "n#{i}=#{i}" }) }],
    "one parameter again and again" => [8_000, ->(n) { form(list(n, "&") { "n=1" }) }],
    "elements of a parameter" => [4_000, ->(n) { form(list(n, "&") { "n[]=1" }) }],
    "keys of a parameter" => [2_000, ->(n) { form(list(n, "&") { |i| "n[k#{i}]=1" }) }],
    "rows of a parameter" => [2_000, ->(n) { form(list(n, "&") { |i| "n[][a]=#{i}" }) }],
    "keys of one row of a parameter" => [2_000, ->(n) { form(list(n, "&") { |i| "n[][k#{i}]=1" }) }],
    "levels of a parameter" => [150, ->(n) { form("n#{'[a]' * n}=1") }],
    "levels of the name of a row" => [150, ->(n) { form(list(20, "&") { |i| "n[]#{'[a]' * n}[#{i}]=1" }) }],
    "brackets in a name" => [16_000, ->(n) { form("n#{'[' * n}=1&m#{']' * n}=1&o#{'[]' * n}=1") }],
    "lines in a name" => [8_000, ->(n) { form("n[]#{'%0A[][' * n}=1&m[]#{'%0A' * n}=1") }],
    "lines and levels in a name" => [150, ->(n) { form("m[]#{'%0A[]' * n}=1") }],
    "empty pairs of a form" => [32_000, ->(n) { form("&" * n) }],
    "percent escapes of a form" => [16_000, ->(n) { form("n=#{'%e2%82%ac+' * n}") }],
    "fields of a multipart body" => [400, ->(n) { multipart(list(n, "") { |i| part("name=\"n#{i}\"", "v") }) }],
    "beginnings of a boundary" => [8_000, ->(n) { multipart(part("name=\"n\"", "\r\n--AaB03" * n)) }],
    "a preamble of boundaries" => [8_000, ->(n) { multipart("#{"--AaB03x " * n}\r\n#{part("name=\"n\"", "")}") }],
    "parameters of a disposition" => [2_000, ->(n) { multipart(part("#{'a="\\""; ' * n}name=\"n\"", "v")) }],
    "quotes of a disposition" => [8_000, ->(n) { multipart(part("name=\"#{'\\"' * n}\"", "v")) }],
    "parameters of a query" => [2_000, ->(n) { get("/read?#{list(n, "&") { |i| "n#{i}=#{i % 10}" }}") }],
    "segments of a path" => [10_000, ->(n) { get("/path#{'/ab' * n}") }],
    "slashes of a path" => [15_000, ->(n) { get("/path/#{'/' * n}") }],
    "percent escapes of a path" => [8_000, ->(n) { get("/word/#{'%41' * n}") }],
    "segments of a path that nobody knows" => [10_000, ->(n) { get("#{'/path' * (n / 2)}/word") }],
    "headers" => [400, ->(n) { get("/read", *Array.new(n) { |i| "X-N#{i}: #{i}" }) }],
    "headers of a Rack environment" => [400, ->(n) { get("/environment", *Array.new(n) { |i| "X-N#{i}: #{i}" }) }],
    "one header again and again" => [400, ->(n) { get("/environment", *Array.new(n) { "X-N: abcdefgh" }) }],
    "headers with underscores" => [400, ->(n) { get("/environment", *Array.new(n) { |i| "X_N#{i}: #{i}" }) }],
    "bytes of a header" => [30_000, ->(n) { get("/read", "X-N: #{'a' * n}") }],
    "cookies" => [1_000, ->(n) { get("/read", "Cookie: #{list(n, "; ") { |i| "n#{i}=1" }}") }],
    "separators of cookies" => [4_000, ->(n) { get("/read", "Cookie: #{'; ' * n}") }],
    "types of Accept" => [3_500, ->(n) { accept(list(n) { "a/b;q=1" }) }],
    "types of Accept in a row" => [7_000, ->(n) { accept("a/b;" * n) }],
    "one word of Accept" => [30_000, ->(n) { accept("a" * n) }],
    "words of Accept" => [15_000, ->(n) { accept("a " * n) }],
    "qualities of Accept" => [7_000, ->(n) { accept("a/b#{'; q=' * n}") }],
    "blanks of Accept" => [15_000, ->(n) { accept("a/b;#{' ' * n};#{' ' * n}") }],
    "vendors of Accept" => [7_000, ->(n) { accept("a+b/#{'vnd.' * n}") }],
    "parts of a vendor of Accept" => [7_000, ->(n) { accept("application/vnd.#{'a-.+' * n}!") }],
    "chunks of a body" => [2_000, ->(n) { post_chunked("1\r\na\r\n" * n) }],
    "bytes of a body in a file" => [1_000_000, ->(n) { post("/body", "text/plain", "a" * n) }],
    "requests at once" => [50, ->(n) { get("/word/a") * n }]
  }.freeze

  def test_the_work_for_a_request_grows_with_its_size
    found = grown
    # An idle worker also collects garbage by itself, which no second run does at the same place.
    found = found.slice(*grown.keys) if found.any?
    assert found.empty?, "instructions once, twice, and the growth:\n#{found.values.join("\n")}"
  end

  private

  # @return [Hash{String=>String}] what has grown faster than its size
  def grown
    lines = counts.filter_map do |name, (once, twice)|
      line = format("%-40s %12d %12d %5.2f", name, once, twice, twice.fdiv(once))
      puts line if ENV["ELAH_GROWTH"]
      [name, line] if twice > GROWTH_MAX * once + SMALL
    end
    lines.to_h
  end

  # @return [Hash{String=>Array(Integer, Integer)}] instructions for so many and for twice as many
  def counts
    Dir.mktmpdir do |folder|
      sent = CASES.flat_map { |name, (count, request)| [[name, request[count]], [name, request[2 * count]]] }
      marks = sent.size + 2
      serve(folder) do |server|
        server.connect(seconds: 600) do |client|
          # What is loaded when it is first needed is loaded.
          CASES.each_value { |_, request| exchange(client, request[1]) }
          2.times { mark(client) }
          sent.each do |name, request|
            assert_operator exchange(client, request).max, :<, 431, name
            mark(client)
          end
        end
      end
      idle, *costs = totals(folder, marks)
      CASES.keys.zip(costs.map { |cost| cost - idle }.each_slice(2)).to_h
    end
  end

  # @return [Array<Integer>] the statuses of the answers
  def exchange(client, request)
    client.write(request)
    Array.new([request.scan(%r{^GET /word/a HTTP}).size, 1].max) { client.read_answer.status }
  end

  def serve(folder, &block)
    # With all of these set `exe/elah` does not start Ruby anew, which valgrind would not follow.
    env = { "RUBY_FIBER_VM_STACK_SIZE" => "1048576", "RUBY_FIBER_MACHINE_STACK_SIZE" => "1048576",
            "MALLOC_ARENA_MAX" => "2", "GLIBC_TUNABLES" => "glibc.malloc.arena_max=2" }
    under = [*VALGRIND.first(3), "--callgrind-out-file=#{folder}/counts", *VALGRIND.drop(3)]
    ElahServer.start(APP, env: env, under: under, **OPTIONS, &block)
  end

  def mark(client) = assert_equal(200, client.get("/mark").status)

  # What was counted between two marks each; every second count is that of the collection of garbage.
  def totals(folder, marks)
    (1...marks).map { |mark| Integer(File.read("#{folder}/counts.#{2 * mark + 1}")[/^totals: (\d+)/, 1]) }
  end
end
