# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"

# Who may do what to the shortener, and what strangers can put into its answers.
class LinksAccessTest < Minitest::Test
  KEY = "correct-horse"
  GUARDED = [["POST", "/links"], ["PATCH", "/links/abc"], ["DELETE", "/links/abc"], ["GET", "/links"],
             ["GET", "/links/export"], ["POST", "/links/import"]].freeze

  def test_without_the_key_nothing_is_written_and_nothing_is_listed
    with_key do |server|
      GUARDED.each do |verb, path|
        [{}, { "X-Api-Key" => "wrong" }, { "X-Api-Key" => "" }, { "Authorization" => "Bearer wrong" },
         { "Authorization" => KEY }, { "Authorization" => "Basic #{[":#{KEY}"].pack('m0')}" }].each do |headers|
          answer = server.request(verb, path, body: verb == "GET" ? nil : { target: "https://example.org/" },
                                              headers: headers)
          assert_equal [401, "unauthorized", 'Bearer realm="links"'],
                       [answer.status, answer.json["code"], answer["www-authenticate"]],
                       "#{verb} #{path} #{headers}"
        end
      end
      assert_equal "https://example.com/", server.get("/links/abc").json["target"]
    end
  end

  def test_who_lacks_the_key_learns_nothing_of_what_else_is_wrong
    with_key do |server|
      assert_equal 401, server.post("/links", {}).status
      assert_equal 401, server.get("/links?limit=5000").status
    end
  end

  def test_the_key_is_taken_from_either_header_and_never_from_the_query
    with_key do |server|
      link = { target: "https://example.org/" }
      assert_equal 201, server.post("/links", link, headers: { "X-Api-Key" => KEY }).status
      assert_equal 201, server.post("/links", link, headers: { "Authorization" => "bearer #{KEY}" }).status
      %w[api_key x-api-key key token access_token].each do |name|
        assert_equal 401, server.post("/links?#{name}=#{KEY}", { target: "https://example.org/", name => KEY }).status
      end
    end
  end

  def test_visits_previews_and_details_need_the_code_alone
    with_key do |server|
      assert_equal [302, 200, 200], ["/abc", "/abc+", "/links/abc"].map { |path| server.get(path).status }
    end
  end

  def test_the_key_is_in_no_log
    with_key do |server|
      GUARDED.each do |verb, path|
        server.request(verb, path, headers: { "X-Api-Key" => KEY, "Authorization" => "Bearer #{KEY}" })
      end
      refute_includes server.process.log, KEY
    end
  end

  # A misspelled key left the service open to everybody, and nothing said so.
  def test_a_misspelled_setting_is_told_in_the_log
    LinksServer.start(settings: { links_api_kye: KEY }) do |server|
      assert_match(/WARN .*The app has not read the setting links_api_kye\. Did you mean links_api_key\?$/,
                   server.process.log)
      refute_includes server.process.log, KEY
    end
    with_key { |server| refute_match(/has asked for/, server.process.log) }
  end

  def test_no_text_of_a_client_gets_into_a_header
    LinksServer.start do |server|
      ["https://example.com/\r\nSet-Cookie: a=b", "https://example.com/\nSet-Cookie: a=b",
       "https://example.com/\u0085Set-Cookie: a=b", "https://example.com\r\n\r\n<script>"].each do |target|
        assert_equal 422, server.post("/links", { target: target }).status
        assert_equal 422, server.import([{ target: target, code: "abc" }]).first["status"]
      end
      code = server.create(target: "https://example.com/%0d%0aSet-Cookie:%20a=b").fetch("code")
      ["/#{code}", "/#{code}+", "/%0d%0aSet-Cookie:a=b", "/#{code}%0d%0aSet-Cookie:a=b",
       "/links/#{code}%0d%0aSet-Cookie:a=b"].each do |path|
        answer = server.get(path)
        assert_nil answer["set-cookie"], path
        assert_nil answer["location"], path unless path == "/#{code}"
      end
    end
  end

  def test_a_host_that_is_none_is_refused_before_it_gets_into_a_short_url
    LinksServer.start do |server|
      ["evil.example/x", "a b", "<script>", "user@evil.example", "x\"y"].each do |host|
        assert_equal 400, server.post("/links", { target: "https://example.com/" }, headers: { "Host" => host }).status,
                     host
      end
    end
  end

  def test_the_base_url_of_the_settings_beats_the_host_of_the_request
    env = { "LINKS_BASE_URL" => "https://sho.rt", "LINKS_HOSTS" => "old.example, alias.example:8080" }
    LinksServer.start(env: env) do |server|
      link = server.create(code: "abc")
      assert_equal "https://sho.rt/abc", link.fetch("short_url")
      ["https://sho.rt/x", "http://SHO.RT./", "http://old.example/", "http://alias.example:8080/",
       server.url.sub("tcp", "http")].each do |target|
        answer = server.post("/links", { target: target }, headers: { "Host" => server.url.delete_prefix("tcp://") })
        assert_equal [422, "target_loops"], [answer.status, answer.json["code"]], target
      end
      assert_equal 201, server.post("/links", { target: "http://alias.example/" }).status
    end
  end

  private

  def with_key
    LinksServer.start(env: { "LINKS_API_KEY" => KEY }) do |server|
      server.post("/links", { target: "https://example.com/", code: "abc" }, headers: { "X-Api-Key" => KEY })
      yield server
    end
  end
end
