# frozen_string_literal: true

# Elah::Multipart.parse gives what Rack gives for valid bodies, and refuses the others without leaving files behind.
require "test_helper"
require "rack"
require "rack/multipart"
require "tmpdir"
require "json"

class MultipartTest < Minitest::Test
  CONTENT_TYPE = "multipart/form-data; boundary=AaB03x"

  def body(*parts, last: "--AaB03x--\r\n") = parts.map { |part| "--AaB03x\r\n#{part}\r\n" }.join.concat(last).b

  def field(name, content = "x", *lines)
    [%(Content-Disposition: form-data; name="#{name}"), *lines, "", content].map(&:b).join("\r\n")
  end

  def upload(name, filename, content = "x", type: "text/plain")
    [%(Content-Disposition: form-data; name="#{name}"; filename="#{filename}"),
     *("Content-Type: #{type}" if type), "", content].map(&:b).join("\r\n")
  end

  def parse(body, content_type = CONTENT_TYPE, **bounds, &block)
    Elah::Multipart.parse(body, content_type, **bounds, &block)
  end

  def rack(body, content_type = CONTENT_TYPE)
    input = { "CONTENT_TYPE" => content_type, "CONTENT_LENGTH" => body.bytesize.to_s, :input => StringIO.new(body) }
    Rack::Multipart.parse_multipart(Rack::MockRequest.env_for("/", input)) || {}
  end

  def refused(body, content_type = CONTENT_TYPE, **bounds)
    error = assert_raises(Elah::Multipart::ParseError) { parse(body, content_type, **bounds) }
    assert_kind_of Elah::Error, error
    error.message
  end

  # Files with their contents in place of their Tempfiles. Rack 3 writes names of headers in lower case and leaves them
  # as they came, which Elah does not.
  def plain(value)
    case value
    when Hash
      value.to_h do |key, inner|
        next [key, [inner.class, inner.pos, inner.read.b]] if key == :tempfile

        [key, key == :head ? inner.b.gsub(/^[\w-]+:/, &:downcase) : plain(inner)]
      end
    when Array then value.map { |inner| plain(inner) }
    else value.is_a?(String) ? value.b : value
    end
  end

  def assert_as_rack(body, content_type = CONTENT_TYPE)
    assert_equal plain(rack(body, content_type)), plain(parse(body, content_type))
  end

  # Rack keeps 129 characters, which may be more bytes than the name of a file has.
  def test_a_long_extension_is_cut_between_characters
    file = parse(body(upload("f", "a.#{"\u{1F600}" * 200}")))["f"]
    assert_operator File.extname(file[:tempfile].path).bytesize, :<=, 129 + 1
    assert_equal "a.#{"\u{1F600}" * 200}", file[:filename]
  end

  def test_a_file_name_is_no_path_and_has_no_control_characters
    { ".." => "__", "../..%2f.." => "__", "a%00b%0a.txt" => "a_b_.txt", "..." => "..." }.each do |sent, filename|
      assert_equal filename, parse(body(upload("f", sent)))["f"][:filename], sent
    end
  end

  def test_everything_of_a_file_but_its_content_is_text
    file = parse(body(upload("f", "a\xff.txt".b, "\xff".b, type: "text/\xfe".b)))["f"]
    assert_equal "a\u{FFFD}.txt", file[:filename]
    assert_includes file[:head], "filename=\"a\u{FFFD}.txt\""
    shown = file.except(:tempfile)
    assert_equal shown, JSON.parse(Elah::JSON.generate(shown), symbolize_names: true)
    assert_equal "\xff".b, file[:tempfile].read.b
  end

  def test_fields_and_files_as_in_rack
    [
      body(field("a", "1"), field("b", "")),
      body(field("a[b]", "1"), field("a[c][]", "2"), field("a[c][]", "3"), field("x[][y]", "4"), field("x[][y]", "5")),
      body(field("a", "line\r\nline\r\n--AaB03", "Content-Type: text/plain; charset=UTF-8"), field("é", "日本")),
      body(upload("f", "a.txt", "content\r\n\r\nmore")),
      body(upload("f[]", "a.txt", "1"), upload("f[]", "b.png", "\x89PNG\r\n\x00\xff", type: "image/png"),
           field("t", "x")),
      body(upload("f", "", ""), field("t", "x")),
      body(upload("f", "C:\\Users\\me\\a b.txt")), body(upload("f", "/etc/passwd")), body(upload("f", "caf%C3%A9.txt")),
      body(upload("f", "100%.txt")), body(upload("f", "a\\\"b.txt")), body(upload("f", "noextension", type: nil)),
      body(upload("f", "x.#{"e" * 200}")),
      body(%(Content-Disposition: form-data; name="f"; filename*=UTF-8''na%C3%AFve.txt\r\n) \
           "Content-Type: text/plain\r\n\r\nx"),
      body(%(Content-Disposition: form-data; name=bare; filename=a.txt\r\n\r\nx)),
      body(field("json", '{"a":1}', "Content-Type: application/json")),
      body(field("a", "1"), last: "--AaB03x--"), "preamble\r\n".b + body(field("a", "1")),
      body(field("a", "1")) + "epilogue", "--AaB03x--\r\n", ""
    ].each { |text| assert_as_rack(text) }
    assert_as_rack(body(field("a", "1")), 'multipart/form-data; boundary="AaB03x"')
    assert_as_rack(body(field("a", "1")), "multipart/mixed; charset=utf-8; boundary=AaB03x")
  end

  def test_what_rack_generates_is_read_as_rack_reads_it
    Dir.mktmpdir do |folder|
      path = File.join(folder, "data.bin")
      File.binwrite(path, Random.new(1).bytes(300_000))
      upload = Rack::Multipart::UploadedFile.new(path, "application/octet-stream", true)
      text = Rack::Multipart.build_multipart("name" => "B", "user" => { "file" => upload, "age" => "5" })
      assert_as_rack(text.b)
    end
  end

  def test_encodings
    params = parse(body(field("é", "日本"), field("l", "\xe9".b, "Content-Type: text/plain; charset=iso-8859-1"),
                        upload("f", "é.txt", "\xff".b)))
    assert_equal "日本", params["é"]
    assert_equal ["é", Encoding::UTF_8], [params["l"], params["l"].encoding]
    assert_equal "𝛑",
                 parse(body(field("u", "𝛑".encode("UTF-16BE").b, "Content-Type: text/plain; charset=utf-16be")))["u"]
    assert_equal ["é.txt", Encoding::BINARY, "\xff".b],
                 [params["f"][:filename], params["f"][:tempfile].external_encoding, params["f"][:tempfile].read]
    assert_equal "é", parse(body(field("u", "é", "Content-Type: text/plain; charset=UTF8")))["u"], "no name for Ruby"
    assert_equal Encoding::BINARY,
                 parse(body(field("b", "\xff".b, "Content-Type: application/octet-stream")))["b"].encoding
    assert_match 'the part "a" is not valid UTF-8', refused(body(field("a", "\xff".b)))
    assert_match 'the charset "martian" of the part "a" is not known',
                 refused(body(field("a", "x", "Content-Type: text/plain; charset=martian")))
    # Ruby knows the last two as names of UTF-8, and converts nothing: invalid text came into `params`.
    [["\x81", "shift_jis"], ["\xff", "us-ascii"], ["\xd8", "utf-16be"],
     ["\xff", "CP65001"], ["\xff", "locale"]].each do |bytes, charset|
      assert_match %(the part "a" is not valid in its charset, "#{charset}"),
                   refused(body(field("a", bytes.b, "Content-Type: text/plain; charset=#{charset}")))
    end
  end

  def test_broken_bodies
    whole = body(field("a", "1"), upload("f", "a.txt"))
    (1...whole.bytesize - 2).each { |length| refused(whole.byteslice(0, length)) }
    assert_equal "The parts cannot be read: the body ends before its last boundary.", refused("nothing like it")
    assert_match "part 2 has no name in UTF-8", refused(body(field("a"), "Content-Type: text/plain\r\n\r\nx"))
    assert_match "part 1 has no name in UTF-8", refused(body(field("\xff".b)))
    assert_match "the head of part 1 cannot be read", refused(body("no colon\r\n\r\nx"))
    assert_match "expected Hash (got String) for param `a'", refused(body(field("a"), field("a[b]")))
  end

  def test_content_types_without_a_usable_boundary
    ["application/json", "multipart/form-data", "multipart/form-data; boundary=",
     "multipart/form-data; boundary=a; boundary=b", "", nil].each do |content_type|
      assert_match "the content type", refused("--a--", content_type)
    end
  end

  # A file that a later part of the same name replaces is not in the result: it stayed until the garbage collector came.
  def test_each_file_is_yielded
    files = []
    params = parse(body(upload("f", "a", "1"), upload("f", "b", "2"), upload("[]", "c", "3"))) { |file| files << file }
    assert_equal %w[1 2 3], files.map(&:read)
    assert_same files[1], params["f"][:tempfile]
  ensure
    files.each(&:close!)
  end

  def test_bounds
    fields = Array.new(5) { |index| field("f#{index}") }
    text = body(*fields)
    assert_equal 500, parse(body(*Array.new(500) { field("a[]") }))["a"].size
    assert_equal 5, parse(text, parts_max: 5).size
    assert_match "there are more than 4 parts", refused(text, parts_max: 4)
    assert_match "there are more than 1 files", refused(body(*Array.new(2) { upload("f[]", "a") }), files_max: 1)
    assert_match "nested more than 2 levels", refused(body(field("a[b][c]")), depth_max: 2)
    assert_raises(ArgumentError) { parse(text, size_max: 4) }
  end

  def test_a_refused_body_leaves_no_file
    Dir.mktmpdir do |folder|
      before = ENV.fetch("TMPDIR", nil)
      ENV["TMPDIR"] = folder
      refused(body(upload("f", "a.txt"), upload("g", "b.txt"), field("f[x]")))
      assert_empty Dir.children(folder)
      file = parse(body(upload("f", "a.txt")))["f"][:tempfile]
      assert_match(/\.txt\z/, file.path)
      assert_equal folder, File.dirname(file.path)
      file.close!
    ensure
      ENV["TMPDIR"] = before
    end
  end

  def test_the_callers_string_may_change_while_files_are_written
    text = body(upload("f", "a.txt", "content"), field("a", "1"))
    changing = Module.new { define_method(:write) { |*args| text.replace("gone") && GC.start || super(*args) } }
    Tempfile.prepend(changing)
    assert_equal "1", parse(text)["a"]
  ensure
    changing.send(:remove_method, :write)
  end

  def test_under_gc_stress
    text = body(field("a[b]", "1"), upload("f[]", "a.txt", "content"), field("é", "日本"))
    GC.stress = true
    params = parse(text)
    message = (parse(body(upload("f", "a.txt"), field("f[x]"))) rescue $!.class)
    GC.stress = false
    assert_equal plain(rack(text)), plain(params)
    assert_equal Elah::Multipart::ParseError, message
  ensure
    GC.stress = false
  end
end
