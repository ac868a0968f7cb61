# frozen_string_literal: true

require "io/wait"
require "socket"

# Owns a small HTTP/1.1 client on a bare socket: a test sends exactly the bytes it wants and reads the answers one by
# one. Every read has a deadline, after which it raises.
class HttpClient
  # Raised when the server says nothing for too long.
  class Silence < StandardError; end

  # Raised when the server closes in the middle of an answer, or before one.
  class Closed < StandardError; end

  # One answer. `headers` maps lower-case names to a String, repeated ones joined with ", "; `header_lines` keeps every
  # [name, value] as it was sent.
  Answer = Struct.new(:status, :reason, :header_lines, :body, keyword_init: true) do
    def headers
      header_lines.each_with_object({}) do |(name, value), headers|
        name = name.downcase
        headers[name] = headers.key?(name) ? "#{headers[name]}, #{value}" : value
      end
    end

    def [](name) = headers[name.downcase]

    def json
      require "json"
      JSON.parse(body)
    end
  end

  # @return [Socket] to shut down, to set options on, or to read by hand
  attr_reader :socket

  # @param url [String] tcp://HOST:PORT or unix://PATH
  # @param seconds [Numeric] how long connecting and each read may take
  # @yieldparam client [HttpClient] closed after the block
  def self.open(url, seconds: 60)
    client = new(url, seconds: seconds)
    return client unless block_given?

    begin
      yield client
    ensure
      client.close
    end
  end

  def initialize(url, seconds: 60)
    @seconds = seconds
    @buffer = String.new(encoding: Encoding::BINARY)
    @socket = connect(url)
  end

  # Sends bytes as they are.
  def write(bytes)
    @socket.write(bytes)
    self
  end

  # Sends a request and reads its answer.
  #
  # @param headers [Hash{String=>String}] Host is added, and Content-Length for a body
  # @return [Answer]
  def request(verb, target, headers: {}, body: nil)
    lines = { "Host" => "test.example" }.merge(headers)
    lines["Content-Length"] ||= body.bytesize.to_s if body
    write("#{verb} #{target} HTTP/1.1\r\n#{lines.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n#{body}")
    read_answer(head: verb == "HEAD")
  end

  def get(target, headers: {}) = request("GET", target, headers: headers)

  # Reads the next answer; 100 Continue is an answer too.
  #
  # @param head [Boolean] whether it answers a HEAD, and so has no body
  # @return [Answer]
  # @raise [Silence, Closed]
  def read_answer(head: false)
    answer = read_head
    is_bare = head || answer.status < 200 || [204, 304].include?(answer.status)
    answer.body = is_bare ? "".b : read_body(answer)
    answer
  end

  # Reads the status line and the headers, and leaves the body.
  def read_head
    status_line, *lines = read_until("\r\n\r\n").split("\r\n")
    _version, status, reason = status_line.split(" ", 3)
    Answer.new(status: Integer(status), reason: reason, header_lines: lines.map { |line| line.split(/:\s*/, 2) })
  end

  # @return [String] one chunk of a chunked body, "" after the last
  def read_chunk
    size = read_until("\r\n").to_i(16)
    chunk = read_bytes(size)
    read_until("\r\n")
    chunk
  end

  # @return [String] everything until the server closes
  def read_to_end
    fill until @socket.closed? || @ended
    @buffer.slice!(0..)
  end

  # @return [Boolean] whether the server closes without a further byte; waits for it
  # @raise [Silence] when it neither writes nor closes
  def closed_by_server? = read_to_end.empty?

  def read_bytes(count)
    fill_or_raise while @buffer.bytesize < count
    @buffer.slice!(0, count)
  end

  def read_until(mark)
    fill_or_raise until (at = @buffer.index(mark))
    @buffer.slice!(0, at + mark.bytesize).delete_suffix(mark)
  end

  def close = @socket.close

  private

  def connect(url)
    return UNIXSocket.new(url.delete_prefix("unix://")) if url.start_with?("unix://")

    host, port = url.match(%r{\A(?:tcp|http)://\[?([^\]]+?)\]?:(\d+)/?\z}).captures
    TCPSocket.new(host, port.to_i, connect_timeout: @seconds).tap do |socket|
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    end
  end

  def read_body(answer)
    if answer["transfer-encoding"]&.downcase == "chunked"
      body = "".b
      until (chunk = read_chunk).empty? do body << chunk end
      body
    elsif answer["content-length"]
      read_bytes(Integer(answer["content-length"]))
    else
      read_to_end
    end
  end

  def fill_or_raise
    raise Closed, "The server closed after #{@buffer.inspect}." if @ended

    fill
  end

  # A reset is an end too: a server that refuses may close before it has read all that was sent.
  def fill
    @socket.wait_readable(@seconds) or raise Silence, "No byte within #{@seconds} s after #{@buffer.inspect}."
    @buffer << @socket.readpartial(65_536)
  rescue EOFError, Errno::ECONNRESET
    @ended = true
  end
end
