# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"

# The shortener when its store is full or a library is missing.
class LinksBadDaysTest < Minitest::Test
  PNG = "\x89PNG\r\n\x1a\n".b

  def test_a_full_store_refuses_new_links_and_goes_on_redirecting
    LinksServer.start(store_bytes_max: "1M") do |server|
      server.create(code: "plain")
      server.create(code: "limited", max_visits: 1_000_000)
      statuses = fill(server)
      assert_equal [201, 507], statuses.uniq
      # A page that an earlier commit gave back may still take one.
      answers = Array.new(20) { server.post("/links", { target: "https://example.com/#{'x' * 4000}" }) }
      answer = answers.find { |candidate| candidate.status == 507 } || answers.last
      assert_equal [507, "store_full", "application/problem+json"],
                   [answer.status, answer.json["code"], answer["content-type"]]
      assert_equal 302, server.get("/plain").status
      assert_equal [503, 200], [server.get("/readyz").status, server.get("/livez").status]
      assert_includes [302, 507], server.get("/limited").status
    end
  end

  def test_a_full_store_is_told_line_by_line_in_an_import
    LinksServer.start(store_bytes_max: "1M") do |server|
      links = Array.new(1500) { |index| { target: "https://example.com/#{'x' * 1500}", code: "code#{index}" } }
      *results, summary = server.import(links)
      failed = results.select { |result| result["status"] == 507 }
      assert_equal %w[store_full], failed.map { |result| result.dig("error", "code") }.uniq
      assert_equal [1500, failed.size], summary.fetch("summary").values_at("lines", "failed")
      created = results.find { |result| result["status"] == 201 }
      assert_equal 302, server.get("/#{created['code']}").status
    end
  end

  def test_qr_codes
    LinksServer.start do |server|
      server.create(code: "abc")
      svg = server.get("/links/abc/qr.svg")
      assert_equal [200, "image/svg+xml"], [svg.status, svg["content-type"]]
      assert svg.body.match?(/<svg.*<(rect|path)/m), svg.body[0, 300]
      small, large = [100, 800].map { |size| server.get("/links/abc/qr.png?size=#{size}") }
      assert_equal [200, "image/png", PNG], [small.status, small["content-type"], small.body[0, 8]]
      assert_equal [100, 800], [small, large].map { |answer| answer.body.unpack1("@16N") }
      assert_equal [400, 404],
                   [server.get("/links/abc/qr.png?size=5000").status, server.get("/links/none/qr.svg").status]
      assert_equal 0, server.visits("abc")
    end
  end

  def test_without_the_library_qr_codes_say_what_to_install
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "rqrcode.rb"), "raise LoadError, \"cannot load such file -- rqrcode\"\n")
      LinksServer.start(env: { "RUBYLIB" => folder }) do |server|
        server.create(code: "abc")
        answer = server.get("/links/abc/qr.svg")
        assert_equal [501, "qr_unavailable"], [answer.status, answer.json["code"]]
        assert_includes answer.json["detail"], "apt install ruby-rqrcode"
        assert_equal 302, server.get("/abc").status
      end
    end
  end

  # What the results' file had not written yet was written when it was closed, and failed again: the answer was a 500.
  def test_an_import_whose_results_have_no_room_says_so
    Dir.mktmpdir do |folder|
      mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size="$0" tmpfs "$1" && shift && exec "$@"']
      skip "this user may not mount" unless system(*mount, "4k", folder, "true", err: File::NULL)
      LinksServer.start(env: { "TMPDIR" => folder }, under: [*mount, "4k", folder]) do |server|
        [90, 900].each do |count|
          body = Array.new(count) { |number| %({"target":"https://example.com/#{number}"}\n) }.join
          answer = server.post("/links/import", body, headers: { "Content-Type" => "application/x-ndjson" })
          assert_equal [507, "spool_failed"], [answer.status, answer.json["code"]], "#{count} links"
        end
      end
    end
  end

  private

  # Creates long links until none is taken any more.
  #
  # @return [Array<Integer>] statuses
  def fill(server)
    server.process.connect do |client|
      statuses = []
      until statuses.last == 507
        body = JSON.generate(target: "https://example.com/#{'x' * 4000}")
        answer = client.request("POST", "/links", headers: { "Content-Type" => "application/json" }, body: body)
        statuses << answer.status
      end
      statuses
    end
  end
end
