# frozen_string_literal: true

# Splits a body that arrives in pieces into lines, wherever the network cuts it. The apps share it for their imports. A line
# that is too long is not stored; it is yielded as {TOO_LONG}.
class LineReader
  TOO_LONG = :too_long

  # @param chunks [#each_body_chunk]
  # @param bytes_max [Integer] of a line
  def initialize(chunks, bytes_max)
    @chunks = chunks
    @bytes_max = bytes_max
    @rest = "".b
    @skipping = false
  end

  # @yieldparam line [String, Symbol] UTF-8 without its line end, or {TOO_LONG}
  def each(&block)
    @chunks.each_body_chunk { |chunk| read(chunk, &block) }
    give(@rest, &block) unless @rest.empty? && !@skipping
  end

  private

  def read(chunk, &block)
    *lines, rest = (@rest << chunk).split("\n", -1)
    lines.each { |line| give(line, &block) }
    @rest = rest || "".b
    return if @rest.bytesize <= @bytes_max

    @skipping = true
    @rest = "".b
  end

  def give(line)
    too_long = @skipping || line.bytesize > @bytes_max
    @skipping = false
    yield too_long ? TOO_LONG : line.delete_suffix("\r").force_encoding(Encoding::UTF_8)
  end
end
