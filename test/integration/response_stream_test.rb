# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"

# A response in pieces whose client reads slowly or leaves: several fibers may write to it, and what was not accepted is
# not sent.
class ResponseStreamTest < Minitest::Test
  include Patience

  APP = <<~RUBY
    require "elah/api"
    class Streams < Elah::API
      PIECES = 300
      REFUSED = []
      ENDED = []

      get "shared" do
        stream do |out|
          fibers = %w[a b c].map { |letter| Elah.async { 30.times { out << letter * 150_000 } } }
          fibers.each { |fiber| fiber.value rescue ENDED << fiber }
          out << "end"
        end
      end

      get "hurried" do
        stream do |out|
          PIECES.times do |number|
            Elah.timeout(0.001) { out << format("%05d", number) + "x" * 150_000 }
          rescue Elah::DeadlineExceeded
            REFUSED << number
          end
        end
      end

      get("ended") { ENDED.size }
      get("refused") { Elah::JSON.generate(REFUSED) }
    end
    run Streams
  RUBY

  # All but the last fiber that waited for room hung for ever. The pieces of several fibers were mixed if they were
  # longer than 64 KiB.
  def test_several_fibers_may_write_to_one_response
    ElahServer.start(APP) do |server|
      body = server.get("/shared").body
      assert_equal [*[4_500_000] * 3, true], [*%w[a b c].map { |letter| body.count(letter) }, body.end_with?("end")]
      assert_empty body.delete_suffix("end").scan(/a+|b+|c+/).map(&:size).reject { |bytes| (bytes % 150_000).zero? }
    end
  end

  def test_all_of_them_learn_that_the_client_has_left
    ElahServer.start(APP) do |server|
      server.connect { |client| client.write("GET /shared HTTP/1.1\r\nHost: a\r\n\r\n").read_head }
      wait_until("the fibers have ended") { server.get("/ended").body == "3" }
    end
  end

  # A piece, or the beginning of one that was longer than 64 KiB, was accepted before its fiber waited, so that a client
  # that read nothing filled the memory, and an app that tried again sent it twice.
  def test_a_write_that_is_given_up_has_sent_nothing
    ElahServer.start(APP) do |server|
      server.connect do |client|
        client.write("GET /hurried HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until("writes are given up") { server.get("/refused").json.size > 100 }
        sent = client.read_answer.body.scan(/\d{5}/).map(&:to_i)
        assert_equal (0...300).to_a, (sent + server.get("/refused").json).sort
      end
    end
  end
end
