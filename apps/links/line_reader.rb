# frozen_string_literal: true

module Links
  # Splits a body that arrives in pieces into lines. A line that is too long is not stored; it is yielded as {TOO_LONG}.
  class LineReader
    LINE_BYTES_MAX = 65_536
    TOO_LONG = :too_long

    # @param chunks [#each_body_chunk]
    def initialize(chunks)
      @chunks = chunks
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
      return if @rest.bytesize <= LINE_BYTES_MAX

      @skipping = true
      @rest = "".b
    end

    def give(line)
      too_long = @skipping || line.bytesize > LINE_BYTES_MAX
      @skipping = false
      yield too_long ? TOO_LONG : line.delete_suffix("\r").force_encoding(Encoding::UTF_8)
    end
  end
end
