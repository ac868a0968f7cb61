# frozen_string_literal: true

module Bench
  # The text between two marker lines of a Markdown file, `<!-- NAME:begin -->` and `<!-- NAME:end -->`, which a command writes anew.
  class MarkedText
    # A marker is missing, or the second stands before the first.
    class Error < StandardError; end

    # @param file [String]
    # @param name [String] of the markers
    def initialize(file, name)
      @file = file
      @first = "<!-- #{name}:begin -->\n"
      @last = "<!-- #{name}:end -->"
    end

    # @param text [String] whole lines
    # @raise [Error] and leaves the file as it is
    def replace(text)
      old = File.read(@file, encoding: Encoding::UTF_8)
      from = place(old, @first) + @first.size
      to = place(old, @last)
      raise Error, "#{@file} has the line #{@last} before #{@first.strip}." if to < from

      File.write(@file, old[0...from] + text + old[to..])
    end

    private

    def place(old, marker) = old.index(marker) || raise(Error, "#{@file} has no line #{marker.strip}.")
  end
end
