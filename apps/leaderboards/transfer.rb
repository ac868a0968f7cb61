# frozen_string_literal: true

require_relative "../line_reader"
require_relative "errors"

module Leaderboards
  # The import and export of many members of a board, as lines of JSON: `{"member": ..., "score": ..., "metadata": ...}`.
  class Transfer
    # Lines per call of a board.
    BATCH = 500
    LINE_BYTES_MAX = 16_384
    # Refused lines that the response lists; the others are counted.
    FAILURES_MAX = 1000

    # @return [Hash{Symbol=>Object}] the summary
    attr_reader :summary

    # @param scores [Stores::Embedded]
    # @param definition [Definition]
    # @param operator [Symbol]
    # @yieldparam line [Hash] of the body
    # @yieldreturn [Array] member, score and metadata, checked
    def initialize(scores, definition, operator, &check)
      @scores = scores
      @definition = definition
      @operator = operator
      @check = check
      @summary = { lines: 0, imported: 0, failed: 0, failures: [] }
      @batch = []
    end

    # @param chunks [#each_body_chunk]
    # @return [Hash{Symbol=>Object}] the summary
    def import(chunks)
      LineReader.new(chunks, LINE_BYTES_MAX).each { |line| read(line) }
      store
      @summary
    end

    private

    def read(line)
      @summary[:lines] += 1
      return if line == ""
      return failed(@summary[:lines], "line_too_long") if line == LineReader::TOO_LONG

      given = Elah::JSON.parse(line)
      return failed(@summary[:lines], "invalid_line") unless given.is_a?(Hash)

      @batch << [@summary[:lines], *@check.call(given)]
      store if @batch.size == BATCH
    rescue Elah::JSON::ParseError
      failed(@summary[:lines], "invalid_line")
    rescue Refused => e
      failed(@summary[:lines], e.code)
    end

    def store
      return if @batch.empty?

      failures = @scores.import(@definition, @batch.map { |_, *row| row }, @operator)
      failures.each { |index, code| failed(@batch[index].first, code) }
      @summary[:imported] += @batch.size - failures.size
      @batch.clear
    end

    def failed(line, code)
      @summary[:failed] += 1
      @summary[:failures] << { line: line, code: code } if @summary[:failures].size < FAILURES_MAX
    end
  end
end
