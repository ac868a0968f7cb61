# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# The environment that a Rack app sees, for Rack 2 (Rack::Lint is around the app) and for Rack 3.
class RackEnvTest < Minitest::Test
  APP = File.expand_path("../support/apps/rack_env.ru", __dir__)

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_it_says_what_the_request_is
    env = env_of(get("/a%20b/c?x=1&y=%32"))
    assert_equal({ "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/a%20b/c",
                   "QUERY_STRING" => "x=1&y=%32", "REQUEST_PATH" => "/a%20b/c", "REQUEST_URI" => "/a%20b/c?x=1&y=%32",
                   "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1", "REMOTE_ADDR" => "127.0.0.1",
                   "HTTP_HOST" => "test.example", "SERVER_NAME" => "test.example", "SERVER_PORT" => "80" },
                 env.slice("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "REQUEST_PATH", "REQUEST_URI",
                           "SERVER_PROTOCOL", "HTTP_VERSION", "REMOTE_ADDR", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT"))
  end

  def test_it_has_what_rack_2_and_rack_3_ask_for
    env = env_of(get("/"))
    assert_equal([[1, 3], "http", true, false, false, true],
                 env.values_at("rack.version", "rack.url_scheme", "rack.multithread", "rack.multiprocess",
                               "rack.run_once", "rack.hijack?"))
    assert_equal [], env["rack.response_finished"]
    %w[rack.input rack.errors rack.hijack].each { |key| assert_includes env, key }
    %w[rack.early_hints rack.hijack_io].each { |key| refute_includes env, key }
  end

  def test_a_request_without_a_query_has_an_empty_query_string
    env = env_of(get("/"))
    assert_equal ["", "/"], env.values_at("QUERY_STRING", "REQUEST_URI")
  end

  def test_nothing_is_left_over_from_the_request_before
    self.class.server.connect do |client|
      client.request("POST", "/first?a=1", headers: { "X-First" => "1", "Content-Type" => "text/plain" }, body: "first")
      env = load(client.get("/second"))
      assert_equal ["GET", "", "/second"], env.values_at("REQUEST_METHOD", "QUERY_STRING", "PATH_INFO")
      %w[HTTP_X_FIRST CONTENT_TYPE CONTENT_LENGTH].each { |key| refute_includes env, key }
    end
  end

  def test_values_are_binary_unless_they_never_change
    env = env_of(get("/?q", "X-Name: caf\u00e9"))
    assert_equal "caf\xC3\xA9".b, env["HTTP_X_NAME"]
    %w[PATH_INFO QUERY_STRING HTTP_X_NAME HTTP_HOST].each do |key|
      assert_equal Encoding::BINARY, env[key].encoding, key
    end
  end

  def test_header_names_become_keys
    env = env_of(get("/", "X-Some-Thing: 1", "accept-ENCODING: gzip", "#{'N' * 200}-x: long"))
    assert_equal %w[1 gzip long], env.values_at("HTTP_X_SOME_THING", "HTTP_ACCEPT_ENCODING", "HTTP_#{'N' * 200}_X")
  end

  def test_repeated_headers_are_joined
    env = env_of(get("/", "X-A: 1", "Cookie: a=1", "X-A: 2", "Cookie: b=2", "X-A: 3"))
    assert_equal ["1, 2, 3", "a=1; b=2"], env.values_at("HTTP_X_A", "HTTP_COOKIE")
  end

  def test_headers_that_would_overwrite_others_are_left_out
    env = env_of(get("/", "X_Some_Thing: spoofed", "Proxy: http://evil.example", "Version: HTTP/9"))
    %w[HTTP_X_SOME_THING HTTP_PROXY].each { |key| refute_includes env, key }
    assert_equal "HTTP/1.1", env["HTTP_VERSION"]
  end

  def test_the_length_and_type_of_a_body_have_no_prefix
    env = env_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\nab")
    assert_equal %w[text/x 2], env.values_at("CONTENT_TYPE", "CONTENT_LENGTH")
    %w[HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH].each { |key| refute_includes env, key }
  end

  def test_a_chunked_body_has_a_length_by_the_time_the_app_sees_it
    env = env_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
    assert_equal "7", env["CONTENT_LENGTH"]
    refute_includes env, "HTTP_TRANSFER_ENCODING"
  end

  def test_the_server_is_named_by_the_host_header
    { "h.example:8080" => %w[h.example 8080], "h.example" => %w[h.example 80], "h.example:" => %w[h.example 80],
      "[::1]:81" => %w[[::1] 81], "[::1]" => %w[[::1] 80], "127.0.0.1:9" => %w[127.0.0.1 9] }.each do |host, named|
      env = env_of("GET / HTTP/1.1\r\nHost: #{host}\r\n\r\n")
      assert_equal [host, *named], env.values_at("HTTP_HOST", "SERVER_NAME", "SERVER_PORT")
    end
  end

  def test_without_a_host_header_the_listener_names_the_server
    env = env_of("GET / HTTP/1.0\r\n\r\n")
    assert_equal ["localhost", self.class.server.port.to_s, "HTTP/1.0", "HTTP/1.0"],
                 env.values_at("SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "HTTP_VERSION")
    refute_includes env, "HTTP_HOST"
  end

  def test_a_whole_url_as_target
    env = env_of("GET http://h.example/p?q HTTP/1.1\r\nHost: h.example\r\n\r\n")
    assert_equal ["http://h.example/p?q", "/p", "q"], env.values_at("REQUEST_URI", "PATH_INFO", "QUERY_STRING")
  end

  def test_hosts_that_alternate_leave_nothing_to_the_next_request
    hosts = ["one.example:8080", "two.example", "one.example:8080"]
    named = hosts.map do |host|
      env_of("GET / HTTP/1.1\r\nHost: #{host}\r\n\r\n").values_at("SERVER_NAME", "SERVER_PORT")
    end
    assert_equal [%w[one.example 8080], %w[two.example 80], %w[one.example 8080]], named
    env = env_of("GET / HTTP/1.0\r\n\r\n")
    assert_equal "localhost", env["SERVER_NAME"]
    refute_equal "8080", env["SERVER_PORT"]
  end

  def test_methods_are_passed_on
    %w[POST PUT PATCH DELETE OPTIONS TRACE PROPFIND].each do |verb|
      assert_equal verb, env_of("#{verb} / HTTP/1.1\r\nHost: a\r\n\r\n")["REQUEST_METHOD"]
    end
  end

  def test_more_header_names_than_are_remembered
    2.times do
      600.times.each_slice(90) do |numbers|
        env = env_of(get("/", *numbers.map { |number| "X-#{number}: v#{number}" }))
        numbers.each { |number| assert_equal "v#{number}", env["HTTP_X_#{number}"] }
      end
    end
  end

  def test_a_unix_socket_has_the_local_address
    Dir.mktmpdir do |folder|
      ElahServer.start(APP, bind: "unix://#{folder}/s") do |server|
        env = load(server.get("/"))
        assert_equal "127.0.0.1", env["REMOTE_ADDR"]
      end
    end
  end

  private

  def get(target, *lines)
    "GET #{target} HTTP/1.1\r\nHost: test.example\r\n#{lines.map { |line| "#{line}\r\n" }.join}\r\n"
  end

  def env_of(request)
    self.class.server.connect { |client| load(client.write(request).read_answer) }
  end

  def load(answer) = Marshal.load(answer.body)
end
