# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "fileutils"
require "tmpdir"

# What the clients of an API that rescues nothing are told when its store refuses.
class StoreRefusalsTest < Minitest::Test
  APP = <<~RUBY
    STORE = Elah::Store.open(ENV.fetch("STORE_DIR"), bytes_max: 1 << 20)
    NOTES = STORE.table("notes")

    class Notes < Elah::API
      format :json
      put("notes/:key") { NOTES.put(params[:key], "x" * 9000) }
      get("notes/:key") { NOTES.get(params[:key]).bytesize }
      delete(:store) { STORE.close }
    end
    run Notes
  RUBY

  def setup
    @folder = Dir.mktmpdir("elah-store")
    @server = ElahServer.start(APP, env: { "STORE_DIR" => File.join(@folder, "data") })
  end

  def teardown
    @server&.kill
    FileUtils.remove_entry(@folder)
  end

  def test_a_full_store_is_507_and_a_line_of_the_log
    answer = @server.connect do |client|
      Enumerator.produce(0,
                         &:succ).lazy.map { |n| client.request("PUT", "/notes/#{n}") }.find { |one| one.status != 200 }
    end
    assert_equal [507, "application/problem+json", "store_full", nil], told(answer)
    assert_match(/\AThe store is full: /, answer.json["detail"])
    assert_equal 9000, @server.get("/notes/0").json
    @server.wait_for(/WARN .* PUT .* failed: Elah::Store::Full: The store is full: [^\n]*\n/)
    refute_match(/\.rb:\d+/, @server.log, "what a bound says needs no backtrace")
  end

  def test_a_store_that_takes_nothing_is_503_and_may_be_asked_again
    @server.request("DELETE", "/store")
    assert_equal [503, "application/problem+json", "store_unavailable", "1"], told(@server.get("/notes/a"))
  end

  def test_a_limit_that_the_app_does_not_keep_is_its_own_fault
    answer = @server.get("/notes/#{'x' * 481}")
    assert_equal [500, "application/problem+json", "internal_error", nil], told(answer)
    @server.wait_for(/ERROR .*#{answer.json['request_id']} .* failed: Elah::Store::InvalidKey: .*\n +\S+\.rb:\d+/)
  end

  private

  def told(answer) = [answer.status, answer["content-type"], answer.json["code"], answer["retry-after"]]
end
