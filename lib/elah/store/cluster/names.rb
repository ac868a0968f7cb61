# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The numbers of tables, or of counters, by their names.
      class Names
        # @param database [Database]
        # @param relation [String] of the names
        def initialize(database, relation)
          @database = database
          @find = "SELECT tbl FROM #{relation} WHERE name = $1"
          @create = "INSERT INTO #{relation} (name) VALUES ($1) ON CONFLICT (name) DO NOTHING"
        end

        # @param sql [Elah::SQL::Statements]
        # @param name [String]
        # @return [Integer, nil] which stays the number of that name for good
        def find(sql, name) = sql.value(@find, name)

        # @param name [String]
        # @return [Integer]
        def create(name)
          known = @database.read { |sql| find(sql, name) }
          known || begin
            @database.write { |sql| sql.execute(@create, name) }
            @database.read { |sql| find(sql, name) }
          end
        end
      end

      private_constant :Names
    end
  end
end
