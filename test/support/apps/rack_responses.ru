# frozen_string_literal: true

# Rack responses of every form, each under a path of its own. /closes/NAME says how often the body NAME was closed,
# /finished/NAME with what the callables of NAME were called, and /go_on lets a body that waits go on. /stress and /calm
# switch garbage collection at every allocation on and off, /compact moves all objects that may be moved.
require "json"
require "pathname"
require "tempfile"

CLOSES = Hash.new(0)
FINISHED = Hash.new { |all, name| all[name] = [] }

# A body that counts how often it is closed.
class Counted
  def initialize(name, *parts, &block)
    @name = name
    @parts = parts
    @block = block
  end

  def each(&each_part)
    @parts.each(&each_part)
    @block&.call(each_part)
  end

  def close = CLOSES[@name] += 1
end

class CountedParts < Counted
  def to_ary = @parts
end

# As that of Rails around a part of a file.
class CountedPromise < Counted
  def each
    yield "a"
    yield "b"
  end

  def to_ary = each
end

# As that of Rails around other bodies.
class CountedEnumerator < Counted
  def to_ary = @parts.each
end

class CountedStream < Counted
  undef each
  def call(stream) = @block.call(stream)
end

class CountedFile < Counted
  def to_path = @block.call
end

# Headers that can be enumerated and nothing else.
class Pairs
  def initialize(*pairs)
    @pairs = pairs
  end

  def each(&block) = @pairs.each(&block)
end

GO_ON = Queue.new
FILE = Tempfile.new("elah").tap { |file| file.write("0123456789" * 30_000); file.flush }
NAMED = Tempfile.new("r\u00e9sum\u00e9").tap { |file| file.write("named"); file.flush }
TEXT = { "Content-Type" => "text/plain" }.freeze

# Framed by the app, with the bytes that Rack::Chunked would write.
FRAMED = TEXT.merge("Transfer-Encoding" => "chunked").freeze
CHUNKS = ["6\r\npart0;\r\n", "10\r\n0\r\n\r\nnot the end\r\n", "3\r\n\u20ac\r\n", "0\r\n\r\n"].freeze

