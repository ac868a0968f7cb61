# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "rbconfig"
require "support/elah_server"
require_relative "grape_parity/table"

# The native server answers the requests of the parity table as the Rack entry does: over real sockets, on connections
# that are kept open.
class NativeParityTest < Minitest::Test
  PROBE = File.expand_path("grape_parity/probe.rb", __dir__)
  APP = File.expand_path("grape_parity/native_app.rb", __dir__)

  # What depends on the protocol, on the API's own path or on being mounted, and paths that the server refuses by
  # itself.
  ELSEWHERE = %r{redirect|rack|path_info|\A[^?]*%(ff|zz)}.freeze

  def test_both_entries_answer_alike
    # Asked for before there is a connection, which does not stay open for as long as that may take.
    rows = ParityTable.requests.zip(rack_answers).select { |(api, request), _| comparable?(api, request) }
    assert_operator rows.size, :>, ParityTable.requests.size / 2
    ElahServer.start(APP) do |server|
      server.connect do |client|
        differences = rows.filter_map do |(api, request), rack|
          native = native(client, api, request)
          "#{api} #{request}\n  Rack:   #{rack}\n  native: #{native}" unless same?(rack, native)
        end
        assert_empty differences
      end
    end
  end

  private

  def comparable?(api, request)
    verb, target = request["ask"].split(" ", 2)
    !%w[Closed Inner].include?(api) && verb != "TRACE" && target.match?(/\A[!-~]+\z/) &&
      !request["ask"].match?(ELSEWHERE)
  end

  def native(client, api, request)
    verb, target = request["ask"].split(" ", 2)
    body, type = ParityTable.content(request)
    headers = (request["headers"] || {}).merge(type ? { "Content-Type" => type } : {})
    answer = client.request(verb, "/#{api}#{target}", headers: headers, body: body)
    { "status" => answer.status, "headers" => ParityTable.relevant(answer.header_lines),
      "body" => answer.body.dup.force_encoding(Encoding::UTF_8) }
  end

  # An exception that leaves the API is the server's 500; X-Cascade is for Rack alone.
  def same?(rack, native)
    return native["status"] == 500 if rack["raised"]

    rack.merge("headers" => rack["headers"].except("x-cascade")) == native
  end

  def rack_answers
    output, errors, status = Open3.capture3(RbConfig.ruby, PROBE, "elah")
    raise "The probe failed: #{errors}" unless status.success?

    JSON.parse(output)["answers"]
  end
end
