# frozen_string_literal: true

require_relative "../test_helper"
require "support/gems"
return unless Gems.present?("sinatra")

require_relative "../support/elah_server"
require_relative "../support/patience"
require "zlib"

# A Sinatra app with the usual middleware, over HTTP.
class RackSinatraTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/sinatra.ru", __dir__)

  @server = ElahServer.start(APP, body_memory_bytes: 4096)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_text
    answer = server.get("/")
    assert_equal [200, "hello", "5", "text/html;charset=utf-8"],
                 [answer.status, answer.body, answer["content-length"], answer["content-type"]]
  end

  def test_parameters
    assert_equal({ "a" => { "b" => ["1", "ü"] }, "name" => "x y" },
                 server.get("/params/x%20y?a[b][]=1&a[b][]=%C3%BC").json)
    assert_equal({ "a" => "1", "b" => { "c" => "2" } },
                 post("/form", "a=1&b[c]=2", "application/x-www-form-urlencoded").json)
  end

  def test_a_chunked_form
    server.connect do |client|
      client.write("POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n" \
                   "Transfer-Encoding: chunked\r\n\r\n")
      assert_equal({ "a" => "12" }, client.write("3\r\na=1\r\n1\r\n2\r\n0\r\n\r\n").read_answer.json)
    end
  end

  def test_a_session
    server.connect do |client|
      cookie = nil
      counts = Array.new(3) do
        answer = client.get("/count", headers: cookie ? { "Cookie" => cookie } : {})
        cookie = answer["set-cookie"][/\A[^;]+/]
        answer.body
      end
      assert_equal %w[1 2 3], counts
    end
  end

  def test_cookies
    answer = server.connect { |client| client.get("/cookie", headers: { "Cookie" => "x=1; y=2" }) }
    assert_equal '[["x", "1"], ["y", "2"]]', answer.body
    cookies = answer.header_lines.filter_map { |name, value| value if name == "set-cookie" }
    assert_equal ["a=1", "b=2; path=/"], cookies.grep(/\A[ab]=/)
  end

  def test_redirects_errors_and_halts
    answer = server.get("/redirect")
    assert_equal [302, "http://test.example/elsewhere"], [answer.status, answer["location"]]
    assert_equal [418, "tea", "short and stout"],
                 server.get("/halt").then { |halted| [halted.status, halted["x-why"], halted.body] }
    assert_equal [500, "sorry"], server.get("/raise").then { |failed| [failed.status, failed.body] }
    assert_equal [404, "nothing here"], server.get("/missing").then { |missing| [missing.status, missing.body] }
    server.wait_for(/RuntimeError - the secret/)
  end

  def test_what_the_app_knows_of_the_request
    assert_equal "http://test.example/x", server.get("/url").body
    assert_equal "127.0.0.1 http test.example 80 ", server.get("/ip").body
    assert_equal "127.0.0.1 http h.example 8080 ",
                 server.connect { |client| client.get("/ip", headers: { "Host" => "h.example:8080" }).body }
    assert_equal '["/mounted", "/rest"]', server.get("/mounted/rest").body
    assert_equal "http://test.example/sub/x", server.get("/sub/url").body
  end

  def test_head
    server.connect do |client|
      answer = client.request("HEAD", "/")
      assert_equal [200, "5"], [answer.status, answer["content-length"]]
      assert_equal "hello", client.get("/").body
    end
  end

  def test_conditional_requests
    etag = server.get("/etag")["etag"]
    answer = server.connect { |client| client.get("/etag", headers: { "If-None-Match" => etag }) }
    assert_equal [304, "", nil], [answer.status, answer.body, answer["content-length"]]
    old = { "If-Modified-Since" => "Thu, 01 Jan 1970 00:00:00 GMT" }
    assert_equal 304, server.connect { |client| client.get("/last", headers: old).status }
  end

  def test_files
    content = File.binread(APP)
    assert_equal content, server.get("/file").body
    answer = server.connect { |client| client.get("/range", headers: { "Range" => "bytes=2-5" }) }
    assert_equal [206, content[2..5], "bytes 2-5/#{content.bytesize}"],
                 [answer.status, answer.body, answer["content-range"]]
    assert_equal content, server.get("/sinatra.ru").body, "a static file"
  end

  def test_compression
    answer = server.connect { |client| client.get("/", headers: { "Accept-Encoding" => "gzip" }) }
    assert_equal ["gzip", "hello"], [answer["content-encoding"], Zlib.gunzip(answer.body)]
  end

  def test_bodies_in_memory_and_on_disk
    [10, 100_000].each do |bytes|
      assert_match(/\A#{bytes} text\/plain /, post("/body", "x" * bytes, "text/plain").body)
    end
  end

  def test_uploads
    [10, 100_000].each do |bytes|
      parts = "--B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nread me\r\n" \
              "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n" \
              "Content-Type: application/x\r\n\r\n#{'y' * bytes}\r\n--B--\r\n"
      assert_equal "a.bin application/x #{bytes} read me",
                   post("/upload", parts, "multipart/form-data; boundary=B").body
    end
  end

  def test_100_continue
    server.connect do |client|
      client.write("POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n" \
                   "Expect: 100-continue\r\n\r\n")
      assert_equal 100, client.read_answer.status
      assert_match(/\A5000 /, client.write("z" * 5000).read_answer.body)
    end
  end

  def test_streams
    answer = server.get("/stream")
    assert_equal ["0;1;2;", "chunked"], [answer.body, answer["transfer-encoding"]]
    assert_raises(HttpClient::Closed) { server.get("/stream_fails") }
  end

  def test_requests_wait_side_by_side
    assert_quick(20 * 0.2 / 2) do
      clients = Array.new(20) { server.connect.tap { |client| client.write("GET /sleep HTTP/1.1\r\nHost: a\r\n\r\n") } }
      assert_equal ["slept"], clients.map { |client| client.read_answer.body }.uniq
    ensure
      clients&.each(&:close)
    end
  end

  CLASSIC = <<~RUBY
    require "sinatra"
    set :host_authorization, { permitted_hosts: [] }
    get("/file") { settings.app_file }
    get("/view") { erb :page }
    run Sinatra::Application
    __END__
    @@page
    one and one are <%= 1 + 1 %>
  RUBY

  # Sinatra took a file of Elah for that of the app, whose views, templates and public files were not found.
  def test_a_classic_app_finds_its_own_file
    ElahServer.start(CLASSIC) do |server|
      assert_equal [File.join(server.folder, "app.rb"), "one and one are 2\n"],
                   %w[/file /view].map { |path| server.get(path).body }
    end
  end

  # sinatra/reloader makes a `compile!` public that has nothing to do with that of an API: the server did not start.
  def test_an_app_may_have_a_compile_of_its_own
    app = <<~RUBY
      require "sinatra/base"
      class App < Sinatra::Base
        get("/") { "hello" }
        def self.compile!(verb, path, block, **) = super
      end
      run App
    RUBY
    ElahServer.start(app, extension: ".ru", env: { "RACK_ENV" => "production" }) do |server|
      assert_equal "hello", server.get("/").body
    end
  end

  private

  def server = self.class.server

  def post(path, body, type) = server.request("POST", path, headers: { "Content-Type" => type }, body: body)
end