FORMS = {
  "array" => ->(_) { [200, TEXT, %w[a b c]] },
  "long_status" => ->(_) { ["200x", TEXT.dup, ["created"]] },
  "short_status" => ->(_) { ["20", TEXT.dup, ["created"]] },
  "too_long_parts" => lambda do |_|
    [200, TEXT.merge("Content-Length" => "3"), Counted.new("too_long_parts", "ab", "cd", "ef")]
  end,
  "too_long_stream" => lambda do |_|
    [200, TEXT.merge("Content-Length" => "3"), ->(stream) { stream.write("abcdef") && stream.close }]
  end,
  "too_short_parts" => ->(_) { [200, TEXT.merge("Content-Length" => "5"), Counted.new("too_short_parts", "ab", "c")] },
  "too_short_stream" => lambda do |_|
    [200, TEXT.merge("Content-Length" => "5"), ->(stream) { stream.write("abc") && stream.close }]
  end,
  "one" => ->(_) { [200, TEXT.dup, ["one"]] },
  "nothing" => ->(_) { [200, {}, []] },
  "status_449" => ->(_) { [449, TEXT, ["retry with"]] },
  "framed" => ->(_) { [200, FRAMED, Counted.new("framed", *CHUNKS)] },
  "framed_bytewise" => ->(_) { [200, FRAMED, CHUNKS.join.chars] },
  "framed_with_trailers" => ->(_) { [200, FRAMED, ["5;a=b\r\nhello\r\n000\r\nX-Sum: 1\r\n\r\n"]] },
  "framed_with_length" => ->(_) { [200, FRAMED.merge("Content-Length" => "4"), CHUNKS] },
  "framed_nothing" => ->(_) { [200, FRAMED, ["0\r\n\r\n"]] },
  "unframed" => ->(_) { [200, FRAMED, ["hello"]] },
  "framed_and_cut" => ->(_) { [200, FRAMED, ["5\r\nhello\r\n"]] },
  "framed_beyond_bounds" => ->(_) { [200, FRAMED, ["ffffffffffffffff\r\nhello"]] },
  "string_status" => ->(_) { ["201", TEXT, ["created"]] },
  "long" => ->(_) { [200, TEXT, ["x" * 1_000_000]] },
  "many_long" => ->(_) { [200, TEXT, Array.new(10) { |n| n.to_s * 100_000 }] },
  "numbers" => ->(_) { [200, TEXT, [1, nil, "2"]] },
  "wrong_length" => ->(_) { [200, { "Content-Length" => "99" }, ["three"]] },
  "no_content" => ->(_) { [204, { "Content-Length" => "5", "X-Kept" => "1" }, ["never"]] },
  "reset_content" => ->(_) { [205, { "Content-Length" => "5" }, ["never"]] },
  "reset_content_each" => ->(_) { [205, { "Content-Length" => "5" }, ["never"].each] },
  "not_modified" => ->(_) { [304, { "Content-Length" => "5", "ETag" => '"e"' }, ["never"]] },
  "head_length" => ->(_) { [200, { "Content-Length" => "11" }, []] },
  "rack_2_headers" => lambda do |_|
    [200, { "Set-Cookie" => "a=1\nb=2", "X-Server" => "rack.internal", "rack.internal" => "secret",
            "Status" => "9" }, ["h"]]
  end,
  "rack_3_headers" => lambda do |_|
    [200, { "set-cookie" => %w[a=1 b=2], "x-empty" => "", "x-none" => nil, "rack.x" => Object.new }, ["h"]]
  end,
  "pairs" => ->(_) { [200, Pairs.new(%w[X-A 1], %w[X-A 2], ["X-B", "3\n4"], ["rack.session", Object.new]), ["p"]] },
  "integer_header" => ->(_) { [200, { "X-Number" => 5 }, ["n"]] },
  "each" => ->(_) { [200, TEXT, Counted.new("each", "a", "b")] },
  "each_sized" => ->(_) { [200, TEXT.merge("Content-Length" => "4"), Counted.new("each_sized", "ab", "cd")] },
  "each_nothing" => ->(_) { [200, TEXT, Counted.new("each_nothing")] },
  "each_long" => ->(_) { [200, TEXT, Counted.new("each_long", "y" * 1_000_000)] },
  "enumerator" => ->(_) { [200, TEXT, Enumerator.new { |body| 3.times { |n| body << "#{n};" } }] },
  "lazy" => ->(_) { [200, TEXT, (1..3).lazy.map { |n| "#{n};" }] },
  "external_enumerator" => lambda { |_|
    source = Enumerator.new { |out| 3.times { |n| sleep 0.001; out << "#{n};" } }
    [200, TEXT, Enumerator.new { |body| loop { body << source.next } }]
  },
  "fails_at_once" => ->(_) { [200, TEXT, Counted.new("fails_at_once") { raise "no first part" }] },
  "fails_later" => ->(_) { [200, TEXT, Counted.new("fails_later", "part") { GO_ON.pop; raise "no second part" }] },
  "encodings" => ->(_) { [200, TEXT, CountedParts.new("encodings", "\u00e9", "\xff".b)] },
  "to_ary" => ->(_) { [200, TEXT, CountedParts.new("to_ary", "a", "b")] },
  "to_ary_raises" => ->(_) { [200, TEXT, CountedPromise.new("to_ary_raises")] },
  "to_ary_enumerator" => ->(_) { [200, TEXT, CountedEnumerator.new("to_ary_enumerator", "a", "b")] },
  "endless" => ->(_) { [200, TEXT, Counted.new("endless") { |part| loop { part.call("z" * 10_000) } }] },
  "call" => lambda do |_|
    body = CountedStream.new("call") do |stream|
      stream << "a" << "b"
      stream.write("c", 1)
      stream.flush
      stream.close
    end
    [200, TEXT, body]
  end,
  "call_echo" => ->(_) { [200, TEXT, ->(stream) { stream.write(stream.read); stream.close_read; stream.close_write }] },
  "call_unclosed" => lambda do |_|
    body = CountedStream.new("call_unclosed") do |stream|
      Fiber.schedule { sleep 0.01; stream << "later"; stream.close }
    end
    [200, TEXT, body]
  end,
  "call_closed" => lambda { |_|
    body = lambda do |stream|
      stream << stream.closed?.to_s
      stream.close
      FINISHED["call_closed"] << stream.closed? << (stream.write("x") rescue $!.class.name)
    end
    [200, TEXT, body]
  },
  "call_fails" => lambda do |_|
    [200, TEXT, CountedStream.new("call_fails") { |stream| stream << "part"; GO_ON.pop; raise "no second part" }]
  end,
  "call_endless" => lambda do |_|
    [200, TEXT, CountedStream.new("call_endless") { |stream| loop { stream << "z" * 10_000 } }]
  end,
  "call_continued" => lambda do |_|
    body = CountedStream.new("call_continued") do |stream|
      Fiber.schedule do
        stream << "part"
        GO_ON.pop
        stream << "the rest"
      rescue StandardError => e
        FINISHED["call_continued"] << e.class.name
        raise
      end
    end
    [200, TEXT, body]
  end,
  "file" => ->(_) { [200, TEXT, CountedFile.new("file") { FILE.path }] },
  "file_pathname" => ->(_) { [200, TEXT, CountedFile.new("file_pathname") { Pathname(FILE.path) }] },
  "file_binary" => ->(_) { [200, TEXT, CountedFile.new("file_binary") { NAMED.path.b }] },
  "file_part" => lambda do |_|
    [200, TEXT.merge("Content-Length" => "3"), CountedFile.new("file_part", "abc") { FILE.path }]
  end,
  "file_rest" => ->(_) { [200, TEXT, File.open(FILE.path).tap { |file| file.seek(-3, IO::SEEK_END) }] },
  "file_range" => lambda do |_|
    [206, TEXT.merge("Content-Range" => "bytes 0-2/300000"), CountedFile.new("file_range", "abc") { FILE.path }]
  end,
  "file_missing" => ->(_) { [200, TEXT, CountedFile.new("file_missing", "instead") { "/nonexistent/file" }] },
  "file_missing_and_unreadable" => ->(_) { [200, TEXT, File.open("/nonexistent/file")] },
  "file_of_proc" => ->(_) { [200, TEXT, File.open("/proc/version")] },
  "file_folder" => ->(_) { [200, TEXT, CountedFile.new("file_folder", "instead") { "/tmp" }] },
  "raises" => ->(_) { raise "the secret" },
  "throws" => ->(_) { throw :async },
  "throws_else" => ->(_) { throw :something },
  "minus_one" => ->(_) { [-1, {}, []] },
  "nil" => ->(_) {},
  "string_body" => ->(_) { [200, {}, "text"] },
  "nil_body" => ->(_) { [200, {}, nil] },
  "status_99" => ->(_) { [99, {}, []] },
  "header_break" => ->(_) { [200, { "X-Evil" => "a\r\nX-Injected: 1" }, ["e"]] },
  "header_name" => ->(_) { [200, { "X Evil" => "1" }, Counted.new("header_name", "e")] },
  "finished" => lambda { |env|
    2.times do |n|
      env["rack.response_finished"] << lambda do |e, status, headers, error|
        FINISHED["finished"] << [n, e["PATH_INFO"], status, headers, error.class.name, CLOSES["finished"]]
      end
    end
    [200, TEXT, CountedParts.new("finished", "f")]
  },
  "finished_late" => lambda { |env|
    env["rack.response_finished"] << ->(_, _, _, error) { FINISHED["finished_late"] << error.class.name }
    [200, TEXT, Counted.new("finished_late", "a") { |part| 100.times { part.call("z" * 100_000) } }]
  },
  # Another fiber ends it.
  "finished_call" => lambda { |env|
    env["rack.response_finished"] << ->(_, _, _, error) { FINISHED["finished_call"] << error.class.name }
    [200, TEXT, ->(out) { out.write("a") && Fiber.schedule { out.write("z" * 10_000_000) && out.close } }]
  },
  "finished_array" => lambda { |env|
    env["rack.response_finished"] << ->(_, _, _, error) { FINISHED["finished_array"] << error.class.name }
    [200, TEXT, ["z" * 10_000_000]]
  },
  "finished_file" => lambda { |env|
    env["rack.response_finished"] << ->(_, status, _, error) { FINISHED["finished_file"] << [status, error.class.name] }
    [200, TEXT, CountedFile.new("finished_file", "0123456789" * 30_000) { FILE.path }]
  },
  "finished_error" => lambda { |env|
    env["rack.response_finished"] << lambda do |_, status, headers, error|
      FINISHED["finished_error"] << [status, headers, error.message]
    end
    raise "no answer"
  },
  # Is not at its end when the client has all of it.
  "finished_sized" => lambda { |env|
    env["rack.response_finished"] << ->(_, _, _, error) { FINISHED["finished_sized"] << error.class.name }
    rest = lambda do |part|
      FINISHED["finished_sized"] << GO_ON.pop
      part.call("")
    end
    [200, TEXT.merge("Content-Length" => "5"), Counted.new("finished_sized", "sized", &rest)]
  },
  "waits" => ->(_) { [200, TEXT, Counted.new("waits", "a") { sleep }] },
  "finished_raises" => lambda { |env|
    env["rack.response_finished"] << ->(*) { FINISHED["finished_raises"] << "ran" } << ->(*) { raise "in the callable" }
    env["rack.response_finished"] << ->(*) { raise NotImplementedError }
    [200, TEXT, ["f"]]
  },
  "deadline" => lambda { |env|
    env["rack.response_finished"] << ->(_, _, _, error) { FINISHED["deadline"] << error.class.name }
    [200, TEXT, Counted.new("deadline") { sleep }]
  }
}.freeze

run lambda { |env|
  name = env["PATH_INFO"].delete_prefix("/")
  case name
  when "stress", "calm" then [200, TEXT, [(GC.stress = name == "stress").to_s]]
  when "compact" then [200, TEXT, [GC.verify_compaction_references(toward: :empty, double_heap: true).class.name]]
  when "go_on" then [200, TEXT, [GO_ON.push(true).size.to_s]]
  when %r{\Acloses/} then [200, TEXT, [CLOSES[name.delete_prefix("closes/")].to_s]]
  when %r{\Afinished/} then [200, TEXT, [JSON.generate(FINISHED[name.delete_prefix("finished/")])]]
  else FORMS.fetch(name).call(env)
  end
}
