# frozen_string_literal: true

require "test_helper"
require "io/nonblock"
require "minitest/mock"
require "stringio"

# A line of the log: what of a message appears.
class LogTest < Minitest::Test
  def setup = @log = Elah::Log.new(out: @out = StringIO.new)

  def test_what_is_not_text_is_escaped_or_replaced
    @log.warn("a\nb\e\xFF", ["c\td"])
    assert_match(/ WARN  \[\d+\] a\\nb\\e\uFFFD\n    c\\td\n\z/, @out.string)
  end

  # An exception that a handler logged raised in its `rescue`.
  def test_a_message_may_be_any_object
    [:removing, 5, nil, RuntimeError.new("gone")].each { |message| @log.info(message, [message]) }
    assert_match(/removing\n.*INFO  \[\d+\] 5\n.*INFO  \[\d+\] gone\n    gone\n\z/m, @out.string)
  end

  # The message of an exception had an upload of 3.7 MB. It became a line of 10 MB, which held up the loop for 146 ms.
  def test_a_long_message_is_cut_where_a_character_ends
    @log.exception(RuntimeError.new("\u20ac" * 1_000_000), "It failed")
    assert_match(/It failed: RuntimeError: \u20ac+\u2026 \(30000\d\d bytes\)\n\z/, @out.string)
    assert_operator @out.string.bytesize, :<, 11_000
  end

  # Each 500 of a handler that recursed without end wrote 444 KB.
  def test_a_long_backtrace_is_cut
    error = RuntimeError.new("deep").tap { |deep| deep.set_backtrace(Array.new(10_000) { |line| "app.rb:#{line}" }) }
    @log.exception(error, "It failed")
    assert_match(/app\.rb:499\n    \.\.\. \(10000 lines\)\n\z/, @out.string)
  end

  # All workers share the pipe: another one took the room that this one was told of, and its write waited until the
  # reader went on.
  def test_a_write_does_not_wait_for_room_that_another_process_took
    reader, writer = shared_pipe
    log = Elah::Log.new(out: writer)
    taking_all_room(writer) { 2.times { log.error("long", ["line " * 300] * 3) } }
    reader.read_nonblock(1 << 20)
    log.error("read")
    lines = reader.read_nonblock(1 << 20)
    assert_match(/2 messages could not be written here: its reader does not read\n.* read\n\z/, lines)
  end

  # Its parts had lines of other workers between them.
  def test_a_message_is_written_at_once_where_the_pipe_has_room
    reader, writer = shared_pipe
    questions = 0
    Elah::PipeRoom.stub(:wait, ->(*) { (questions += 1) == 1 }) do
      Elah::Log.new(out: writer).error("long", ["line " * 300] * 20)
    end
    assert_match(/ long\n(    (line ){300}\n){20}\z/, reader.read_nonblock(1 << 20))
  end

  private

  # As an inherited standard error: other processes write into it too, and a write waits.
  def shared_pipe = IO.pipe.each { |io| io.nonblock = false }

  def taking_all_room(pipe, &block)
    wait = Elah::PipeRoom.method(:wait)
    takes = lambda do |descriptor, seconds|
      wait.call(descriptor, [seconds, 0.05].min).tap do
        File.open("/proc/self/fd/#{descriptor}", File::WRONLY | File::NONBLOCK) do |other|
          nil until other.write_nonblock("x" * 4096, exception: false) == :wait_writable
        end
      end
    end
    Elah::PipeRoom.stub(:wait, takes, &block)
    refute wait.call(pipe.fileno, 0)
  end
end
