# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/links_server"
require_relative "../support/patience"

# Imports and exports of the shortener: long ones, broken ones, clients that misbehave.
class LinksTransfersTest < Minitest::Test
  include Patience

  NDJSON = { "Content-Type" => "application/x-ndjson" }.freeze

  def test_a_hundred_thousand_lines_with_bad_ones_among_them
    LinksServer.start(body_bytes_max: "20M") do |server|
      lines = Array.new(100_000) do |index|
        is_broken = (index % 1000) == 7
        is_broken ? "{\"target\":#{index}" : { target: "https://example.com/#{index}", code: "code-#{index}" }
      end
      *results, summary = server.import(lines)
      assert_equal({ "lines" => 100_000, "created" => 99_900, "found" => 0, "failed" => 100 }, summary.fetch("summary"))
      assert_equal (1..100_000).to_a, results.map { |result| result.fetch("line") }
      assert_equal [422], results.each_slice(1000).map { |slice| slice[7].fetch("status") }.uniq
      assert_equal "https://example.com/99999", server.get("/code-99999")["location"]
      exported = server.get("/links/export").body.each_line
      assert_equal 99_900, exported.map { |line| JSON.parse(line).fetch("code") }.uniq.size
    end
  end

  def test_ten_thousand_codes_are_loaded_within_seconds
    LinksServer.start do |server|
      lines = Array.new(10_000) { |index| { target: "https://example.com/#{index}", code: "load#{index}" } }
      before = cpu_seconds(server)
      assert_equal 10_000, server.import(lines).last.dig("summary", "created")
      assert_operator cpu_seconds(server) - before, :<, 15.0
    end
  end

  def test_generated_codes_of_an_import_are_unlike
    LinksServer.start do |server|
      results = server.import(Array.new(3000) { { target: "https://example.com/" } }).first(3000)
      assert_equal 3000, results.map { |result| result.fetch("code") }.uniq.size
    end
  end

  def test_an_export_moves_every_link_to_another_store
    LinksServer.start do |server|
      server.create(code: "limited", max_visits: 9, status: 307, title: "Ü <>", tags: %w[a größe])
      server.create(code: "dated", not_before: "2020-01-01T00:00:00Z", expires_in: 1000)
      5.times { server.get("/limited") }
      exported = server.get("/links/export").body.force_encoding("UTF-8")
      LinksServer.start do |other|
        assert_equal 2, other.import(exported.lines(chomp: true)).last.dig("summary", "created")
        again = other.get("/links/export").body.force_encoding("UTF-8")
        assert_equal unchanged(server.url, exported), unchanged(other.url, again)
        assert_equal 4, Array.new(9) { other.get("/limited").status }.count(307)
      end
    end
  end

  def test_empty_lines_long_lines_and_strange_bytes
    LinksServer.start do |server|
      results = server.import(["", "{\"target\":\"https://example.com/\"}\r", "x" * 70_000, "\xff\xfe", "null", "{}",
                               "{\"target\":1}", "{\"target\":\"https://example.com/\",\"visits\":-1}"])
      assert_equal [[2, 201], [3, 413], [4, 422], [5, 422], [6, 422], [7, 422], [8, 422]],
                   results[0..-2].map { |one| one.values_at("line", "status") }
      assert_equal %w[line_too_long invalid_line invalid_line invalid_target invalid_target invalid_visits],
                   results[1..-2].map { |one| one.dig("error", "code") }
      assert_equal({ "lines" => 8, "created" => 1, "found" => 0, "failed" => 6 }, results.last.fetch("summary"))
    end
  end

  def test_the_body_is_read_as_it_comes_and_answered_after_its_end
    LinksServer.start do |server|
      server.process.connect do |client|
        client.write("POST /links/import HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        150.times do |index|
          client.write(chunk("{\"target\":\"https://example.com/#{index}\",\"code\":\"aa#{index}\"}\n" * 2))
        end
        wait_until { server.get("/aa0").status == 302 }
        client.write(chunk("{\"target\":\"https://example.com/\",\"code\":\"last\"}") + "0\r\n\r\n")
        answer = client.read_answer
        assert_equal({ "lines" => 301, "created" => 151, "found" => 0, "failed" => 150 },
                     JSON.parse(answer.body.lines.last).fetch("summary"))
      end
    end
  end

  def test_a_client_that_breaks_off_leaves_whole_batches_and_a_server_that_goes_on
    LinksServer.start do |server|
      server.process.connect do |client|
        client.write("POST /links/import HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        lines = Array.new(450) { |index| "{\"target\":\"https://example.com/\",\"code\":\"bb#{index}\"}\n" }
        client.write(chunk(lines.join))
        wait_until { server.get("/bb399").status == 302 }
      end
      assert_equal [302, 404], [server.get("/bb0").status, server.get("/bb400").status]
      assert_equal 400, server.get("/links?limit=1000").json.fetch("links").size
      # They kept their space on the disk until the next garbage collection.
      wait_until("its results are gone") { open_files(server).grep(/import-report/).empty? }
    end
  end

  private

  def chunk(text) = "#{text.bytesize.to_s(16)}\r\n#{text}\r\n"

  # @return [Array<Hash>] what must be the same in another store
  def unchanged(url, export)
    base = url.sub("tcp", "http")
    export.lines.map { |line| JSON.parse(line.gsub(base, "")).except("updated_at", "short_url") }
  end

  def open_files(server)
    Dir["/proc/#{server.process.pid}/fd/*"].filter_map do |link|
      File.readlink(link)
    rescue Errno::ENOENT
      nil # closed meanwhile
    end
  end

  # @return [Float] user and system time of the server
  def cpu_seconds(server)
    fields = File.read("/proc/#{server.process.pid}/stat").split(") ").last.split
    (fields[11].to_i + fields[12].to_i) / 100.0
  end
end
