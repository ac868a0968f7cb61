# frozen_string_literal: true

require_relative "../pools/pool"
require_relative "steps"

module RingPools
  module History
    # Owns the form in which a whole pool is written down: JSON under the pool and the time, as its steps are. A pool is written down when
    # its terms change and after as many steps as it has numbers, so that to load it, or to know what it was at some time, takes one
    # look for the snapshot before and a bounded number of steps.
    module Snapshots
      # A small pool takes at least so many steps.
      STEPS_MIN = 256

      class << self
        # @param pool [Pools::Pool]
        # @return [Integer] after how many steps it is to be written down again
        def steps_max(pool) = [pool.size, STEPS_MIN].max

        # @param pool [Pools::Pool]
        # @return [String]
        def write(pool)
          numbers, holds = pool.columns if pool.plain?
          state = numbers ? { "numbers" => numbers, "holds" => holds } : { "rows" => pool.rows }
          Elah::JSON.generate({ "terms" => pool.terms.to_h, "now" => pool.now, "grant" => pool.grant, "overflows" => pool.overflows, **state })
        end

        # @param text [String]
        # @param journal [#allocated, #renewed, #released]
        # @return [Pools::Pool]
        def read(text, journal)
          fields = Elah::JSON.parse(text)
          pool = Pools::Pool.new(Pools::Terms.new(**fields["terms"].transform_keys(&:to_sym)), journal)
          pool.restore(fields["now"], rows_of(fields), grant: fields["grant"], overflows: fields["overflows"])
          pool
        end

        # @param text [String]
        # @return [Array<Array>] see {Pools::Rows#rows}
        def rows(text) = rows_of(Elah::JSON.parse(text))

        private

        def rows_of(fields) = fields["rows"] || Pools::Rows.of_columns(fields["numbers"], fields["holds"])
      end
    end
  end
end
