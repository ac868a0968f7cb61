# frozen_string_literal: true

# A store inside a server: a write suspends its request alone, requests that write at once share syncs, and transactions
# of many fibers wait for each other without stopping the loop.
require "test_helper"
require "support/elah_server"
require "fileutils"
require "tmpdir"

class StoreServingTest < Minitest::Test
  APP = <<~'RUBY'
    STORE = Elah::Store.open(ENV.fetch("STORE_DIR"))

    class Stored < Elah::API
      LINKS = STORE.table("links")
      VISITS = STORE.counter("visits")
      PLACES = STORE.table("places")

      put("links/:key") { LINKS.put_new(params[:key], request.body) ? status(201) : status(409); "" }
      get("links/:key") { LINKS.get(params[:key]) || error!("There is no such link.", 404) }
      post("limited") { VISITS.increment("limited", max: 30) ? "granted" : error!("Used up.", 410) }
      post("moved") do
        STORE.transaction { |tx| tx.put(LINKS, "sum", (tx.get(LINKS, "sum").to_i + 1).to_s) }
        "moved"
      end
      get("size") { LINKS.size.to_s }
      put("places/:place") do
        PLACES.put([Integer(params[:place])].pack("Q>"), request.body)
        PLACES.at(Integer(params[:place])).inspect
      end
      get("places/:place", raw: true) do
        answered = PLACES.respond_at(request, 203, { "x-place" => params[:place] }, Integer(params[:place]), 2)
        answered.nil? ? request.respond(404, {}, "") : answered
      end
    end
    run Stored
  RUBY
  CLIENTS = 40

  def setup
    @parent = Dir.mktmpdir("elah-store")
    @server = ElahServer.start(APP, env: { "STORE_DIR" => File.join(@parent, "data") })
  end

  def teardown
    @server&.kill
    FileUtils.remove_entry(@parent)
  end

  def test_requests_write_and_read_side_by_side
    statuses = at_once do |client, n|
      Array.new(5) { |i| client.request("PUT", "/links/#{n}-#{i}", body: "https://example.com/").status }
    end
    assert_equal [201], statuses.flatten.uniq
    assert_equal (CLIENTS * 5).to_s, @server.get("/size").body
    assert_equal "https://example.com/", @server.get("/links/7-3").body
    assert_equal 409, @server.request("PUT", "/links/7-3", body: "x").status
    @server.stop
  end

  def test_a_limit_is_exact_among_concurrent_requests
    statuses = at_once { |client, _| client.request("POST", "/limited").status }
    assert_equal({ 201 => 30, 410 => 10 }, statuses.tally)
  end

  def test_transactions_of_many_fibers_lose_nothing
    at_once { |client, _| 3.times { assert_equal "moved", client.request("POST", "/moved").body } }
    assert_equal (CLIENTS * 3).to_s, @server.get("/links/sum").body
    refute_match(/stall/i, @server.log)
  end

  # Reads of one turn share a snapshot, and see a write that a fiber of the turn has waited for all the same.
  def test_a_value_is_the_answer_itself
    assert_equal 404, @server.get("/places/0").status
    assert_equal '[1, "first"]', @server.request("PUT", "/places/0", body: "first").body
    assert_equal 404, @server.get("/places/0").status
    long = "x" * 400_000
    assert_equal "[2, #{long.inspect}]", @server.request("PUT", "/places/1", body: long).body
    assert_equal [203, "0", "first"], place(0)
    assert_equal [203, "1", long], place(1)
    assert_equal [203, "0", "first"], at_once { |client, _| answer_of(client.get("/places/0")) }.uniq.first
    assert_equal "", @server.request("HEAD", "/places/1").body
    assert_equal 404, @server.get("/places/2").status
  end

  private

  def place(number) = answer_of(@server.get("/places/#{number}"))

  def answer_of(answer) = [answer.status, answer.headers["x-place"], answer.body]

  def at_once
    Array.new(CLIENTS) { |n| Thread.new { @server.connect { |client| yield client, n } } }.map(&:value)
  end
end
