# frozen_string_literal: true

module Items
  module Stores
    class SQL
      # The changes of a transaction. The row of the next ID is its lock. So writers of all processes run one after the other and
      # never deadlock.
      class Writing
        LOCK = "SELECT total FROM item_totals WHERE scope = '#{Tables::NEXT_ID}' FOR UPDATE"
        # Rows of a statement.
        SLICE = 512

        # Pads a list of parameters with its last value to a power of two, so that few statements are prepared.
        #
        # @param values [Array]
        # @return [Array]
        def self.fill(values)
          size = 1
          size *= 2 while size < values.size
          values + Array.new(size - values.size, values.last)
        end

        # @param size [Integer]
        # @return [String]
        def self.marks(size) = Array.new(size, "?").join(",")

        # @param transaction [Elah::SQL::Transaction]
        # @param put_total [String] see Tables
        def initialize(transaction, put_total)
          @tx = transaction
          @put_total = put_total
          @next_id = @tx.value(LOCK)
        end

        # @param items [Array<Item>]
        # @param loaded [Integer, nil]
        # @return [Array<String>] documents
        def insert(items, loaded)
          totals = Hash.new { |known, scope| known[scope] = @tx.value(TOTAL, scope) || 0 }
          tags = []
          rows = items.each_with_index.map { |item, index| place(item, @next_id + index, totals, tags) }
          insert_rows("items (position, id, uuid, document)", rows)
          insert_rows("item_tags (tag, position, item_id)", tags)
          totals[Tables::NEXT_ID] = @next_id + items.size
          totals[Tables::LOADED] = loaded if loaded
          totals.each { |scope, total| @tx.execute(@put_total, scope, total) }
          rows.map(&:last)
        end

        # @param uuids [Array<String>]
        # @return [Integer]
        def delete(uuids)
          gone = select("SELECT position, id, document FROM items WHERE uuid IN", uuids)
          close_holes("items", gone.map(&:first), @tx.value(TOTAL, Slots::ALL), "position, id, uuid, document")
          put_less(Slots::ALL, gone.size)
          tags(gone).each { |tag, ids| delete_tags(tag, ids) }
          gone.size
        end

        private

        def place(item, id, totals, tags)
          item.tags.each { |tag| tags << [tag, take(totals, tag), id] }
          [take(totals, Slots::ALL), id, item.uuid, item.document(id)]
        end

        def take(totals, scope) = (totals[scope] += 1) - 1

        # @return [Hash{String=>Array<Integer>}] the ids of each tag
        def tags(rows)
          rows.each_with_object(Hash.new { |known, tag| known[tag] = [] }) do |(_, id, document), found|
            Elah::JSON.parse(document)["tags"].each { |tag| found[tag] << id }
          end
        end

        def delete_tags(tag, ids)
          holes = select("SELECT position FROM item_tags WHERE tag = ? AND item_id IN", ids, tag).map(&:first)
          close_holes("item_tags", holes, @tx.value(TOTAL, tag), "position, tag, item_id", "tag = ? AND ", tag)
          put_less(tag, ids.size)
        end

        # Deletes the rows of the holes and those after the new end, and moves the latter into the former.
        def close_holes(table, holes, total, columns, where = "", *scope)
          moves = Slots.moves(total, holes).to_h
          moving = select("SELECT #{columns} FROM #{table} WHERE #{where}position IN", moves.keys, *scope)
          left = total - holes.size
          @tx.execute("DELETE FROM #{table} WHERE #{where}position >= ?", *scope, left)
          each_slice(holes.select { |position| position < left }) do |some|
            @tx.execute("DELETE FROM #{table} WHERE #{where}position IN (#{self.class.marks(some.size)})", *scope, *some)
          end
          insert_rows("#{table} (#{columns})", moving.map { |from, *rest| [moves[from], *rest] })
        end

        def put_less(scope, number) = @tx.execute("UPDATE item_totals SET total = total - ? WHERE scope = ?", number, scope)

        # The rows of a long list; a padding value returns no row twice.
        def select(statement, values, *before)
          rows = []
          each_slice(values) { |some| rows.concat(@tx.rows("#{statement} (#{self.class.marks(some.size)})", *before, *some)) }
          rows
        end

        def each_slice(values) = values.each_slice(SLICE) { |some| yield self.class.fill(some) }

        # Full slices in one statement, the rest in powers of two.
        def insert_rows(table, rows)
          until rows.empty?
            size = rows.size >= SLICE ? SLICE : 1 << (rows.size.bit_length - 1)
            some = rows.first(size)
            values = Array.new(size, "(#{self.class.marks(some.first.size)})").join(",")
            @tx.execute("INSERT INTO #{table} VALUES #{values}", *some.flatten(1))
            rows = rows.drop(size)
          end
        end
      end
    end
  end
end
