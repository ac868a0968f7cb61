# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# Requests and answers of all forms while Ruby collects garbage at every allocation, and after it has moved its objects.
class RackGCTest < Minitest::Test
  APP = File.expand_path("../support/apps/rack_responses.ru", __dir__)
  FORMS = { "array" => 200, "numbers" => 200, "rack_2_headers" => 200, "rack_3_headers" => 200, "pairs" => 200,
            "each" => 200, "enumerator" => 200, "external_enumerator" => 200, "to_ary" => 200, "call" => 200,
            "call_unclosed" => 200, "file_part" => 200, "string_status" => 201, "no_content" => 204, "raises" => 500,
            "finished" => 200, "finished_error" => 500, "header_break" => 500 }.freeze

  # What a request may take under stress.
  LONG_SECONDS = 600

  def test_gc_stress
    with_server do |server|
      server.get("/stress")
      assert_forms(server)
      server.get("/calm")
    end
  end

  def test_compaction
    with_server do |server|
      3.times do
        assert_forms(server)
        assert_equal 200, server.get("/compact").status, server.log
      end
      assert_forms(server)
    end
  end

  private

  def with_server(&block)
    ElahServer.start(APP, body_memory_bytes: 1024, request_seconds: LONG_SECONDS, body_seconds: LONG_SECONDS,
                          header_seconds: LONG_SECONDS, stall_ms: LONG_SECONDS * 1000, &block)
  end

  # Each form with headers of its own, without a body, with one in memory and with one on disk.
  def assert_forms(server)
    FORMS.each.with_index do |(form, status), index|
      headers = { "X-#{form.tr('_', '-')}" => form, "Host" => "h#{index}.example:#{index + 1}" }
      body = [nil, "b" * 100, "b" * 5000][index % 3]
      answer = server.connect(seconds: LONG_SECONDS) do |client|
        client.request("POST", "/#{form}", headers: headers, body: body)
      end
      assert_equal status, answer.status, form
    end
  end
end
