# frozen_string_literal: true

# Multipart bodies that were changed at random are read, or refused with the error that says so, and leave no files
# behind.
require "test_helper"
require "support/fuzz"
require "tmpdir"

class MultipartFuzzTest < Minitest::Test
  SAMPLES = [
    "--x\r\nContent-Disposition: form-data; name=\"a[b]\"\r\n\r\n1\r\n" \
    "--x\r\nContent-Disposition: form-data; name=\"a[c][]\"\r\n\r\n2\r\n--x--\r\n",
    "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n" \
    "Content-Type: text/plain\r\n\r\nfile\r\n--x--\r\n",
    "--x\r\nContent-Disposition: form-data; name=t\r\n" \
    "Content-Type: text/plain; charset=iso-8859-1\r\n\r\n\xe9\r\n--x--\r\n",
    "--x\r\nContent-Disposition: form-data; name=\"n\"; filename*=UTF-8''na%C3%AFve.%2e\r\n\r\n\r\n" \
    "--x\r\nX-Y: z\r\ncontent-disposition: x; name=q\r\n\r\n\xff\r\n--x--"
  ].freeze
  WORDS = ["--x", "--x--", "\r\n", "\r\n\r\n", "--", "\"", "\\", ";", "=", "%00", "%ff", "..", "/", "\0", "\xff",
           "[", "]", "[]", "filename=\"", "filename*=", "name=", "charset=", "utf-8", "utf-16", "martian",
           "Content-Type: text/plain; charset=", ".", "\u{1F600}" * 70].freeze
  MUTATOR = Fuzz::Mutator.new(SAMPLES, WORDS)

  def test_bodies
    Dir.mktmpdir do |folder|
      ENV["TMPDIR"] = folder
      Fuzz.run(self) do |random|
        before = Dir.children(folder)
        params = read(MUTATOR.mutated(random))
        assert_empty Dir.children(folder) - before unless params
        files(params).each { |file| file[:tempfile].close! }
      end
    end
  ensure
    ENV.delete("TMPDIR")
  end

  private

  def read(body)
    Elah::Multipart.parse(body, "multipart/form-data; boundary=x", parts_max: 3, depth_max: 3)
  rescue Elah::Multipart::ParseError
    nil
  end

  def files(value)
    case value
    when Hash then value.key?(:tempfile) ? [value] : value.values.flat_map { |inner| files(inner) }
    when Array then value.flat_map { |inner| files(inner) }
    else []
    end
  end
end
