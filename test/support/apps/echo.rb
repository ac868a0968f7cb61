# frozen_string_literal: true

# Owns the app behind the tests of bad input and slow clients: it answers with what it saw of a request, and how many
# requests it saw before. It takes the place of a compiled API, so it gets every request as it came.
class Echo
  PIECE = ("x" * 65_536).freeze
  LONG = ("x" * 50_000_000).freeze

  def initialize
    @seen = 0
    @gone = Thread::Queue.new
    @router = Elah::Router.new
    @router.mount("/", 1)
  end

  attr_reader :router

  def streamed_routes = []
  def gates = {}
  def cancels_gone = :safe

  def handle(request)
    case request.path
    when "/seen" then answer(request, @seen.to_s)
    when "/stream" then stream(request)
    when "/long" then answer(request, LONG)
    when "/gone" then answer(request, @gone.pop)
    when "/split" then request.respond(200, { "x-reflected" => request.header("x-reflect").gsub("|", "\r\n") }, "")
    when "/sleep"
      sleep(Float(request.query_string))
      answer(request, "slept")
    else
      @seen += 1
      answer(request, JSON.generate(method: request.request_method, path: request.path, query: request.query_string,
                                    headers: printable(request.headers), body: request.body))
    end
  end

  private

  def answer(request, body) = request.respond(200, { "content-type" => "text/plain" }, body)

  def printable(headers) = headers.transform_values { |value| value.b.force_encoding(Encoding::UTF_8).scrub("?") }

  # Sends as many bytes as the query says. When its client goes, a request of /gone is answered.
  def stream(request)
    stream = request.start(200, { "content-type" => "application/octet-stream" })
    (Integer(request.query_string) / PIECE.bytesize).times { stream.write(PIECE) }
  rescue Elah::ClientGone
    @gone << "gone"
  ensure
    stream.close
  end
end

require "json"
ECHO = Echo.new
run(Class.new(Elah::API) { define_singleton_method(:compiled) { ECHO } })
