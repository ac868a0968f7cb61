# frozen_string_literal: true

require "digest/sha1"
require_relative "item"

module Items
  # The content of the loader's items. The item with a given number is the same on every machine.
  module SampleItems
    TIME = Time.utc(2013, 4, 1).to_i
    COLOURS = %w[amber blue coral ebony green ivory mauve olive pearl ruby silver teal].freeze
    FIRST = %w[Adaptive Balanced Centralized Devolved Extended Focused Horizontal Integrated Managed Open Profound Reactive Seamless
               Stand-alone Synergistic Total Universal Versatile Visionary].freeze
    SECOND = %w[asynchronous background composite dynamic even-keeled fault-tolerant global heuristic incremental local methodical national
                optimal radical scalable tangible uniform well-modulated zero-defect].freeze
    THIRD = %w[alliance array benchmark circuit database encoding firmware framework help-desk infrastructure leverage matrix
               moratorium neural-net pricing-structure protocol strategy toolset workforce].freeze
    SENTENCES = [
      "Lorem ipsum dolor sit amet, consectetur adipiscing elit.", "Sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.",
      "Ut enim ad minim veniam, quis nostrud exercitation ullamco.", "Duis aute irure dolor in reprehenderit in voluptate velit esse.",
      "Excepteur sint occaecat cupidatat non proident.", "Sunt in culpa qui officia deserunt mollit anim id est laborum.",
      "Nemo enim ipsam voluptatem quia voluptas sit aspernatur."
    ].freeze

    class << self
      # @param number [Integer] from 0
      # @return [Item]
      def item(number)
        bytes = Digest::SHA1.digest("item #{number}")
        a, b, c, d = bytes.unpack("n4")
        Item.new(uuid: uuid(bytes), name: "#{FIRST[a % FIRST.size]} #{SECOND[b % SECOND.size]} #{THIRD[c % THIRD.size]}",
                 description: Array.new(3) { |index| SENTENCES[(d + index * 3) % SENTENCES.size] }.join(" "),
                 created_at: Time.at(TIME + number).utc.strftime("%Y-%m-%dT%H:%M:%S.000Z"), tags: tags(d))
      end

      private

      # In the form of version 4, so that it is not mistaken for a UUID with a time.
      def uuid(bytes)
        hex = bytes.unpack1("H32")
        hex[12] = "4"
        hex[16] = "89ab"[hex[16].hex & 3]
        "#{hex[0, 8]}-#{hex[8, 4]}-#{hex[12, 4]}-#{hex[16, 4]}-#{hex[20, 12]}"
      end

      # One colour each, and one in a hundred is also rare.
      def tags(number) = (number % 100).zero? ? [COLOURS[number % COLOURS.size], "rare"] : [COLOURS[number % COLOURS.size]]
    end
  end
end
