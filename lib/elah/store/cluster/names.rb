# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The numbers of tables, or of counters, by their names.
      class Names
        ATTEMPTS = 3
        private_constant :ATTEMPTS

        # @param database [Database]
        # @param relation [String] of the names
        def initialize(database, relation)
          @database = database
          @find = "SELECT tbl FROM #{relation} WHERE name = $1"
          @create = "INSERT INTO #{relation} (name) VALUES ($1) ON CONFLICT (name) DO NOTHING"
        end

        # Runs a statement that finds its table by the name. When the name is missing, creates it and runs the statement again: at the first use, and
        # after a failover or a restored dump that has lost the name.
        #
        # @param name [String]
        # @yieldreturn [Object, nil] nil when the name is missing
        # @return [Object]
        # @raise [Failed] when the name is created and not found, again and again
        def naming(name)
          ATTEMPTS.times do
            found = yield
            return found unless found.nil?

            create(name)
          end
          raise Failed, "The name #{name.inspect} is not found in the database in which it was created."
        end

        # Runs a statement that needs the number of a table, again while another table has it by then.
        #
        # @param name [String]
        # @yieldparam number [Integer]
        # @yieldreturn [Object, nil] nil when the name has another number
        # @return [Object, nil] nil when the name is missing
        # @raise [Failed] when the number changes again and again
        def numbered(name)
          ATTEMPTS.times do
            number = find(name) or return
            found = yield number
            return found unless found.nil?
          end
          raise Failed, "The name #{name.inspect} has another number at each look."
        end

        # @param name [String]
        # @return [Integer]
        def create(name)
          find(name) || begin
            @database.write { |sql| sql.execute(@create, name) }
            find(name)
          end
        end

        private

        def find(name) = @database.read { |sql| sql.value(@find, name) }
      end

      private_constant :Names
    end
  end
end
