# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/raw_exchange"
require_relative "../support/patience"

# The attacks of published advisories against the servers that Elah follows or stands beside, replayed over real
# sockets. Each test carries the advisory's number. What must not happen is always one of three: a second request read
# out of the first one's bytes, work or memory without a bound, or one client's doing at another client's cost.
class HttpAdvisoriesTest < Minitest::Test
  include Patience
  include RawExchange

  APP = File.expand_path("../support/apps/echo.rb", __dir__)
  SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

  # Goliath up to its last release: a repeated Content-Length, and a Transfer-Encoding that is only nearly chunked.
  def test_goliath_cve_2020_7671_repeated_content_length
    assert_refused_without_smuggling post("Content-Length: 0", "Content-Length: #{SMUGGLED.bytesize}", body: SMUGGLED)
    assert_refused_without_smuggling post("Content-Length: #{SMUGGLED.bytesize}", "Content-Length: 0", body: SMUGGLED)
    assert_refused_without_smuggling post("Content-Length: 5", "Content-Length: 5", body: "hello#{SMUGGLED}")
    assert_refused_without_smuggling post("Content-Length: 5, #{SMUGGLED.bytesize}", body: "hello#{SMUGGLED}")
  end

  def test_goliath_cve_2020_7671_nearly_chunked
    ["\vchunked", "chunked\v", "x chunked", "chunked, identity", "chunked,", "chunked;q=0", "\"chunked\"",
     "CHUNKE\u212a", "cow", "chunked\r\n\tx", "chunked\0"].each do |encoding|
      assert_refused_without_smuggling post("Transfer-Encoding: #{encoding}", body: "0\r\n\r\n#{SMUGGLED}")
      assert_refused_without_smuggling post("Content-Length: 5", "Transfer-Encoding: #{encoding}",
                                            body: "0\r\n\r\n#{SMUGGLED}")
    end
    ["Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked",
     "Transfer-Encoding\0: chunked", "Transfer_Encoding: chunked"].each do |line|
      assert_refused_without_smuggling post("Content-Length: 5", line, body: "0\r\n\r\n#{SMUGGLED}")
    end
  end

  # Puma: CVE-2020-11076 (an invalid Transfer-Encoding), CVE-2020-11077 (Content-Length beside Transfer-Encoding).
  def test_puma_cve_2020_11076_and_11077_length_and_encoding
    body = "0\r\n\r\n#{SMUGGLED}"
    assert_refused_without_smuggling post("Content-Length: #{body.bytesize}", "Transfer-Encoding: chunked", body: body)
    assert_refused_without_smuggling post("Transfer-Encoding: chunked", "Content-Length: #{body.bytesize}", body: body)
    assert_refused_without_smuggling post("Transfer-Encoding: gzip, chunked", body: body)
  end

  # Puma: LF alone ended a header line.
  def test_puma_cve_2021_41136_line_feed
    assert_refused_without_smuggling get("X: a\nContent-Length: 5") + SMUGGLED
    assert_refused_without_smuggling get("X: a\n\n#{SMUGGLED}")
  end

  # Puma: lengths that are no numbers, and chunks whose end was not looked at.
  def test_puma_cve_2022_24790_lengths_and_chunk_ends
    %w[0x5 +5 5_0 5.0 -5].each do |length|
      assert_refused_without_smuggling post("Content-Length: #{length}", body: "hello#{SMUGGLED}")
    end
    assert_refused_without_smuggling post_chunked("1\r\nxxx0\r\n\r\n#{SMUGGLED}")
    assert_refused_without_smuggling post_chunked("3\r\nabc\n\r0\r\n\r\n#{SMUGGLED}")
  end

  # Puma: an empty Content-Length, and trailers that were taken for what follows.
  def test_puma_cve_2023_40175_empty_length_and_trailers
    assert_refused_without_smuggling post("Content-Length:", body: SMUGGLED)
    assert_refused_without_smuggling post_chunked("0\r\n#{SMUGGLED}")
    outcome = exchange(server, post_chunked("0\r\nX-Trailer: 1\r\n\r\n") + get("Connection: close", target: "/next"))
    assert_equal(%w[/ /next], outcome.answers.map { |answer| answer.json["path"] })
    assert_nil outcome.answers.first.json["headers"]["x-trailer"]
  end

  # Puma: chunk extensions without a bound.
  def test_puma_cve_2024_21647_chunk_extensions
    assert_refused 400, "invalid_chunk", exchange(server, post_chunked("1;#{'e' * 2000}\r\nx\r\n0\r\n\r\n"))
    assert_refused 400, "invalid_chunk", exchange(server, post_chunked("1;#{'e' * 1000}\r\nx\r\n" * 20))
  end

  # Puma: X_Forwarded_For of the client won over X-Forwarded-For of the proxy.
  def test_puma_cve_2024_45614_underscores
    assert_refused 400, "ambiguous_header",
                   exchange(server, get("X-Forwarded-For: 192.0.2.1", "X_Forwarded_For: 192.0.2.2"))
    assert_refused 400, "ambiguous_header",
                   exchange(server, get("X_Forwarded-For: 192.0.2.1", "X-Forwarded_For: 192.0.2.2"))
  end

  # httpoxy (CVE-2016-5385 and its kin): a client's Proxy header became HTTP_PROXY. Puma (above): so did one with an
  # underscore that stands alone.
  def test_httpoxy_and_underscores_do_not_reach_the_rack_environment
    app = 'run ->(env) { [200, { "content-type" => "text/plain" }, [env.keys.grep(/\AHTTP_/).sort.join(" ")]] }'
    ElahServer.start(app) do |server|
      lines = { "Proxy" => "http://192.0.2.1", "X_Forwarded_For" => "192.0.2.2", "Accept" => "*/*" }
      assert_equal "HTTP_ACCEPT HTTP_HOST HTTP_VERSION",
                   server.connect { |client| client.get("/", headers: lines).body }
    end
  end

  # Puma: the line of the PROXY protocol was buffered without a bound, and read again on a kept connection.
  def test_puma_cve_2026_47736_and_47737_proxy_protocol
    assert_refused 414, "target_too_long", exchange(server, "PROXY TCP4 #{'1' * 10_000}")
    outcome = exchange(server, "#{get}PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n#{get}")
    assert_equal [200, 400], outcome.statuses
  end

  # Puma: a client that keeps its connection busy kept new ones waiting.
  def test_puma_cve_2019_16770_and_2021_29509_busy_clients_do_not_starve_new_ones
    ElahServer.start(APP, fibers_max: 2, queue_max: 100) do |server|
      stop = false
      busy = Array.new(8) { Thread.new { server.connect { |client| client.get("/") until stop } } }
      waits = Array.new(20) { measure { assert_equal 200, server.get("/").status } }
      assert_operator waits.max, :<, 10, "a new client waited #{waits.max.round(3)} s beside busy ones"
    ensure
      stop = true
      busy&.each(&:join)
    end
  end

  # Puma: a line end in a header of the answer split it.
  def test_puma_cve_2020_5247_response_splitting
    ["a||Set-Cookie: b", "a|", "|a"].each do |value|
      outcome = exchange(server, get("Connection: close", "X-Reflect: #{value}", target: "/split"))
      assert_equal [500], outcome.statuses
      assert_nil outcome.last["set-cookie"]
      assert_nil outcome.last["x-reflected"]
    end
  end

  # protocol-http1, which Falcon uses: Ruby's Integer() took signs, prefixes and underscores.
  def test_protocol_http1_cve_2023_38697_lengths
    %w[+0 0x0 0_0 0b0 0o0].each do |length|
      assert_refused_without_smuggling post("Content-Length: #{length}", body: SMUGGLED)
      assert_refused_without_smuggling post_chunked("#{length}\r\n\r\n#{SMUGGLED}")
    end
  end

  # WEBrick: CVE-2024-47220 (both lengths), CVE-2025-6442 (where the head ends).
  def test_webrick_cve_2024_47220_and_2025_6442_where_the_head_ends
    assert_refused_without_smuggling post("Content-Length: 50", "Transfer-Encoding: chunked",
                                          body: "0\r\n\r\n#{SMUGGLED}")
    ["\n\n", "\r\n\n", "\n\r\n", "\r\r", "\r\n\r"].each do |ending|
      assert_refused_without_smuggling "GET / HTTP/1.1\r\nHost: a#{ending}#{SMUGGLED}"
    end
  end

  # Node: CVE-2022-32213 (Transfer-Encoding), 32214 (LF), 32215 (folded Transfer-Encoding), 35256 (no CR before LF).
  def test_node_cve_2022_32213_to_35256
    assert_refused_without_smuggling post("Transfer-Encoding: chunkedchunked", body: "0\r\n\r\n#{SMUGGLED}")
    assert_refused_without_smuggling post("Transfer-Encoding: chunked,", " identity", body: "0\r\n\r\n#{SMUGGLED}")
    assert_refused_without_smuggling "GET / HTTP/1.1\r\nHost: a\r\nDummy: x\nContent-Length: 23\r\n\r\n#{SMUGGLED}"
  end

  # Go: LF alone ended a chunk-size line.
  def test_go_cve_2025_22871_chunk_size_line
    assert_refused_without_smuggling post_chunked("5;\nhello\r\n0\r\n\r\n#{SMUGGLED}")
    assert_refused_without_smuggling post_chunked("0\n\r\n#{SMUGGLED}")
  end

  # hyper: RUSTSEC-2021-0020 (several Transfer-Encodings), 0078 (a sign in Content-Length), 0079 (an overflowing chunk
  # size).
  def test_hyper_rustsec_2021_0020_0078_0079
    assert_refused_without_smuggling post("Transfer-Encoding: chunked", "Transfer-Encoding: cow",
                                          body: "0\r\n\r\n#{SMUGGLED}")
    assert_refused_without_smuggling post("Content-Length: +3", body: "abc#{SMUGGLED}")
    assert_refused_without_smuggling post_chunked("f0000000000000003\r\nabc\r\n0\r\n\r\n#{SMUGGLED}")
  end

  # A server that had run out of descriptors stayed deaf after its clients had gone (Falcon, Puma).
  def test_descriptor_exhaustion_ends_with_its_cause
    ElahServer.start(APP) do |server|
      server.get("/")
      assert system("prlimit", "--pid", server.pid.to_s, "--nofile=64:64"), "prlimit of util-linux is needed"
      held = Array.new(150) { server.connect }
      used = cpu_seconds(server.pid)
      refute held.last.write(get).socket.wait_readable(1), "more connections than descriptors were served"
      assert_operator cpu_seconds(server.pid) - used, :<, 0.5, "the server spins while it has no descriptors"
      held.each(&:close)
      assert_operator measure { assert_equal 200, server.get("/").status }, :<, 20
    end
  end

  private

  def server = @server ||= ElahServer.start(APP, header_seconds: 1, body_seconds: 1)

  def teardown = @server&.stop

  # Checks that the bytes are refused as one request, and that the one hidden in them never reached the application.
  def assert_refused_without_smuggling(bytes)
    before = Integer(server.get("/seen").body)
    outcome = exchange(server, bytes)
    message = bytes.inspect
    assert_equal 1, outcome.answers.size, message
    assert_operator outcome.last.status, :>=, 400, message
    assert_predicate outcome, :closed?, message
    assert_equal before, Integer(server.get("/seen").body), message
  end

  def cpu_seconds(pid)
    user, system = File.read("/proc/#{pid}/stat").rpartition(")").last.split.values_at(11, 12)
    (Integer(user) + Integer(system)) / Float(`getconf CLK_TCK`)
  end
end
