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

        # @param name [String]
        # @return [Integer, nil]
        def find(name) = @database.read { |sql| sql.value(@find, name) }

        # @param name [String]
        # @return [Integer]
        def create(name)
          find(name) || begin
            @database.write { |sql| sql.execute(@create, name) }
            find(name)
          end
        end
      end

      private_constant :Names
    end
  end
end
