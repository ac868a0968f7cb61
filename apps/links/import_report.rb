# frozen_string_literal: true

require "tempfile"

module Links
  # The results of an import: one JSON line per line of the body, and a last line with the sums. They wait in an unlinked file
  # until the whole body has been read. Otherwise a client that sends everything before it reads would deadlock with the server.
  class ImportReport
    STATUSES = { created: 201, found: 200 }.freeze
    CHUNK_BYTES = 65_536

    def initialize
      @file = Tempfile.create("import-report", mode: File::RDWR | File::BINARY)
      File.unlink(@file.path)
      @line = 0
      @sums = Hash.new(0)
    end

    # Counts an empty line, which gets no result.
    def skip = @line += 1

    # @param kind [Symbol] :created or :found
    # @param code [String]
    # @param short_url [String]
    def add(kind, code, short_url)
      @sums[kind] += 1
      write(line: @line += 1, status: STATUSES.fetch(kind), code: code, short_url: short_url)
    end

    # @param status [Integer]
    # @param code [String] stable, for programs
    # @param detail [String] a sentence
    def add_failure(status, code, detail)
      @sums[:failed] += 1
      write(line: @line += 1, status: status, error: { code: code, detail: detail })
    end

    # Adds the sums. No result follows.
    #
    # @raise [Errno::ENOSPC] when the results have no room
    def complete
      write(summary: { lines: @line, created: @sums[:created], found: @sums[:found], failed: @sums[:failed] })
      @file.rewind
    end

    # Writes all results, and closes.
    #
    # @param out [#<<]
    def copy_to(out)
      while (chunk = @file.read(CHUNK_BYTES)) do out << chunk end
    ensure
      close
    end

    # Gives up the results.
    def close
      @file.close
    rescue Errno::ENOSPC # it is closed, and what it could not write is given up, too
      nil
    end

    private

    def write(document) = @file.write(Elah::JSON.generate(document), "\n")
  end
end
