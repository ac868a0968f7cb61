# frozen_string_literal: true

module Leaderboards
  module Boards
    # The metadata and bans of a board's members, kept through all seasons. The key of a row is board ID / member.
    class MemberData
      # @return [Integer] a number that changes with the metadata
      attr_reader :version

      # @param board [String] id
      # @param metadata [Rows]
      # @param bans [Elah::Entity::Index]
      # @param table [Elah::Store::Table] of the bans
      def initialize(board, metadata, bans, table)
        @stem = "#{board}/"
        @version = 0
        @metadata = metadata
        @bans = bans
        @has_metadata = metadata.any?(@stem)
        @banned = table.each(prefix: @stem).to_h { |key, _| [name(key), true] }
      end

      # @return [Boolean] whether anybody may have metadata
      def metadata_any? = @has_metadata

      # @param member [String]
      # @return [String, nil] JSON
      def metadata(member)
        text = @metadata.get(@stem + member) if @has_metadata
        text && text.encoding != Encoding::UTF_8 ? text.force_encoding(Encoding::UTF_8) : text
      end

      # @param member [String]
      # @param json [String, nil] nil keeps the metadata, "null" deletes it
      def put_metadata(member, json)
        return if json.nil?

        @version += 1
        return @metadata.delete(@stem + member) if json == "null"

        @has_metadata = true
        @metadata.put(@stem + member, json)
      end

      # @param member [String]
      # @return [Boolean]
      def banned?(member) = @banned.key?(member)

      # @return [Array<String>]
      def banned = @banned.keys

      # @param member [String]
      def ban(member)
        @bans.put(@stem + member, "")
        @banned[member] = true
      end

      # @param member [String]
      def pardon(member)
        @bans.delete(@stem + member)
        @banned.delete(member)
      end

      # @param member [String]
      def delete(member)
        pardon(member)
        @version += 1
        @metadata.delete(@stem + member)
      end

      private

      def name(key) = key.byteslice(@stem.bytesize..).force_encoding(Encoding::UTF_8)
    end
  end
end
